"""What tests read from text mean: types, defaults, addresses, conditions."""

from __future__ import annotations

from dataclasses import replace

import pytest
from conftest import DATA
from hypothesis import given
from hypothesis import strategies as st
from litmus_strategies import expressions

from gpudiy.litmus import condition as logic
from gpudiy.litmus import instruction as isa
from gpudiy.litmus.access import Access, CacheOperator, Order, Proxy, ScalarType, Scope, Space
from gpudiy.litmus.comparison import Comparison
from gpudiy.litmus.condition import holds, observables
from gpudiy.litmus.errors import InvalidTest
from gpudiy.litmus.flow import memory_uses
from gpudiy.litmus.grammar import parse_condition
from gpudiy.litmus.instruction_text import instruction_text
from gpudiy.litmus.reader import read_test, read_tests
from gpudiy.litmus.test import Test


def one(instruction: str, memory: str = "x: global") -> isa.Instruction:
    test = read_test(f"GPU_PTX one\nP0\n{instruction}\n(device P0)\n{memory}\nx=0\n")
    return test.threads[0][0]


@pytest.mark.parametrize(
    ("text", "access"),
    [
        ("ld.s32 r0,[x]", Access()),
        ("ld.weak.s32 r0,[x]", Access()),
        ("ld.s32.cg r0,[x]", Access(cache=CacheOperator.CG)),
        ("ld.global.ca.u32 r0,[x]", Access(ScalarType.U32, space=Space.GLOBAL, cache=CacheOperator.CA)),
        ("ld.volatile.global.s32 r0,[x]", Access(order=Order.VOLATILE, space=Space.GLOBAL)),
        ("ld.acquire.cluster.s32 r0,[x]", Access(order=Order.ACQUIRE, scope=Scope.CLUSTER)),
        ("ld.relaxed.sys.b64 r0,[x]", Access(ScalarType.B64, Order.RELAXED, Scope.SYS)),
        ("tld.s32 r0,[x]", Access(proxy=Proxy.TEXTURE)),
        ("cold.weak r0,[x]", Access(proxy=Proxy.CONSTANT)),
        ("suld.relaxed.gpu r0,[x]", Access(order=Order.RELAXED, scope=Scope.GPU, proxy=Proxy.SURFACE)),
    ],
)
def test_loads(text: str, access: Access) -> None:
    assert one(text) == isa.Load(isa.Register("r0"), isa.Variable("x"), access)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("st.cs [x], 1", "st.cs.s32 [x],1"),
        ("st.release.gpu.s32 [x], r1", "st.release.gpu.s32 [x],r1"),
        ("st.volatile [x],0x10000", "st.volatile.s32 [x],0x10000"),
        ("sust.weak [x],1", "sust.s32 [x],1"),
        ("atom.cas r0,[x],0,1", "atom.cas.b32 r0,[x],0,1"),
        ("atom.relaxed.gpu.exch.b32 r0,[x],1", "atom.exch.b32 r0,[x],1"),
        ("atom.global.add.s32 r0,[x],1", "atom.global.add.s32 r0,[x],1"),
        ("atom.inc r0,[x],1", "atom.inc.u32 r0,[x],1"),
        ("atom.acq_rel.cta.max.s32 r0,[x],1", "atom.acq_rel.cta.max.s32 r0,[x],1"),
        ("red.release.sys.add.u32 [x],1", "red.release.sys.add.u32 [x],1"),
        ("sured.relaxed.gpu.or [x],1", "sured.or.b32 [x],1"),
        ("membar.gl", "membar.gl"),
        ("fence.acquire.cluster", "fence.acquire.cluster"),
        ("fence.sys", "fence.acq_rel.sys"),
        ("fence.gpu", "fence.acq_rel.gpu"),
        ("fence.proxy.async.shared::cta", "fence.proxy.async.shared::cta"),
        ("bar.sync 1", "bar.sync 1"),
        ("barrier.sync 1, 64", "bar.sync 1,64"),
        ("bar.cta.arrive 2, 32", "bar.arrive 2,32"),
        ("barrier.cta.sync.aligned 3", "bar.sync 3"),
        ("mul.lo.s32 r0,r1,2", "mul.lo.s32 r0,r1,2"),
        ("xor r0,r0,r0", "xor.b32 r0,r0,r0"),
        ("cvt.u64.u32 r3,r2", "cvt.u64.u32 r3,r2"),
        ("selp.s32 r0,1,2,p0", "selp.s32 r0,1,2,p0"),
        ("setp.lt.b32 p,r0,3", "setp.lt.s32 p,r0,3"),
        ("@!p0 mov r0,-1", "@!p0 mov.s32 r0,-1"),
        ("mov.b64 r5,x", "mov.b64 r5,x"),
        ("shl r0,r1,2", "shl.b32 r0,r1,2"),
    ],
)
def test_spellings(text: str, printed: str) -> None:
    assert instruction_text(one(text)) == printed
    assert one(printed) == one(text)


def test_defaults_of_atomics() -> None:
    atomic = one("atom.add.s32 r0,[x],1")
    assert isinstance(atomic, isa.Atomic)
    assert (atomic.access.order, atomic.access.scope) == (Order.RELAXED, Scope.GPU)
    reduction = one("red.cta.add.s32 [x],1")
    assert isinstance(reduction, isa.Reduce)
    assert (reduction.access.order, reduction.access.scope) == (Order.RELAXED, Scope.CTA)


def test_volatile_reaches_the_system() -> None:
    load = one("ld.volatile r0,[x]")
    assert isinstance(load, isa.Load)
    assert load.access.effective_scope is Scope.SYS and load.access.strong
    weak = one("ld.cg r0,[x]")
    assert isinstance(weak, isa.Load)
    assert weak.access.effective_scope is None and not weak.access.strong


DAT3M = """PTX all
"Every instruction" "of the format"
{
x=0; y=&x; P0:r1=5; P0:r2=&x; t @ texture aliases x;
}
 P0@cta 3,gpu 1         | P1@cta 3,gpu 0 | P2@cta 4,gpu 0 ;
 st.release.gpu x, r1   | ld r0, 1       | LC00:          ;
 tld.weak r0, t         | fence.sc.sys   | goto LC00      ;
 atom.acquire.cta.cas r3, x, 0, 1 |      |                ;
 red.relaxed.sys.sub x, 1 |              |                ;
 bar.cta.sync 1, r1, 2  |                |                ;
 fence.proxy.alias      |                |                ;
 bne r0, 1, LC00        |                |                ;
 mul r0, r1, 3          |                |                ;
 LC00:                  |                |                ;
 ld.weak r4, r2         |                |                ;
locations [x; P0:r1;]
filter (P0:r0 != 7)
~exists (P0:r0 == 1 \\/ not (x >= 2 /\\ y != 0))
"""


def test_dat3m() -> None:
    test = read_test(DAT3M)
    assert test.doc == "Every instruction\nof the format"
    placements = test.scope_tree.placements
    assert placements[0].device != placements[1].device and placements[1].cta != placements[2].cta
    assert [instruction_text(instruction) for instruction in test.threads[0]] == [
        "st.release.gpu.s32 [x],r1",
        "tld.s32 r0,[t]",
        "atom.acquire.cta.cas.b32 r3,[x],0,1",
        "red.relaxed.sys.sub.s32 [x],1",
        "bar.sync.inst1 r1,2",
        "fence.proxy.alias",
        "setp.ne.s32 p0,r0,1",
        "@p0 bra LC00",
        "mul.lo.s32 r0,r1,3",
        "LC00:",
        "ld.s32 r4,[r2]",
    ]
    assert test.threads[0][4] == isa.Barrier(isa.BarrierMode.SYNC, isa.Register("r1"), isa.Immediate(2), instance=1)
    assert isinstance(test.threads[0][5], isa.ProxyFence)
    assert test.threads[1][1] == isa.Fence(isa.FenceKind.SC, Scope.SYS)
    assert test.initial_value("y") == logic.AddressOf("x")
    assert test.memory_map.location_of("t") == "x"
    assert test.condition.quantifier is logic.Quantifier.NOT_EXISTS
    assert test.observed == (
        logic.FinalRegister(0, "r0"), logic.FinalVariable("x"), logic.FinalVariable("y"), logic.FinalRegister(0, "r1"),
    )  # fmt: skip


def test_addresses_are_followed() -> None:
    test = read_test(
        "GPU_PTX follow\n{0:.reg .b64 r1 = x; 0:.reg .b64 r2; 0:.reg .b64 r3; 0:.reg .s32 r0; y=&z;}\n"
        "P0 ;\nadd.u64 r2,r1,8 ;\nld.s32 r0,[r2] ;\nld.b64 r3,[y] ;\nst.s32 [r3],1 ;\n"
        "(device P0)\nx: global, y: global, z: global\nexists (z=1)\n"
    )
    assert [set(use.targets) for use in memory_uses(test)] == [{"x"}, {"y"}, {"z"}]


def test_information_lines_of_herd() -> None:
    text = (DATA / "litmus" / "figures" / "A.1-sb.litmus").read_text()
    test = read_test(text.replace("SB\n", "SB\nCycle=PodWR Fre PodWR Fre\nDoc=store buffering\nOrig=figure A.1\n", 1))
    assert test.cycle == "PodWR Fre PodWR Fre"
    assert test.doc == "store buffering\nOrig=figure A.1"


def test_comments_and_sections_in_the_order_of_logs() -> None:
    test = read_test(
        "GPU_PTX order (* a comment *)\n{0:.reg .s32 r0;}\n P0 ;\n ld.cg.s32 r0,[x] ; (* (device P9) *)\n"
        "exists (0:r0=1)\n(device (kernel (cta (warp P0))))\nx:global\n"
    )
    assert test.condition.quantifier is logic.Quantifier.EXISTS and test.memory_map.names == ("x",)


def test_tests_one_after_another() -> None:
    texts = [figure.read_text() for figure in sorted((DATA / "litmus" / "figures").glob("*.litmus"))]
    assert [test.name for test in read_tests("\n".join([*texts, DAT3M]))] == [
        *(read_test(text).name for text in texts), "all",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x=1 /\\ y=2 \\/ z=3", "((x=1 /\\ y=2) \\/ z=3)"),
        ("x=1 /\\ y=2 => z=3", "(x=1 /\\ (y=2 => z=3))"),  # as in herd
        ("not x=1 => y=2", "((not x=1) => y=2)"),
        ("x=1 => y=2 => z=3", "(x=1 => (y=2 => z=3))"),
        ("~(x=1 \\/ y<>2)", "(not (x=1 \\/ y!=2))"),
        ("exists x==1", "x=1"),
        ("final ([x]=1)", "x=1"),
        ("observed x=1; y=2; and x=2;", "((x=1 /\\ y=2) \\/ x=2)"),
    ],
)
def test_precedence(text: str, expected: str) -> None:
    assert bracketed(parse_condition(text).expression) == expected


def bracketed(expression: logic.Expression) -> str:
    symbols = {"eq": "=", "ne": "!="}
    match expression:
        case logic.Compare(
            comparison=comparison, left=logic.FinalVariable(name=name), right=logic.Constant(value=value)
        ):
            return f"{name}{symbols[comparison]}{value}"
        case logic.Not(inner=inner):
            return f"(not {bracketed(inner)})"
        case logic.And(parts=parts):
            return "(" + " /\\ ".join(map(bracketed, parts)) + ")"
        case logic.Or(parts=parts):
            return "(" + " \\/ ".join(map(bracketed, parts)) + ")"
        case logic.Implies(premise=premise, conclusion=conclusion):
            return f"({bracketed(premise)} => {bracketed(conclusion)})"
    raise AssertionError(expression)


TERMS: list[logic.Observable] = [logic.FinalRegister(0, "r0"), logic.FinalVariable("x")]


@given(expressions(TERMS), st.integers(-2, 4), st.integers(-2, 4))
def test_holds(expression: logic.Expression, register: int, variable: int) -> None:
    """Against Python's own evaluation of the same expression."""
    state: dict[logic.Observable, int] = {TERMS[0]: register, TERMS[1]: variable}
    assert holds(expression, state.__getitem__) == eval(in_python(expression), {"r0": register, "x": variable})
    assert set(observables(expression)) <= set(TERMS)


def in_python(expression: logic.Expression) -> str:
    operators = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
    match expression:
        case logic.Compare(comparison=comparison, left=left, right=right):
            sides = [str(t.value) if isinstance(t, logic.Constant) else t.name for t in (left, right)]  # type: ignore[union-attr]
            return f"({sides[0]} {operators[comparison]} {sides[1]})"
        case logic.Not(inner=inner):
            return f"(not {in_python(inner)})"
        case logic.And(parts=parts):
            return "(True" + "".join(f" and {in_python(part)}" for part in parts) + ")"
        case logic.Or(parts=parts):
            return "(False" + "".join(f" or {in_python(part)}" for part in parts) + ")"
        case logic.Implies(premise=premise, conclusion=conclusion):
            return f"(not {in_python(premise)} or {in_python(conclusion)})"


def test_addresses_in_conditions() -> None:
    here = logic.Compare(Comparison.EQ, logic.FinalRegister(0, "r1"), logic.AddressOf("x"))
    assert holds(here, lambda _: logic.AddressOf("x")) and not holds(here, lambda _: logic.AddressOf("y"))
    assert not holds(replace(here, comparison=Comparison.LT), lambda _: 1)


def sb() -> Test:
    return read_test((DATA / "litmus" / "figures" / "A.1-sb.litmus").read_text())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": ""}, "name of one word"),
        ({"name": "two words"}, "name of one word"),
        ({"threads": ()}, "at least one thread"),
        ({"threads": (sb().threads[0],)}, "scope tree places 2 threads"),
        ({"registers": ()}, "is not declared"),
        ({"registers": sb().registers * 2}, "declared twice"),
        ({"memory_map": replace(sb().memory_map, variables=())}, "has no space"),
        ({"locations": (logic.FinalVariable("nowhere"),)}, "the locations names nowhere"),
        (
            {"filter": logic.And((logic.Compare(Comparison.EQ, logic.FinalVariable("x"), logic.Constant(1)),))},
            "join two parts",
        ),
        ({"threads": (sb().threads[0], (isa.Store(isa.Variable("x"), isa.Immediate(1 << 40)),))}, "does not fit"),
    ],
)
def test_a_test_built_by_hand_is_checked(change: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidTest, match=message):
        replace(sb(), **change)  # type: ignore[arg-type]
