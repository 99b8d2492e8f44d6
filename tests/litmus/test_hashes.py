"""content_hash sees meaning only; shape_hash also forgets the names of threads and variables."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

from conftest import DATA
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from litmus_strategies import litmus_tests

from gpudiy.litmus import condition as logic
from gpudiy.litmus.access import Access, CacheOperator, Order, Scope
from gpudiy.litmus.comparison import Comparison
from gpudiy.litmus.condition import map_terms
from gpudiy.litmus.content import content_hash
from gpudiy.litmus.instruction import Atomic, Instruction, Load, Reduce, Register, Store, Variable
from gpudiy.litmus.instruction_text import instruction_text
from gpudiy.litmus.memory_map import MemoryMap
from gpudiy.litmus.reader import read_test
from gpudiy.litmus.shape import shape_hash
from gpudiy.litmus.test import Test

SB = (DATA / "litmus" / "figures" / "A.1-sb.litmus").read_text()


def with_terms(test: Test, change) -> dict[str, object]:  # type: ignore[no-untyped-def]
    return {
        "condition": logic.Condition(test.condition.quantifier, map_terms(test.condition.expression, change)),
        "filter": None if test.filter is None else map_terms(test.filter, change),
        "locations": tuple(change(term) for term in test.locations),
    }


def with_operands(part: object, change) -> object:  # type: ignore[no-untyped-def]
    """An instruction with its registers and variables changed, wherever they stand."""
    if isinstance(part, (Register, Variable)):
        return change(part)
    if isinstance(part, tuple):
        return tuple(with_operands(item, change) for item in part)
    if hasattr(part, "__dataclass_fields__") and not isinstance(part, Access):
        return replace(part, **{name: with_operands(getattr(part, name), change) for name in part.__dataclass_fields__})  # type: ignore[type-var]
    return part


def registers_renamed(test: Test, source: random.Random) -> Test:
    """Every register under another name, declarations in another order."""
    names = {
        (declaration.thread, declaration.name): f"%q{source.randrange(1000)}_{index}"
        for index, declaration in enumerate(test.registers)
    }
    threads = tuple(
        with_operands(
            thread, lambda part, n=number: Register(names[n, part.name]) if isinstance(part, Register) else part
        )
        for number, thread in enumerate(test.threads)
    )
    registers = [replace(d, name=names[d.thread, d.name]) for d in test.registers]
    source.shuffle(registers)

    def change(term: logic.Term) -> logic.Term:
        return (
            logic.FinalRegister(term.thread, names[term.thread, term.name])
            if isinstance(term, logic.FinalRegister)
            else term
        )

    return replace(test, threads=threads, registers=tuple(registers), **with_terms(test, change))


def reordered(test: Test, source: random.Random) -> Test:
    """Memory map, initial memory and the parts of the condition in another order; name, doc and cycle changed."""

    def shuffled(expression: logic.Expression) -> logic.Expression:
        match expression:
            case logic.And(parts=parts) | logic.Or(parts=parts):
                inner = [shuffled(part) for part in parts]
                source.shuffle(inner)
                return type(expression)(tuple(inner))
            case logic.Not(inner=part):
                return logic.Not(shuffled(part))
            case logic.Implies(premise=premise, conclusion=conclusion):
                return logic.Implies(shuffled(premise), shuffled(conclusion))
        return expression

    variables, init = list(test.memory_map.variables), list(test.init)
    source.shuffle(variables)
    source.shuffle(init)
    condition = logic.Condition(test.condition.quantifier, shuffled(test.condition.expression))
    memory_map = MemoryMap(tuple(variables))
    return replace(test, memory_map=memory_map, init=tuple(init), condition=condition, name="other", doc="d", cycle="c")


def threads_and_variables_renamed(test: Test, source: random.Random) -> Test:
    order = list(range(len(test.threads)))
    source.shuffle(order)
    position = {old: new for new, old in enumerate(order)}
    fresh = [f"w{index}" for index in range(len(test.memory_map.names))]
    source.shuffle(fresh)
    names = dict(zip(test.memory_map.names, fresh, strict=True))

    def named(part: object) -> object:
        return Variable(names[part.name]) if isinstance(part, Variable) else part

    def change(term: logic.Term) -> logic.Term:
        if isinstance(term, logic.FinalRegister):
            return logic.FinalRegister(position[term.thread], term.name)
        return logic.FinalVariable(names[term.name]) if isinstance(term, logic.FinalVariable) else term

    def value(start: object) -> object:
        return replace(start, variable=names[start.variable]) if hasattr(start, "variable") else start  # type: ignore[type-var]

    variables = [
        replace(v, name=names[v.name], aliases=None if v.aliases is None else names[v.aliases])
        for v in test.memory_map.variables
    ]
    return replace(
        test,
        threads=tuple(with_operands(test.threads[old], named) for old in order),
        registers=tuple(replace(d, thread=position[d.thread], initial=value(d.initial)) for d in test.registers),
        init=tuple(replace(entry, variable=names[entry.variable]) for entry in test.init),
        scope_tree=test.scope_tree.reorder_threads(order),
        memory_map=MemoryMap(tuple(variables)),
        **with_terms(test, change),
    )


@given(litmus_tests(), st.randoms(use_true_random=False))
@settings(max_examples=80)
def test_spelling_does_not_count(test: Test, source: random.Random) -> None:
    other = reordered(registers_renamed(test, source), source)
    assert content_hash(other) == content_hash(test)
    assert shape_hash(other) == shape_hash(test)


@given(litmus_tests(), st.randoms(use_true_random=False))
@settings(max_examples=80)
def test_names_of_threads_and_variables_are_not_shape(test: Test, source: random.Random) -> None:
    assert shape_hash(threads_and_variables_renamed(test, source)) == shape_hash(test)


def other_meanings(instruction: Instruction) -> list[Instruction]:
    if isinstance(instruction, (Load, Store)):
        access = instruction.access
        changed = [
            replace(access, order=Order.VOLATILE, scope=None, cache=None),
            replace(access, order=Order.RELAXED, scope=Scope.CLUSTER, cache=None),
            replace(access, order=Order.WEAK, scope=None, cache=CacheOperator.CS),
        ]
        return [replace(instruction, access=new) for new in changed if new != access and access.proxy == "generic"]
    if isinstance(instruction, (Atomic, Reduce)):
        other = Scope.CTA if instruction.access.scope is not Scope.CTA else Scope.SYS
        return [replace(instruction, access=replace(instruction.access, scope=other))]
    return []


@given(litmus_tests(), st.data())
@settings(max_examples=80)
def test_another_meaning_is_another_content(test: Test, data: st.DataObject) -> None:
    places = [
        (n, i)
        for n, thread in enumerate(test.threads)
        for i, at in enumerate(thread)
        if other_meanings(at) and not test.scope_tree.is_on_host(n)
    ]
    assume(places)
    number, index = data.draw(st.sampled_from(places))
    body = list(test.threads[number])
    body[index] = data.draw(st.sampled_from(other_meanings(body[index])))
    threads = list(test.threads)
    threads[number] = tuple(body)
    changed = replace(test, threads=tuple(threads))
    assert instruction_text(body[index]) != instruction_text(test.threads[number][index])
    assert content_hash(changed) != content_hash(test)


def test_meaning_of_the_parts() -> None:
    """Each of these is another test; each pair of spellings below is the same one."""
    test = read_test(SB)
    assert len(
        {
            content_hash(read_test(text))
            for text in (
                SB,
                SB.replace("1:r2=0", "1:r2=1"),
                SB.replace("0:r2=0 /\\", "0:r2=0 \\/"),
                SB.replace("0:r2=0 /\\ 1:r2=0", "~exists (0:r2=0 /\\ 1:r2=0)"),
                SB.replace("(cta (warp P0)) (cta (warp P1))", "(cta (warp P0) (warp P1))"),
                SB.replace("(cta (warp P0)) (cta (warp P1))", "(cta (warp P0 P1))"),
                SB.replace("1:.reg .b64 r3 = x;", "1:.reg .b64 r3 = x;\nx = 2;"),
                SB.replace("mov.s32 r0,1      : mov", "mov.s32 r0,2      : mov"),
            )
        }
    ) == 8  # fmt: skip
    for same in (
        SB.replace("[r3]", "[y]", 1),
        SB.replace("0:r2=0 /\\ 1:r2=0", "exists (1:r2=0 /\\ 0=0:r2)"),
        SB.replace("0:r2=0 /\\ 1:r2=0", "exists (not (0:r2!=0 \\/ not 1:r2=0))"),
        SB.replace("x: global, y: global", "y: global; unused: global; x: global"),
        SB.replace("(cta (warp P0)) (cta (warp P1))", "(cta P1) (cta P0)"),
        SB.replace("mov.s32 r0,1      : mov", "LC9: mov.s32 r0,1      : mov"),
        SB.replace("st.cg.s32", "st.s32.cg").replace("ld.cg.s32", "ld.weak.cg.s32"),
    ):
        assert content_hash(read_test(same)) == content_hash(test), same


def test_shapes_of_symmetric_tests(figures: list[Path]) -> None:
    """SB with its threads swapped is SB; MP with its threads swapped is MP, and MP is not SB."""
    swapped = SB.replace("r1 = x", "r1 = ?").replace("r1 = y", "r1 = x").replace("r1 = ?", "r1 = y")
    swapped = swapped.replace("r3 = x", "r3 = ?").replace("r3 = y", "r3 = x").replace("r3 = ?", "r3 = y")
    assert shape_hash(read_test(swapped)) == shape_hash(read_test(SB))
    assert content_hash(read_test(swapped)) != content_hash(read_test(SB))
    shapes = [shape_hash(read_test(figure.read_text())) for figure in figures]
    assert len(set(shapes)) == len(figures)


def ring(size: int, weak: int) -> str:
    """A store-buffering ring, in which thread `weak` has another load than the rest."""
    registers = "".join(f"{n}:.reg .s32 r0;\n" for n in range(size))
    head = " | ".join(f"P{n}" for n in range(size))
    stores = " | ".join(f"st.cg [v{n}],1" for n in range(size))
    loads = " | ".join(f"ld.{'ca' if n == weak else 'cg'} r0,[v{(n + 1) % size}]" for n in range(size))
    tree = " ".join(f"(cta P{n})" for n in range(size))
    memory = ", ".join(f"v{n}: global" for n in range(size))
    asked = " /\\ ".join(f"{n}:r0=0" for n in range(size))
    program = f"{{\n{registers}}}\n{head} ;\n{stores} ;\n{loads} ;\n"
    return f"GPU_PTX ring\n{program}(device {tree})\n{memory}\nexists ({asked})\n"


def test_rings_and_crowds_are_quick() -> None:
    """Symmetry costs no factorial: a ring of 12 threads, and 12 threads that all do the same."""
    assert len({shape_hash(read_test(ring(12, weak))) for weak in range(12)}) == 1
    assert shape_hash(read_test(ring(12, -1))) != shape_hash(read_test(ring(12, 0)))
    crowd = ring(12, -1)
    for number in range(12):
        crowd = crowd.replace(f"[v{number}]", "[v0]")
    assert shape_hash(read_test(crowd)) != shape_hash(read_test(ring(12, -1)))


def test_quantifiers_are_part_of_the_content() -> None:
    test = read_test(SB)
    asked = {content_hash(replace(test, condition=replace(test.condition, quantifier=q))) for q in logic.Quantifier}
    assert len(asked) == 3
    never = replace(
        test,
        condition=logic.Condition(
            logic.Quantifier.EXISTS, logic.Compare(Comparison.EQ, logic.FinalVariable("x"), logic.Constant(3))
        ),
    )
    assert content_hash(never) not in asked


def test_negative_numbers_are_their_bits() -> None:
    for part, other in (
        ("mov.s32 r0,-1      : mov", "mov.s32 r0,0xffffffff      : mov"),
        ("0:.reg .s32 r2 = -1;", "0:.reg .s32 r2 = 0xffffffff;"),
    ):
        start = SB.replace("mov.s32 r0,1      : mov", part) if "mov" in part else SB.replace("0:.reg .s32 r2;", part)
        assert start != SB
        for of in (content_hash, shape_hash):
            assert of(read_test(start)) == of(read_test(start.replace(part, other)))
    for asked, same in (("0:r2=-1", "0:r2=0xffffffff"), ("x=-1", "x!=0xffffffff"), ("0:r2<-1", "0:r2<0xffffffff")):
        one, two = (read_test(SB.replace("0:r2=0", condition)) for condition in (asked, same))
        assert (content_hash(one) == content_hash(two)) == (asked.replace("-1", "0xffffffff") == same and "=" in asked)
    init = SB.replace("1:.reg .b64 r3 = x;", "1:.reg .b64 r3 = x;\nx = -1;")
    assert content_hash(read_test(init)) == content_hash(read_test(init.replace("-1", "0xffffffff")))
