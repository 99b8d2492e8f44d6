"""Scope trees: all that separate neighbours so, and no two alike."""

from __future__ import annotations

from itertools import product

import pytest

from gpudiy.diy.placement import Neighbourhood, all_trees, widest_tree
from gpudiy.litmus.access import Scope
from gpudiy.litmus.scope_tree import ScopeTree

# what a level letter says, as the innermost scope that holds both threads
SCOPES = (Scope.WARP, Scope.CTA, Scope.CLUSTER, Scope.KERNEL, Scope.GPU, Scope.SYS)


def groupings(threads: int) -> set[tuple[int, ...]]:
    """All ways to put threads into groups, groups numbered by their first thread."""
    found = set()
    for groups in product(range(threads), repeat=threads):
        numbers: dict[int, int] = {}
        found.add(tuple(numbers.setdefault(group, len(numbers)) for group in groups))
    return found


def every_tree(threads: int) -> set[ScopeTree]:
    """All scope trees: groupings at every level, each within the next."""
    chains = [(grouping,) for grouping in groupings(threads)]
    for _ in range(4):
        chains = [
            (*chain, outer)
            for chain in chains
            for outer in groupings(threads)
            if all(len({outer[t] for t in range(threads) if chain[-1][t] == g}) == 1 for g in set(chain[-1]))
        ]
    return {ScopeTree.of(zip(*chain, strict=True)) for chain in chains}


@pytest.mark.parametrize(
    ("levels", "turn"),
    [((3, 3), 1), ((1, 1), 2), ((5, 5), 1), ((3, 3, 3), 1), ((3, 1, 3), 3), ((4, 4, 0), 3), ((5, 2, 5), 3)],
)
def test_trees_by_brute_force(levels: tuple[int, ...], turn: int) -> None:
    count = len(levels)
    allowed = {
        tree
        for tree in every_tree(count)
        if all(tree.smallest_common_scope(t, (t + 1) % count) is SCOPES[levels[t]] for t in range(count))
    }
    classes = {
        frozenset(tree.reorder_threads([(t + start) % count for t in range(count)]) for start in range(0, count, turn))
        for tree in allowed
    }
    found = [placed.tree for placed in all_trees(Neighbourhood(levels, turn))]
    assert len(found) == len(classes)
    assert all(any(tree in alike for tree in found) for alike in classes)


def test_free_pairs_range_over_all_levels_up_to_turning() -> None:
    suffixes = [placed.suffix for placed in all_trees(Neighbourhood((3, 3, 3, 3), 1))]
    assert suffixes[0] == ""
    assert len(suffixes) == len(set(suffixes)) == 10
    assert len(all_trees(Neighbourhood((3, 3, 3, 3), 4))) == 16
    assert len(all_trees(Neighbourhood((3, 3, 3, 3), 1, free=(1, 3)))) == 3


def test_the_widest_tree() -> None:
    (placed,) = widest_tree(Neighbourhood((3, 1, 1, 3), 4))
    assert placed.suffix == "-p0::p1:p2:p3"
    assert placed in all_trees(Neighbourhood((3, 1, 1, 3), 4))


def test_observers_stand_beside_the_thread_they_watch() -> None:
    (placed,) = widest_tree(Neighbourhood((3, 3), 1, observed=(1,)))
    assert placed.text == "(device (kernel (cta (warp P0)) (cta (warp P1) (warp P2))))"
    assert placed.suffix == ""


def test_no_tree_where_a_barrier_would_wait_for_ever() -> None:
    assert all_trees(Neighbourhood((1, 1), 2, barriers=(1, 0))) == ()
    assert len(all_trees(Neighbourhood((1, 1), 2, barriers=(1, 1)))) == 1
    assert len(all_trees(Neighbourhood((3, 3), 2, barriers=(1, 0)))) == 1
