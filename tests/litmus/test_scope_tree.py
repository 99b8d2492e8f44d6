"""Scope trees: complete in memory, whatever was left out in writing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from litmus_strategies import scope_trees

from gpudiy.litmus import read_test
from gpudiy.litmus.access import ACCESS_SCOPES, Scope
from gpudiy.litmus.errors import InvalidTest
from gpudiy.litmus.grammar import SyntaxProblem
from gpudiy.litmus.print_gpu_ptx import scope_tree_text
from gpudiy.litmus.read_scope_tree import read_scope_tree
from gpudiy.litmus.scope_tree import Placement, ScopeTree

FULL = "(device (kernel (cta (warp P0)) (cta (warp P1))))"


@pytest.mark.parametrize(
    ("text", "common"),
    [
        (FULL, Scope.KERNEL),
        ("(device (cta P0) (cta P1))", Scope.KERNEL),
        ("(kernel (cta P0) (cta P1))", Scope.KERNEL),
        ("(cta P0) (cta P1)", Scope.KERNEL),
        ("(device P0 P1)", Scope.KERNEL),
        ("(cta P0 P1)", Scope.CTA),
        ("(device (kernel (cta (warp P0) (warp P1))))", Scope.CTA),
        ("(device (work_group (sub_group P0) (sub_group P1)))", Scope.CTA),
        ("(block P0 P1)", Scope.CTA),
        ("(device (kernel (cta (warp P0 P1))))", Scope.WARP),
        ("(warp P0 P1)", Scope.WARP),
        ("(kernel (cluster (cta P0) (cta P1)))", Scope.CLUSTER),
        ("(device (kernel P0) (kernel P1))", Scope.GPU),
        ("(kernel P0) (kernel P1)", Scope.GPU),
        ("(device P0) (device P1)", Scope.SYS),
        ("(system (device P0) (gpu P1))", Scope.SYS),
    ],
)
def test_smallest_common_scope(text: str, common: Scope) -> None:
    tree = read_scope_tree(text, 2)
    assert tree.smallest_common_scope(0, 1) is tree.smallest_common_scope(1, 0) is common
    for scope in ACCESS_SCOPES:
        assert tree.includes(0, scope, 1) == (scope >= common)
    assert tree.includes(0, Scope.WARP, 0)


def test_left_out_levels_make_no_difference() -> None:
    written = [
        "(device (cta P0 P1) (cta P2))",
        "(device (kernel (cta (warp P0) (warp P1)) (cta P2)))",
        "(cta P1 P0) (cta P2)",
    ]
    assert len({read_scope_tree(text, 3) for text in written}) == 1
    assert (
        scope_tree_text(read_scope_tree(written[0], 3)) == "(device (kernel (cta (warp P0) (warp P1)) (cta (warp P2))))"
    )


def test_the_order_of_groups_makes_no_difference() -> None:
    assert read_scope_tree("(device (kernel (cta (warp P1)) (cta (warp P0))))", 2) == read_scope_tree(FULL, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(device P0)", "P1 is missing"),
        ("(device P0 P1 P0)", "P0 occurs twice"),
        ("(device P0 P1 P2)", "places P2"),
        ("(cta (device P0 P1))", "device cannot be inside cta"),
        ("(warp (warp P0 P1))", "warp cannot be inside warp"),
        ("(grit P0 P1)", "unknown level"),
    ],
)
def test_bad_trees(text: str, message: str) -> None:
    with pytest.raises(SyntaxProblem, match=message):
        read_scope_tree(text, 2)


def test_trees_built_by_hand_are_checked() -> None:
    with pytest.raises(InvalidTest, match="numbered by their first thread"):
        ScopeTree((Placement(1, 0, 0, 0, 0),))
    with pytest.raises(InvalidTest, match="is in two others"):
        ScopeTree((Placement(0, 0, 0, 0, 0), Placement(0, 1, 1, 0, 0)))


@given(st.integers(1, 6).flatmap(lambda threads: scope_trees(threads, hosts=True)))
def test_round_trip_and_order(tree: ScopeTree) -> None:
    count = len(tree.placements)
    assert read_scope_tree(scope_tree_text(tree), count) == tree
    backwards = tree.reorder_threads(range(count - 1, -1, -1))
    assert backwards.reorder_threads(range(count - 1, -1, -1)) == tree
    assert [backwards.is_on_host(count - 1 - thread) for thread in range(count)] == [
        tree.is_on_host(thread) for thread in range(count)
    ]
    for one in range(count):
        for other in range(count):
            common = tree.smallest_common_scope(one, other)
            assert common is backwards.smallest_common_scope(count - 1 - one, count - 1 - other)
            for third in range(count):  # scopes are nested: two of the three pairs share the larger scope
                pairs = sorted(
                    (common, tree.smallest_common_scope(other, third), tree.smallest_common_scope(one, third))
                )
                assert pairs[1] == pairs[2]


@pytest.mark.parametrize(
    ("tree", "earlier", "shared"),
    [
        ("(device (kernel (cta (warp P0 P1)) (cta (warp P2))))", (None, 0, None), 1),
        ("(device (kernel (cta (warp P0 P2) (warp P1))))", (None, None, 0), 1),
        ("(device (kernel (cta (warp P0 P1 P2))))", (None, 0, 1), 1),
        ("(device (kernel (cta (warp P0) (warp P1) (warp P2))))", (None, 0, 1), 0),
    ],
)
def test_the_thread_before_in_a_warp(tree: str, earlier: tuple[int | None, ...], shared: int) -> None:
    body = "GPU_PTX T\n{}\n P0 | P1 | P2 ;\n st.s32 [x],1 | st.s32 [x],2 | st.s32 [x],3 ;\n"
    test = read_test(f"{body}{tree}\nx: global\nexists (x=1)")
    assert test.scope_tree.earlier_threads() == earlier and test.scope_tree.shared_warps == shared
