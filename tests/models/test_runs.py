"""Runs of threads: loops that wait for each other, counters, guards that skip, unsigned memory."""

from __future__ import annotations

import pytest

from gpudiy.litmus.reader import read_test
from gpudiy.models.exploration import Engine
from gpudiy.models.library import load_model
from gpudiy.models.verdict import Answer, decide
from models.test_operational import agrees

TWO = "(device (kernel (cta P0) (cta P1)))"
THREE = "(device (kernel (cta P0) (cta P1) (cta P2)))"

HANDSHAKE = f"""GPU_PTX handshake
P0                     : P1
atom.exch r1, [x], 1   : M:
L:                     : ld.relaxed.gpu r0, [x]
ld.relaxed.gpu r0, [y] : setp.eq p, r0, 0
setp.eq p, r0, 0       : @p bra M
@p bra L               : atom.exch r1, [y], 1
{TWO}
x: global, y: global
0:r0=1 /\\ 1:r0=1
"""
COUNTERS = f"""GPU_PTX counters
P0             : P1             : P2
ld.cg r0, [x]  : ld.cg r0, [y]  : atom.add r0, [x], 1
add r1, r0, 1  : add r1, r0, 1  : atom.add r1, [x], 1
st.cg [y], r1  : st.cg [x], r1  :
{THREE}
x: global, y: global
1:r0=3 /\\ 2:r0=0 /\\ 2:r1=1
"""
GUARDED = f"""GPU_PTX LB+guarded
P0               : P1
ld.cg r0, [x]    : ld.cg r0, [y]
setp.eq p, r0, 0 : st.cg [x], r0
mov r1, 1        :
@p mov r1, 2     :
st.cg [y], r1    :
{TWO}
x: global, y: global
0:r0=1 /\\ 1:r0=1
"""
COUNTING = f"""GPU_PTX counting
P0                  : P1
L:                  : M:
atom.add r0, [x], 1 : atom.add r0, [x], 1
setp.lt p, r0, 3    : setp.lt p, r0, 3
@p bra L            : @p bra M
{TWO}
x: global
x=5
"""


@pytest.mark.parametrize("engine", [Engine.SEARCH, Engine.SAT])
@pytest.mark.parametrize("model", ["sc", "tso", "ptx-6.0"])
def test_loops_that_wait_for_each_other_end(model: str, engine: Engine) -> None:
    assert decide(read_test(HANDSHAKE), load_model(model), engine).allowed


@pytest.mark.parametrize("text", [HANDSHAKE, COUNTERS])
def test_the_machines_agree(text: str) -> None:
    agrees(read_test(text))


def test_values_that_come_about_in_two_ways() -> None:
    for model in ("sc", "tso", "ptx-asplos15", "ptx-7.5"):
        assert decide(read_test(COUNTERS), load_model(model)).allowed


def test_counters_count_as_far_as_loops_go() -> None:
    assert decide(read_test(COUNTING), load_model("sc"), unroll=5).allowed
    assert decide(read_test(COUNTING), load_model("sc"), unroll=2).answer is Answer.BOUNDED
    assert decide(read_test(COUNTING), load_model("sc")).allowed


@pytest.mark.parametrize("model", ["ptx-asplos15", "ptx-6.0", "ptx-7.5"])
def test_a_skipped_instruction_depends_on_its_guard(model: str) -> None:
    """Whether r1 is 1 or 2 hangs on what was read, as with selp."""
    selected = GUARDED.replace("mov r1, 1        :\n@p mov r1, 2     :", "selp r1, 2, 1, p :")
    for text in (GUARDED, selected):
        assert not decide(read_test(text), load_model(model)).allowed


@pytest.mark.parametrize("engine", [Engine.SEARCH, Engine.SAT])
@pytest.mark.parametrize(
    ("code", "init", "condition"),
    [
        ("st.cg.u32 [y],4294967295", "", "y=4294967295"),
        ("st.cg.u32 [y],4294967295\nld.cg.u32 r1,[y]", "", "y=0:r1"),
        ("ld.cg.s32 r0,[y]", "y = 4294967295;", "y=-1"),
        ("ld.cg.s32 r0,[y]", "y = 4294967295;", "0:r0=-1"),
        ("ld.cg.s32 r0,[y]", "y = -1;", "0:r0=0xffffffff"),
        ("ld.cg.u32 r1,[y]", "y = -1;", "0:r1=4294967295 /\\ 0:r1>5"),
    ],
)
def test_numbers_are_what_their_type_says(code: str, init: str, condition: str, engine: Engine) -> None:
    registers = "0:.reg .s32 r0;\n0:.reg .u32 r1;"
    text = f"GPU_PTX numbers\n{registers}\n{init}\nP0\n{code}\n(device P0)\ny: global\nexists ({condition})\n"
    assert decide(read_test(text), load_model("sc"), engine).allowed
