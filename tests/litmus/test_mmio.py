"""`ld.mmio` and `st.mmio`: relaxed accesses of scope sys, each done exactly as often as the program says."""

from __future__ import annotations

from dataclasses import replace

import pytest
from optcheck_kernels import checked, kernel_source, listing

from gpudiy.devices.opening import open_device
from gpudiy.harness.c11_obstacles import obstacle
from gpudiy.litmus import CannotExpress, Format, Test, content_hash, modernise_test, print_test, read_test
from gpudiy.litmus.access import Order, Scope
from gpudiy.litmus.instruction import Load, Store
from gpudiy.models.library import load_model
from gpudiy.models.verdict import Answer, decide
from optcheck.check import check_kernels

MESSAGE = """GPU_PTX MP+mmio
{{ 0:.reg .s32 r0; 1:.reg .s32 r0; 1:.reg .s32 r1; }}
 P0                        | P1                         ;
 {write} [x],1 | {read} r0,[y] ;
 {fence} | {fence} ;
 {write} [y],1 | {read} r1,[x] ;
scopeTree (device (kernel (cta (warp P0)) (cta (warp P1))))
x: global, y: global
exists (1:r0=1 /\\ 1:r1=0)
"""
MMIO = {"write": "st.mmio.relaxed.sys.s32", "read": "ld.mmio.relaxed.sys.s32"}
RELAXED = {"write": "st.relaxed.sys.s32", "read": "ld.relaxed.sys.s32"}


def message(words: dict[str, str], fence: str = "fence.acq_rel.sys") -> Test:
    return read_test(MESSAGE.format(fence=fence, **words))


def test_modifiers_are_read_in_any_order_and_printed_in_that_of_ptx() -> None:
    test = message({"write": "st.sys.relaxed.mmio.s32", "read": "ld.relaxed.mmio.sys.s32"})
    assert test == message(MMIO)
    store, _, load = test.threads[0][0], test.threads[0][1], test.threads[1][0]
    assert isinstance(store, Store) and isinstance(load, Load)
    assert store.access.order is load.access.order is Order.MMIO and load.access.scope is None
    assert load.access.effective_scope is Scope.SYS and load.access.strong
    assert "ld.mmio.relaxed.sys.s32 r0,[y]" in print_test(test)
    assert read_test(print_test(test)) == test
    assert content_hash(test) != content_hash(message(RELAXED))


def test_other_formats_cannot_say_it() -> None:
    for test in (message(MMIO), modernise_test(message(MMIO))):
        with pytest.raises(CannotExpress, match="a mmio access"):
            print_test(test, Format.DAT3M)


@pytest.mark.parametrize("fence", ["fence.acq_rel.sys", "fence.sc.cta", "fence.acq_rel.gpu"])
@pytest.mark.parametrize("model", ["ptx-6.0", "ptx-7.5", "sc"])
def test_models_take_it_for_relaxed_of_scope_sys(model: str, fence: str) -> None:
    found = decide(message(MMIO, fence), load_model(model))
    assert found.answer is decide(message(RELAXED, fence), load_model(model)).answer
    assert (found.answer is Answer.FORBIDDEN) == (model == "sc" or fence != "fence.sc.cta")


@pytest.mark.parametrize("architecture", ["sm_75", "sm_80", "sm_90", "sm_120"])
def test_optcheck_finds_it_in_sass(architecture: str) -> None:
    test = message(MMIO)
    assert "MMIO.SYS" in listing(kernel_source(test, "kernel"), architecture)
    check = checked(test, architecture)
    assert check.finding.value == "unchanged", check


@pytest.mark.parametrize(("written", "compiled"), [(MMIO, RELAXED), (RELAXED, MMIO)])
def test_optcheck_tells_it_from_a_relaxed_access(written: dict[str, str], compiled: dict[str, str]) -> None:
    text = listing(kernel_source(message(compiled), "kernel"), "sm_90")
    (check,) = check_kernels(text, {"kernel": message(written)})
    assert check.finding.value != "unchanged"


def test_where_it_runs() -> None:
    test = message(MMIO)
    assert "nothing like .mmio" in (obstacle(test) or "")
    assert "nothing like .mmio" in (open_device("sim:kepler").obstacle(message(MMIO, "membar.sys")) or "")
    assert open_device("sim:volta").obstacle(replace(test, name="MP")) is None
