"""The models sc and tso agree with machines that run the tests."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from gpudiy.litmus.reader import read_test
from gpudiy.litmus.test import Test
from gpudiy.models.exploration import Engine
from gpudiy.models.library import load_model
from gpudiy.models.verdict import outcomes
from models.operational import Machine
from models.small_tests import Vocabulary, small_tests

MACHINES = {"sc": False, "tso": True}  # whether stores are buffered
ONE_CTA = "(device (kernel (cta (warp P0) (warp P1))))"
TWO_CTAS = "(device (kernel (cta (warp P0)) (cta (warp P1))))"
THREE_CTAS = "(device (kernel (cta (warp P0)) (cta (warp P1)) (cta (warp P2))))"
FOUR_CTAS = "(device (kernel (cta (warp P0)) (cta (warp P1)) (cta (warp P2)) (cta (warp P3))))"
TREES = {2: TWO_CTAS, 3: THREE_CTAS, 4: FOUR_CTAS}

# threads as columns, then the condition
CLASSIC = {
    "SB": ("st.cg [x], 1; ld.cg r0, [y]", "st.cg [y], 1; ld.cg r0, [x]", "0:r0=0 /\\ 1:r0=0"),
    "SB+membar.gls": (
        "st.cg [x], 1; membar.gl; ld.cg r0, [y]",
        "st.cg [y], 1; membar.gl; ld.cg r0, [x]",
        "0:r0=0 /\\ 1:r0=0",
    ),
    "SB+membar.gl+po": (
        "st.cg [x], 1; membar.gl; ld.cg r0, [y]",
        "st.cg [y], 1; ld.cg r0, [x]",
        "0:r0=0 /\\ 1:r0=0",
    ),
    "SB+rfi-pos": (
        "st.cg [x], 1; ld.cg r0, [x]; ld.cg r1, [y]",
        "st.cg [y], 1; ld.cg r0, [y]; ld.cg r1, [x]",
        "0:r0=1 /\\ 0:r1=0 /\\ 1:r0=1 /\\ 1:r1=0",
    ),
    "SB+exchs": (
        "atom.exch r0, [x], 1; ld.cg r1, [y]",
        "atom.exch r0, [y], 1; ld.cg r1, [x]",
        "0:r1=0 /\\ 1:r1=0 /\\ x=1 /\\ y=1",
    ),
    "SB+failed-cas": (
        "st.cg [x], 1; atom.cas r0, [z], 1, 2; ld.cg r1, [y]",
        "st.cg [y], 1; atom.cas r0, [z], 1, 2; ld.cg r1, [x]",
        "0:r1=0 /\\ 1:r1=0 /\\ z=0",
    ),
    "SB+reds": (
        "st.cg [x], 1; red.add [z], 1; ld.cg r1, [y]",
        "st.cg [y], 1; red.add [z], 1; ld.cg r1, [x]",
        "0:r1=0 /\\ 1:r1=0 /\\ z=2",
    ),
    "MP": ("st.cg [x], 1; st.cg [y], 1", "ld.cg r0, [y]; ld.cg r1, [x]", "1:r0=1 /\\ 1:r1=0"),
    "LB": ("ld.cg r0, [x]; st.cg [y], 1", "ld.cg r0, [y]; st.cg [x], 1", "0:r0=1 /\\ 1:r0=1"),
    "LB+datas": ("ld.cg r0, [x]; st.cg [y], r0", "ld.cg r0, [y]; st.cg [x], r0", "0:r0=1 /\\ 1:r0=1"),
    "R": ("st.cg [x], 1; st.cg [y], 1", "st.cg [y], 2; ld.cg r0, [x]", "y=2 /\\ 1:r0=0"),
    "S": ("st.cg [x], 2; st.cg [y], 1", "ld.cg r0, [y]; st.cg [x], 1", "1:r0=1 /\\ x=2"),
    "2+2W": ("st.cg [x], 1; st.cg [y], 2", "st.cg [y], 1; st.cg [x], 2", "x=1 /\\ y=1"),
    "CoRR": ("st.cg [x], 1; st.cg [x], 2", "ld.cg r0, [x]; ld.cg r1, [x]", "1:r0=2 /\\ 1:r1=1"),
    "CoWR": ("st.cg [x], 1; ld.cg r0, [x]", "st.cg [x], 2", "0:r0=2 /\\ x=1"),
    "CoRW": ("ld.cg r0, [x]; st.cg [x], 1", "st.cg [x], 2", "0:r0=2 /\\ x=2"),
    "CoWW": ("st.cg [x], 1; st.cg [x], 2", "ld.cg r0, [x]", "1:r0=2 /\\ x=1"),
    "WRC": (
        "st.cg [x], 1",
        "ld.cg r0, [x]; st.cg [y], 1",
        "ld.cg r0, [y]; ld.cg r1, [x]",
        "1:r0=1 /\\ 2:r0=1 /\\ 2:r1=0",
    ),
    "RWC": (
        "st.cg [x], 1",
        "ld.cg r0, [x]; ld.cg r1, [y]",
        "st.cg [y], 1; ld.cg r0, [x]",
        "1:r0=1 /\\ 1:r1=0 /\\ 2:r0=0",
    ),
    "IRIW": (
        "st.cg [x], 1",
        "ld.cg r0, [x]; ld.cg r1, [y]",
        "st.cg [y], 1",
        "ld.cg r0, [y]; ld.cg r1, [x]",
        "1:r0=1 /\\ 1:r1=0 /\\ 3:r0=1 /\\ 3:r1=0",
    ),
    "two-adds": ("atom.add r0, [x], 1", "atom.add r0, [x], 1", "0:r0=0 /\\ 1:r0=0 /\\ x=2"),
    "add-and-store": ("atom.add r0, [x], 1", "st.cg [x], 5", "0:r0=0 /\\ x=1"),
    "two-cas": ("atom.cas r0, [x], 0, 1", "atom.cas r0, [x], 0, 2", "0:r0=0 /\\ 1:r0=0 /\\ x=1"),
    "spin": ("L: ld.cg r0, [x]; setp.eq.s32 p, r0, 0; @p bra L", "st.cg [x], 1", "0:r0=1"),
    "lock": (
        "atom.cas r0, [x], 0, 1; setp.ne.s32 p, r0, 0; @p bra E; ld.cg r1, [y]; st.cg [y], 1; atom.exch r2, [x], 0; E:",
        "atom.cas r0, [x], 0, 1; setp.ne.s32 p, r0, 0; @p bra E; ld.cg r1, [y]; st.cg [y], 2; atom.exch r2, [x], 0; E:",
        "0:r1=2 /\\ 1:r1=1 /\\ y=1",
    ),
}
BARRIERS = {
    "MP+bars": ("st.cg [x], 1; bar.sync 0", "bar.sync 0; ld.cg r0, [x]", "1:r0=0"),
    "MP+arrive": ("st.cg [x], 1; bar.arrive 0", "bar.sync 0; ld.cg r0, [x]", "1:r0=0"),
    "SB+bars": ("st.cg [x], 1; bar.sync 0; ld.cg r0, [y]", "st.cg [y], 1; bar.sync 0; ld.cg r0, [x]", "0:r0=0"),
    "twice": (
        "st.cg [x], 1; bar.sync 0; ld.cg r0, [y]; bar.sync 0; st.cg [x], 2",
        "st.cg [y], 1; bar.sync 0; ld.cg r0, [x]; bar.sync 0; ld.cg r1, [x]",
        "0:r0=1 /\\ 1:r0=1 /\\ 1:r1=1",
    ),
}


def written(name: str, columns: tuple[str, ...], tree: str | None = None) -> Test:
    """The test of columns of instructions, separated by semicolons, and a condition."""
    *threads, condition = columns
    rows = [[each.strip() for each in column.split(";")] for column in threads]
    lines = [f"GPU_PTX {name}"]
    for number in range(len(rows)):
        lines += [f"{number}:.reg .s32 r{index};" for index in range(3)] + [f"{number}:.reg .pred p;"]
    lines.append(" : ".join(f"P{number}" for number in range(len(rows))))
    for index in range(max(map(len, rows))):
        lines.append(" : ".join(row[index] if index < len(row) else "" for row in rows))
    lines += [tree or TREES[len(rows)], "x: global, y: global, z: global", f"exists ({condition})"]
    return read_test("\n".join(lines) + "\n")


def agrees(test: Test, unroll: int = 2, engines: tuple[Engine, ...] = (Engine.SEARCH, Engine.SAT)) -> None:
    """sc gives the outcomes of interleaving, tso those of store buffers, whatever decides."""
    for model, buffered in MACHINES.items():
        expected = Machine(test, buffered, unroll).outcomes()
        for engine in engines:
            assert set(outcomes(test, load_model(model), engine, unroll)) == expected, (model, engine)


@pytest.mark.parametrize("name", CLASSIC)
def test_classic(name: str) -> None:
    agrees(written(name, CLASSIC[name]))


@pytest.mark.parametrize("name", BARRIERS)
def test_barriers(name: str) -> None:
    agrees(written(name, BARRIERS[name], ONE_CTA))


def test_the_machines_know_the_difference() -> None:
    """SB separates the two; its fences close the gap."""
    weak = {
        name: [(0, 0) in Machine(written(name, CLASSIC[name]), buffered).outcomes() for buffered in (False, True)]
        for name in ("SB", "SB+membar.gls", "SB+membar.gl+po")
    }
    assert weak == {"SB": [False, True], "SB+membar.gls": [False, False], "SB+membar.gl+po": [False, True]}


@given(small_tests())
@settings(max_examples=150)
def test_random(test: Test) -> None:
    agrees(test)


@given(small_tests(Vocabulary(barriers=True, instances=(0,), branches=False, one_cta=True)))
@settings(max_examples=50)
def test_random_with_barriers(test: Test) -> None:
    agrees(test)


@given(small_tests(Vocabulary(barriers=True, instances=(1, 2), branches=False, one_cta=True)))
@settings(max_examples=50)
def test_random_with_barrier_instances(test: Test) -> None:
    agrees(test)


@given(small_tests(Vocabulary(loops=True)))
@settings(max_examples=60, deadline=None)
def test_random_with_loops(test: Test) -> None:
    """Also where waiting in vain is left out: it makes no difference to what can be seen in the end."""
    agrees(test)


@pytest.mark.heavy
@given(small_tests(Vocabulary(loops=True)))
@settings(max_examples=2000, deadline=None)
def test_many_random_with_loops(test: Test) -> None:
    agrees(test)


@pytest.mark.heavy
@given(small_tests(Vocabulary(length=4)))
@settings(max_examples=2000, deadline=None)
def test_many_random(test: Test) -> None:
    agrees(test)
