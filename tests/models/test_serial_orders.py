"""The outcomes of threads that run one after another."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings

from gpudiy.litmus import read_test
from gpudiy.litmus.outcome import final_state
from gpudiy.litmus.test import Test
from gpudiy.models.library import load_model
from gpudiy.models.serial_orders import list_serial_orders
from gpudiy.models.verdict import outcomes
from models.operational import Machine
from models.small_tests import Vocabulary, small_tests

HEAD = "{0:.reg .s32 r0; 1:.reg .s32 r0; 0:.reg .pred p; 1:.reg .pred p;}"
TREE = "(device (kernel (cta (warp P0) (warp P1))))\nx: global, y: global"


def states(body: str, condition: str) -> dict[tuple[int, ...], tuple[object, ...]]:
    test = read_test(f"GPU_PTX t\n{HEAD}\n{body}\n{TREE}\nexists ({condition})\n")
    return {order.threads: tuple(order.outcome.values()) for order in list_serial_orders(test)}


def test_each_order_has_its_outcome() -> None:
    body = " P0 | P1 ;\n st.cg.s32 [x],1 | st.cg.s32 [y],1 ;\n ld.cg.s32 r0,[y] | ld.cg.s32 r0,[x] ;"
    assert states(body, "0:r0=0 /\\ 1:r0=0") == {(0, 1): (0, 1), (1, 0): (1, 0)}


def test_an_order_in_which_a_thread_waits_is_left_out() -> None:
    body = (
        " P0 | P1 ;\n st.cg.s32 [x],1 | L: ;\n st.cg.s32 [y],1 | ld.cg.s32 r0,[y] ;\n"
        " | setp.eq.s32 p,r0,0 ;\n | @p bra L ;\n | ld.cg.s32 r0,[x] ;"
    )
    assert states(body, "1:r0=0") == {(0, 1): (1,)}
    meeting = " P0 | P1 ;\n st.cg.s32 [x],1 | bar.sync 0 ;\n bar.sync 0 | ld.cg.s32 r0,[x] ;"
    assert states(meeting, "1:r0=0") == {}


@settings(max_examples=40)
@given(small_tests(Vocabulary()))
def test_serial_outcomes_are_outcomes_of_a_machine_that_interleaves(test: Test) -> None:
    reached = [final_state(test, outcome) for outcome in Machine(test, buffered=False).outcomes()]
    for order in list_serial_orders(test):
        assert order.outcome in reached


@pytest.mark.parametrize("name", ["MP", "IRIW", "coRR"])
def test_published_tests(corpus: Path, name: str) -> None:
    files = sorted(corpus.rglob(f"{name}.litmus"))
    if not files:
        pytest.skip(f"no {name} in the corpus")
    test = read_test(files[0].read_text())
    allowed = [final_state(test, outcome) for outcome in outcomes(test, load_model("sc"))]
    found = list_serial_orders(test)
    assert found and all(order.outcome in allowed for order in found)
