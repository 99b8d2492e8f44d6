"""Which reads a cache may answer with an old value."""

from __future__ import annotations

import pytest

from gpudiy.litmus import read_test
from gpudiy.litmus.access import Access, CacheOperator, Order, Scope
from gpudiy.litmus.stale_reads import find_stale_reads, read_reach
from gpudiy.litmus.test import Test

MP = """GPU_PTX MP
{{1:.reg .s32 r0; 1:.reg .s32 r1;}}
 P0 | P1 ;
 st.cg.s32 [x],1 | {first} ;
 {second} | {third} ;
({tree})
x: {space}, y: global
exists (1:r0=1 /\\ 1:r1=0)
"""
TREES = {
    "cta": "device (kernel (cta (warp P0) (warp P1)))",
    "ctas": "device (kernel (cta (warp P0)) (cta (warp P1)))",
    "cluster": "device (kernel (cluster (cta (warp P0)) (cta (warp P1))))",
}


def mp(first: str, second: str, third: str, tree: str = "ctas", space: str = "global") -> Test:
    return read_test(MP.format(first=first, second=second, third=third, tree=TREES[tree], space=space))


def stale(load: str, tree: str = "ctas", store: str = "st.cg.s32 [y],1", space: str = "global") -> list[int]:
    """The positions of stale reads in P1; the second reads x by `load`."""
    test = mp("ld.cg.s32 r0,[y]", store, f"{load}.s32 r1,[x]", tree, space)
    return [use.position for use in find_stale_reads(test) if use.thread == 1]


@pytest.mark.parametrize("load", ["ld", "ld.weak", "ld.ca", "ld.cs", "ld.lu"])
def test_l1_may_answer_weak_loads(load: str) -> None:
    assert stale(load) == [1]
    assert stale(load, "cta") == [1]  # seen on Fermi chips, although both threads have one L1 cache


@pytest.mark.parametrize("load", ["ld.relaxed.cta", "ld.acquire.cta"])
def test_l1_may_answer_strong_loads_of_a_cta(load: str) -> None:
    assert stale(load) == [1]
    assert stale(load, "cta") == []


@pytest.mark.parametrize("load", ["ld.cg", "ld.cv", "ld.volatile", "ld.relaxed.gpu", "ld.acquire.sys"])
def test_l1_is_passed_by(load: str) -> None:
    assert stale(load) == []


def test_scopes_of_clusters() -> None:
    assert stale("ld.relaxed.cluster", "cluster") == []
    assert stale("ld.relaxed.cluster", "ctas") == [1]
    assert stale("ld.ca", "cluster") == [1]


def test_only_what_another_thread_writes_in_global_memory() -> None:
    test = mp("ld.ca.s32 r0,[y]", "st.cg.s32 [x],2", "ld.cg.s32 r1,[x]")
    assert find_stale_reads(test) == []  # nobody writes y
    assert stale("ld", "cta", space="shared") == []


def test_atomics_are_made_where_all_see_them() -> None:
    atomic = mp("atom.exch.b32 r0,[y],0", "st.cg.s32 [y],1", "ld.cg.s32 r1,[x]")
    assert find_stale_reads(atomic) == []


def test_every_order_and_cache_operator_has_a_reach() -> None:
    for order in Order:
        for cache in (None, *CacheOperator):
            scope = Scope.GPU if order.takes_scope else None
            assert read_reach(Access(order=order, scope=scope, cache=cache)) in (Scope.CTA, Scope.GPU, Scope.SYS)
