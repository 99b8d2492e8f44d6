"""Loops: exact where they wait or end by themselves, undecided where a bound on them matters."""

from __future__ import annotations

import pytest

from gpudiy.litmus.reader import read_test
from gpudiy.litmus.test import Test
from gpudiy.models.cat_compile import compile_cat
from gpudiy.models.explanation import explain
from gpudiy.models.exploration import Engine, Exploration
from gpudiy.models.library import load_model, model_names
from gpudiy.models.report import explanation_text, listing
from gpudiy.models.verdict import Answer, Undecided, decide, outcomes

ENGINES = (Engine.SEARCH, Engine.SAT, Engine.AUTO)
REGISTERS = "".join(f"{n}:.reg .s32 r{i};\n" for n in range(2) for i in range(3)) + "0:.reg .pred p;\n1:.reg .pred p;\n"


def of_columns(first: str, second: str, condition: str) -> Test:
    """A test of two threads in two CTAs, their instructions separated by semicolons."""
    columns = [[each.strip() for each in column.split(";")] for column in (first, second)]
    rows = [
        " : ".join(column[index] if index < len(column) else "" for column in columns)
        for index in range(max(map(len, columns)))
    ]
    tree = "(device (kernel (cta P0) (cta P1)))\nx: global, y: global, z: global"
    return read_test("\n".join(["GPU_PTX loop", REGISTERS, "P0 : P1", *rows, tree, condition]) + "\n")


WAIT = "L:; ld.relaxed.gpu.s32 r0,[y]; setp.eq.s32 p,r0,0; @p bra L; ld.relaxed.gpu.s32 r1,[x]"
SEND = "st.relaxed.gpu.s32 [x],1; fence.sc.gpu; st.relaxed.gpu.s32 [y],1"
TAKE = "L:; atom.acquire.gpu.cas.b32 r0,[x],0,1; setp.ne.s32 p,r0,0; @p bra L"
LOCKED = f"{TAKE}; ld.weak.s32 r1,[y]; add.s32 r1,r1,1; st.weak.s32 [y],r1; st.release.gpu.s32 [x],0"
SWAP = "L:; atom.relaxed.gpu.exch.b32 r0,[x],1; setp.ne.s32 p,r0,0; @p bra L"
COUNT = "L:; add.s32 r0,r0,1; st.relaxed.gpu.s32 [x],r0; setp.lt.s32 p,r0,{}; @p bra L"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("unroll", [None, 1, 2, 3])
def test_waiting_is_decided_exactly(engine: Engine, unroll: int | None) -> None:
    """How often it was in vain does not matter: with fences the message arrives, without one it may not."""
    fenced = of_columns(WAIT.replace("ld.relaxed.gpu.s32 r1", "fence.sc.gpu; ld.relaxed.gpu.s32 r1"), SEND, "0:r1=0")
    plain = of_columns(WAIT, SEND, "0:r1=0")
    for name in ("sc", "tso", "ptx-6.0", "ptx-7.5"):
        verdict = decide(fenced, load_model(name), engine, unroll)
        assert verdict.forbidden and not verdict.bounded
    assert decide(plain, load_model("ptx-6.0"), engine, unroll).allowed


@pytest.mark.parametrize("name", ["sc", "tso", "ptx-6.0", "ptx-7.5"])
def test_a_cas_that_fails_is_a_wait(name: str) -> None:
    """Two threads take a lock, count, and give it back; without giving it back no run ends."""
    verdict = decide(of_columns(LOCKED, LOCKED, "~exists (not (y=2))"), load_model(name))
    assert verdict.forbidden and not verdict.bounded
    assert decide(of_columns(TAKE, TAKE, "0:r0=0 /\\ 1:r0=0"), load_model(name)).answer is Answer.NO_RUN


@pytest.mark.parametrize("engine", ENGINES)
def test_a_loop_that_changes_memory_is_bounded(engine: Engine) -> None:
    test = of_columns(SWAP, SWAP, "0:r0=0 /\\ 1:r0=0")
    for unroll in (1, 2, 3):
        verdict = decide(test, load_model("sc"), engine, unroll)
        assert verdict.answer is Answer.BOUNDED and verdict.undecided and verdict.bounded
        assert verdict.holds is None
        assert verdict.reason == f"a loop may go round more than {unroll} times"


@pytest.mark.parametrize("engine", ENGINES)
def test_three_passes(engine: Engine) -> None:
    """The default bound was two, and what takes three was forbidden."""
    test = of_columns(COUNT.format(3), "ld.relaxed.gpu.s32 r0,[x]", "1:r0=3")
    assert decide(test, load_model("sc"), engine, 2).answer is Answer.BOUNDED
    assert decide(test, load_model("sc"), engine, 3).allowed
    assert decide(test, load_model("sc"), engine).allowed


@pytest.mark.parametrize("passes", [3, 7, 20])
def test_a_loop_that_ends_by_itself_is_decided_exactly(passes: int) -> None:
    test = of_columns(COUNT.format(passes), "ld.relaxed.gpu.s32 r0,[x]", f"1:r0={passes + 1}")
    verdict = decide(test, load_model("sc"))
    assert verdict.forbidden and not verdict.bounded and verdict.unroll >= passes
    assert set(outcomes(test, load_model("sc"))) == {(value,) for value in range(passes + 1)}


def test_an_endless_loop_has_no_runs() -> None:
    test = of_columns("L:; bra L", "st.relaxed.gpu.s32 [x],1", "x=1")
    verdict = decide(test, load_model("sc"))
    assert verdict.answer is Answer.NO_RUN and not verdict.bounded


def test_a_wait_in_vain_has_no_runs() -> None:
    """Nobody writes what the loop waits for: that nothing is reached must not look like a forbidden outcome."""
    verdict = decide(of_columns(WAIT, "st.relaxed.gpu.s32 [x],1", "0:r1=0"), load_model("ptx-6.0"))
    assert verdict.answer is Answer.NO_RUN and not verdict.bounded


def test_a_pass_in_vain_needs_a_meaning_too() -> None:
    """What the model has no meaning for stands only where the loop goes round again."""
    loop = "L:; ld.relaxed.gpu.s32 r0,[y]; setp.ne.s32 p,r0,0; @p bra E; fence.proxy.async; bra L; E:"
    verdict = decide(of_columns(loop, SEND, "0:r0=5"), load_model("ptx-6.0"))
    assert verdict.answer is Answer.NOT_SUPPORTED


def test_a_counter_in_a_loop_is_looked_at() -> None:
    """A pass that changes a register which is looked at later is not the same as none."""
    counted = WAIT.replace("L:;", "L:; add.s32 r2,r2,1;")
    test = of_columns(counted, SEND, "0:r2=2")
    assert decide(test, load_model("sc"), unroll=2).allowed
    assert decide(test, load_model("sc"), unroll=1).answer is Answer.BOUNDED
    # without anybody who looks at it, it is
    assert not decide(of_columns(counted, SEND, "0:r0=2"), load_model("sc"), unroll=2).allowed


def test_a_pass_that_changes_what_a_register_depends_on_matters() -> None:
    """r2 is 1 before and after the pass, but behind it, it no longer comes from what was read from y."""
    first = "ld.relaxed.gpu.s32 r0,[y]; setp.eq.s32 p,r0,1; @p mov.s32 r2,1; L:; ld.relaxed.gpu.s32 r1,[z]; "
    first += "setp.eq.s32 p,r1,0; @p mov.s32 r2,1; @p bra L; st.relaxed.gpu.s32 [x],r2"
    second = "ld.relaxed.gpu.s32 r0,[x]; st.relaxed.gpu.s32 [y],r0; st.relaxed.gpu.s32 [z],1"
    test = of_columns(first, second, "0:r0=1 /\\ 1:r0=1")
    for name in ("ptx-6.0", "ptx-7.5"):
        assert decide(test, load_model(name), unroll=1).answer is Answer.BOUNDED
        assert decide(test, load_model(name)).allowed


def test_all_models_of_the_library_can_do_without_reads() -> None:
    assert all(load_model(name).plan.can_drop_reads for name in model_names())


@pytest.mark.parametrize(
    "odd",
    [
        "~empty rf & ext as talks",  # fails without reads
        "empty (po & loc) \\ (po;po) as far",  # what is computed through others is taken away
        "~acyclic po | rf as cycle",
    ],
)
def test_models_that_need_their_reads(odd: str) -> None:
    """A check that may fail for want of a read: passes in vain are looked at, and a bound on them matters."""
    model = compile_cat(f"acyclic po | rf | co | fr as sc\nempty rmw & 0 as atomics\n{odd}\n", "odd.cat", "odd")
    assert not model.plan.can_drop_reads
    found = Exploration(of_columns(WAIT, SEND, "0:r1=0"), model, 2)
    assert found.bounded and [len(paths) for paths in found.paths] == [2, 1]


def test_what_is_said_of_a_bound() -> None:
    test = of_columns(SWAP, SWAP, "~exists (0:r0=0 /\\ 1:r0=0)")
    verdict = decide(test, load_model("sc"), unroll=2)
    assert "undecided (bounded)" in explanation_text(explain(verdict)) and "more than 2 times" in verdict.reason
    assert "whatever the model" not in explanation_text(explain(verdict))
    listed = decide(test, load_model("sc"), unroll=2, all_outcomes=True)
    lines = listing(listed).splitlines()
    assert "Bounded: loops go round at most 2 times" in lines and "Undecided (bounded)" in lines and "Ok" not in lines
    assert any(line.startswith("Observation loop Undecided") for line in lines)
    with pytest.raises(Undecided) as caught:
        outcomes(test, load_model("sc"))
    assert caught.value.exit_code == 3
    assert set(outcomes(test, load_model("sc"), unroll=2)) == set(listed.outcomes or {})
