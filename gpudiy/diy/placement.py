"""The scope trees of a cycle: those that separate neighbouring threads by the levels of its external edges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from gpudiy.diy.edge import LEVELS
from gpudiy.litmus.scope_tree import ScopeTree

CTA_LEVEL = LEVELS.index("c")
WARP_LEVEL = LEVELS.index("w")
WORDS = ("warp", "cta", "cluster", "kernel", "device", "system")  # groups within which a level separates threads
CLUSTER, SYSTEM = WORDS.index("cluster"), WORDS.index("system")
SEPARATORS = ("", ":", ":l:", "::", ":::", "::::")  # between threads in the name of a test, by level
Separation = tuple[tuple[int, ...], ...]  # for every thread, the levels between it and each thread before it


class PlacedThreads(NamedTuple):
    """A scope tree with its text, its part of the content hash and its suffix for names."""

    tree: ScopeTree
    text: str
    content: str
    suffix: str


class Neighbourhood(NamedTuple):
    """What determines the scope trees of a cycle.

    `levels[i]` is between thread i and the next one; rotation by `turn` threads keeps the cycle. `barriers` counts the
    barriers per thread: a barrier waits for the whole CTA, so all its threads need the same number. Observers come
    after the threads, each in a separate warp, in the CTA of the thread it observes. `free` are the levels that may
    separate threads that no edge joins.
    """

    levels: tuple[int, ...]
    turn: int
    barriers: tuple[int, ...] = ()
    observed: tuple[int, ...] = ()
    free: tuple[int, ...] = tuple(range(len(LEVELS)))


@lru_cache(1 << 14)
def all_trees(neighbourhood: Neighbourhood) -> tuple[PlacedThreads, ...]:
    """Every tree, up to the rotations that keep the cycle."""
    count = len(neighbourhood.levels)
    found = [
        separation
        for separation in _separations(neighbourhood.levels, neighbourhood.free, count)
        if _is_widest_turn(separation, neighbourhood.turn) and _barriers_meet(separation, neighbourhood.barriers)
    ]
    return tuple(_place_threads(separation, neighbourhood.observed) for separation in sorted(found, reverse=True))


@lru_cache(1 << 14)
def widest_tree(neighbourhood: Neighbourhood) -> tuple[PlacedThreads, ...]:
    """The tree in which threads that no edge joins are furthest apart; none if barriers forbid it."""
    levels = neighbourhood.levels
    count = len(levels)

    def between(one: int, other: int) -> int:
        inner, outer = levels[other:one], levels[one:] + levels[:other]
        return min(max(inner), max(outer))

    separation = tuple(tuple(between(one, other) for other in range(one)) for one in range(count))
    if not _barriers_meet(separation, neighbourhood.barriers):
        return ()
    return (_place_threads(separation, neighbourhood.observed),)


def _separations(levels: Sequence[int], free: Sequence[int], count: int) -> Iterator[Separation]:
    """All ways to separate the threads: of any three, the two widest levels are equal."""
    rows: list[tuple[int, ...]] = []

    def fits(row: list[int], level: int) -> bool:
        other = len(row)
        for third, near in enumerate(row):
            three = (near, level, rows[other][third])
            widest = max(three)
            if three.count(widest) < 2:
                return False
        return True

    def extend(row: list[int]) -> Iterator[Separation]:
        thread = len(rows)
        if len(row) == thread:
            rows.append(tuple(row))
            yield from [tuple(rows)] if len(rows) == count else extend([])
            rows.pop()
            return
        for level in _allowed_levels(levels, free, thread, len(row)):
            if fits(row, level):
                yield from extend([*row, level])

    return extend([])


def _allowed_levels(levels: Sequence[int], free: Sequence[int], thread: int, other: int) -> Sequence[int]:
    count = len(levels)
    fixed = {levels[other]} if other + 1 == thread else set()
    if (thread + 1) % count == other:
        fixed.add(levels[thread])
    if not fixed:
        return free
    return list(fixed) if len(fixed) == 1 else ()


def _is_widest_turn(separation: Separation, turn: int) -> bool:
    """Whether the tree is the widest of its rotations; that one represents them all."""
    count = len(separation)
    if not 0 < turn < count:
        return True
    mine = _flatten(separation, 0)  # the widest, so that plain trees keep their plain names
    return all(mine >= _flatten(separation, start) for start in range(turn, count, turn))


def _flatten(separation: Separation, start: int) -> tuple[int, ...]:
    count = len(separation)
    order = [(start + index) % count for index in range(count)]
    return tuple(
        separation[max(order[one], order[other])][min(order[one], order[other])]
        for one in range(count)
        for other in range(one)
    )


def _barriers_meet(separation: Separation, barriers: Sequence[int]) -> bool:
    return not any(barriers) or all(
        barriers[one] == barriers[other]
        for one, row in enumerate(separation)
        for other, level in enumerate(row)
        if level <= WARP_LEVEL
    )


def _place_threads(separation: Separation, observed: Sequence[int]) -> PlacedThreads:
    rows = list(separation)
    for watched in observed:
        rows.append(tuple(max(WARP_LEVEL, _level(rows, watched, other)) for other in range(len(rows))))
    tree = ScopeTree.of(_groups(rows, thread) for thread in range(len(rows)))
    plain = all(level == CTA_LEVEL for row in separation for level in row)
    suffix = "" if plain else f"-{_tree_suffix(separation, list(range(len(separation))), len(LEVELS) - 1)}"
    return PlacedThreads(tree, _tree_text(rows), repr(tree.placements), suffix)


def _level(rows: Sequence[Sequence[int]], one: int, other: int) -> int:
    if one == other:
        return 0
    return rows[max(one, other)][min(one, other)]


def _groups(rows: Sequence[Sequence[int]], thread: int) -> list[int]:
    """The first thread of the warp, CTA, cluster, kernel and device that the thread is in."""
    return [next(other for other in range(thread + 1) if _level(rows, thread, other) <= up_to) for up_to in range(5)]


def _tree_text(rows: Sequence[Sequence[int]]) -> str:
    """The tree as an S-expression. Clusters and the system are written if one has two members."""
    used = {level for row in rows for level in row}
    shown = [level for level in range(SYSTEM, -1, -1) if level in used or level not in (CLUSTER, SYSTEM)]

    def group_text(threads: list[int], depth: int) -> str:
        if depth == len(shown):
            return " ".join([f"P{thread}" for thread in threads])
        groups = _split_groups(rows, threads, shown[depth])
        return " ".join([f"({WORDS[shown[depth]]} {group_text(group, depth + 1)})" for group in groups])

    return group_text(list(range(len(rows))), 0)


def _tree_suffix(separation: Separation, threads: list[int], level: int) -> str:
    """The tree as in the names of the literature: `:` between warps, `::` between CTAs, `:::` between kernels."""
    if level < 0:
        return f"p{threads[0]}"
    groups = _split_groups(separation, threads, level - 1)
    return SEPARATORS[level].join([_tree_suffix(separation, group, level - 1) for group in groups])


def _split_groups(rows: Sequence[Sequence[int]], threads: list[int], level: int) -> list[list[int]]:
    """The threads in groups within which no level is wider than this one."""
    groups: list[list[int]] = []
    for thread in threads:
        for group in groups:
            if thread == group[0] or _level(rows, thread, group[0]) <= level:
                group.append(thread)
                break
        else:
            groups.append([thread])
    return groups
