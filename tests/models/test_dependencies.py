"""Semantic dependencies: the reads that can change a value, no more and no fewer."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpudiy
from gpudiy.cli import main
from gpudiy.litmus.access import ScalarType
from gpudiy.litmus.arithmetic import CannotCompute, wrap_value
from gpudiy.litmus.comparison import Comparison
from gpudiy.litmus.dependencies import DependencyRule
from gpudiy.litmus.instruction import Alu, AluOperation, Immediate, Register
from gpudiy.litmus.printer import print_test
from gpudiy.litmus.reader import read_test
from gpudiy.litmus.register_value import Compared, HeldValue, Narrowed, RegisterValue, RegisterValues, Selected
from gpudiy.litmus.test import Test
from gpudiy.models.exploration import Engine
from gpudiy.models.library import load_model, model_names
from gpudiy.models.real_dependence import RealReads, WordCircuit, can_change
from gpudiy.models.verdict import Verdict, decide
from models.small_tests import Vocabulary, small_tests
from models.test_loops import of_columns

TYPES = [ScalarType(name) for name in ("s16", "u16", "s32", "u32", "b32", "s64", "u64")]
BINARY = [AluOperation(name) for name in ("add", "sub", "mul", "min", "max", "and", "or", "xor", "shl", "shr")]
NUMBERS = st.sampled_from([0, 1, 2, 3, 4, 15, 16, 31, 32, 63, -1, -2, 0x7FFF, 0xFFFF, 0x80000000])
SMALL = 4  # values of a read that matter


def alu(operation: AluOperation, type: ScalarType, source_type: ScalarType | None = None) -> Alu:
    return Alu(operation, type, Register("r"), (Immediate(0),) * operation.arity, source_type)


@st.composite
def computed(draw: st.DrawFn, leaves: int, values: RegisterValues, leaf: Callable[[int], HeldValue]) -> HeldValue:
    """A value of a few operations on reads and numbers."""
    held: list[HeldValue] = [leaf(number) for number in range(leaves)]
    for _ in range(draw(st.integers(1, 5))):
        function = draw(functions())
        arity = 2 if isinstance(function, Compared) else 3 if isinstance(function, Selected) else 1
        arity = function.operation.arity if isinstance(function, Alu) else arity
        held.append(values.apply(function, [draw(st.sampled_from(held) | NUMBERS) for _ in range(arity)]))
    return held[-1]


@st.composite
def functions(draw: st.DrawFn) -> Alu | Compared | Narrowed | Selected:
    type = draw(st.sampled_from(TYPES))
    others = [
        alu(AluOperation.NOT, type), alu(AluOperation.SELP, type), Narrowed(type), Selected(),
        alu(AluOperation.CVT, type, draw(st.sampled_from(TYPES))),
        Compared(draw(st.sampled_from(list(Comparison))), type),
    ]  # fmt: skip
    return draw(st.sampled_from([*(alu(operation, type) for operation in BINARY), *others]))


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_circuits_compute_what_arithmetic_does(data: st.DataObject) -> None:
    values = RegisterValues()
    read = values.read(0, ScalarType.S32)
    found = data.draw(computed(1, values, lambda _: read))
    number = data.draw(NUMBERS | st.integers(-(1 << 31), (1 << 31) - 1))
    if isinstance(found, RegisterValue):
        words = WordCircuit()
        words._words[read, None] = words.wrap(words.constant(number), ScalarType.S32)
        word = words.build(found, None)
        shown = sum(1 << index for index, bit in enumerate(word) if bit == 1) - (1 << len(word) if word[-1] == 1 else 0)
        assert shown == found.evaluate({read: wrap_value(number, ScalarType.S32)})


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_what_is_found_is_what_brute_force_finds(data: st.DataObject) -> None:
    """Reads of which only two bits matter: all their values can be tried. The solver alone finds the same."""
    values = RegisterValues()
    reads = [values.read(number, ScalarType.S32) for number in range(2)]
    mask = alu(AluOperation.AND, ScalarType.B32)
    found = data.draw(computed(2, values, lambda number: values.apply(mask, [reads[number], SMALL - 1])))
    expected = 0
    if isinstance(found, RegisterValue):
        results = {
            pair: found.evaluate(dict(zip(reads, pair, strict=True))) for pair in product(range(SMALL), repeat=2)
        }
        changes = [
            any(
                results[one] != results[other]
                for one, other in product(results, repeat=2)
                if one[1 - n] == other[1 - n]
            )
            for n in range(2)
        ]
        expected = changes[0] | changes[1] << 1
        assert [can_change(found, n) if found.reads >> n & 1 else False for n in range(2)] == changes
    assert RealReads()(found, 0b11) == expected


def test_what_is_not_looked_into_depends_on_all() -> None:
    values = RegisterValues()
    read = values.read(0, ScalarType.S32)
    quotient = values.apply(alu(AluOperation.DIV, ScalarType.S32), [read, read])
    assert RealReads()(quotient, 1) == 1
    assert RealReads()(values.apply(alu(AluOperation.SUB, ScalarType.S32), [quotient, quotient]), 1) == 0
    with pytest.raises(CannotCompute):
        quotient.evaluate({read: 0})  # type: ignore[union-attr]


# what stands between a load into r0 and a store of r1, or to r3; whether the load can change what is stored, or where
BETWEEN = {
    "mov.s32 r1,r0": True,
    "and.b32 r1,r0,1; add.s32 r1,r1,1": True,
    "and.b32 r1,r0,0; add.s32 r1,r1,1": False,
    "xor.b32 r1,r0,r0; add.s32 r1,r1,1": False,
    "sub.s32 r1,r0,r0; add.s32 r1,r1,1": False,
    "mul.lo.s32 r1,r0,0; add.s32 r1,r1,1": False,
    "or.b32 r1,r0,-1; and.b32 r1,r1,1": False,
    "add.s32 r1,r0,1; sub.s32 r1,r1,r0": False,
    "shl.b32 r1,r0,1; and.b32 r1,r1,1; add.s32 r1,r1,1": False,
    "setp.eq.s32 p,r0,r0; @p mov.s32 r1,1": False,
    "mov.s32 r1,1; setp.eq.s32 p,r0,0; @p mov.s32 r1,1": False,
    "mov.s32 r1,2; setp.eq.s32 p,r0,1; @p mov.s32 r1,1": True,
    "setp.ne.s32 p,r0,r0; @p bra E; mov.s32 r1,1; E:": False,
    "mov.s32 r1,1; setp.ne.s32 p,r0,1; @p bra E; E:": True,  # control: where the ways meet again is not seen
}


def load_buffering(between: str) -> Test:
    column = "ld.relaxed.gpu.s32 r0,[{}]; {}; st.relaxed.gpu.s32 [{}],r1"
    return of_columns(column.format("x", between, "y"), column.format("y", between, "x"), "exists (0:r0=1 /\\ 1:r0=1)")


def decide_with(test: Test, model: str, kind: DependencyRule, engine: Engine = Engine.AUTO, **how: bool) -> Verdict:
    return decide(test, load_model(model), engine, 2, dependencies=kind, **how)


@pytest.mark.parametrize("model", ["ptx-6.0", "ptx-7.5"])
@pytest.mark.parametrize("between", BETWEEN)
def test_load_buffering(between: str, model: str) -> None:
    test = load_buffering(between)
    assert decide_with(test, model, DependencyRule.SYNTACTIC).forbidden
    for engine in (Engine.SEARCH, Engine.SAT):
        verdict = decide_with(test, model, DependencyRule.SEMANTIC, engine)
        assert verdict.forbidden == BETWEEN[between]
        assert verdict.model_label == f"{model} (semantic)"


def test_addresses() -> None:
    """The classic false address dependency: nothing is added to the address."""
    text = (
        "GPU_PTX address\n{}0:.reg .s32 r0;\n0:.reg .s64 r1;\n0:.reg .b64 a=y;\n1:.reg .s32 r0;\nP0 : P1\n"
        "ld.relaxed.gpu.s32 r0,[x] : ld.relaxed.gpu.s32 r0,[y]\ncvt.s64.s32 r1,r0 : st.relaxed.gpu.s32 [x],r0\n"
        "and.b64 r1,r1,{} :\nadd.s64 a,a,r1 :\nst.relaxed.gpu.s32 [a],1 :\n"
        "(device (kernel (cta P0) (cta P1)))\nx: global, y: global\nexists (0:r0=1 /\\ 1:r0=1)\n"
    )
    for number, allowed in ((0, True), (1 << 63, False)):
        test = read_test(text.format("", number))
        assert decide_with(test, "ptx-6.0", DependencyRule.SYNTACTIC).forbidden
        assert decide_with(test, "ptx-6.0", DependencyRule.SEMANTIC).allowed == allowed


@pytest.mark.parametrize("model", model_names())
def test_semantic_dependencies_allow_no_less(model: str) -> None:
    scoped = model in ("ptx-6.0", "ptx-7.5")

    @given(small_tests(Vocabulary(orders=scoped, loops=True, threads=(2, 2))))
    @settings(max_examples=30, deadline=None)
    def compare(test: Test) -> None:
        syntactic, by_search, by_sat = (
            set(decide_with(test, model, kind, engine, all_outcomes=True).outcomes or ())
            for kind, engine in (
                (DependencyRule.SYNTACTIC, Engine.SEARCH),
                (DependencyRule.SEMANTIC, Engine.SEARCH),
                (DependencyRule.SEMANTIC, Engine.SAT),
            )
        )
        assert syntactic <= by_search == by_sat

    compare()


def test_every_output_says_which_kind_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "lb.litmus"
    file.write_text(print_test(load_buffering("xor.b32 r1,r0,r0; add.s32 r1,r1,1")))
    plain = ["model", str(file), "-q", "--dependencies"]
    assert main([*plain, "both"]) == 0
    told = capsys.readouterr()
    assert [line.split() for line in told.out.splitlines()] == [
        ["test", "ptx-6.0", "ptx-6.0", "(semantic)"], ["loop", "forbidden", "allowed"]
    ]  # fmt: skip
    assert "verdicts that differ with semantic dependencies: loop by ptx-6.0" in told.err
    assert main([*plain, "both", "--json"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(r["dependencies"], r["verdict"], r["differs"]) for r in records] == [
        ("syntactic", "forbidden", True), ("semantic", "allowed", True)
    ]  # fmt: skip
    for output in (["--csv"], ["--explain"]):
        assert main([*plain, "semantic", *output]) == 0
        assert "ptx-6.0 (semantic)" in capsys.readouterr().out
    assert main([*plain, "semantic", "--all-outcomes"]) == 0
    assert "Dependencies: semantic" in capsys.readouterr().out
    assert main([*plain, "both", "-m", "sc"]) == 0
    assert "semantic dependencies: none" in capsys.readouterr().err
    assert main([*plain, "semantic", "--races"]) == 0
    assert "ptx-6.0 (semantic)" in capsys.readouterr().out
    assert main([*plain, "semantic", "--progress", "fair"]) == 2
    frame = gpudiy.model(str(file), dependencies="both")
    assert list(zip(frame["dependencies"], frame["answer"], strict=True)) == [
        ("syntactic", "forbidden"), ("semantic", "allowed")
    ]  # fmt: skip
