"""Every instruction has every trait, and its text, hash and reading hold together."""

from __future__ import annotations

import typing
from dataclasses import replace

import pytest

from gpudiy.litmus import content_hash, read_test
from gpudiy.litmus import instruction as isa
from gpudiy.litmus.access import Access, CacheOperator, Order, Proxy, ScalarType, Scope
from gpudiy.litmus.comparison import Comparison
from gpudiy.litmus.instruction import (
    access_of,
    address_of,
    destination_of,
    guard_of,
    operand_type,
    operands_of,
    scope_of,
)
from gpudiy.litmus.instruction_text import instruction_text
from gpudiy.litmus.thread_tokens import ThreadTokens
from gpudiy.litmus.traits import Traits, drawn_words, hash_words, literal_name, opcode_of, traits_of
from optcheck.literal import TYPE_NAMES, type_number

R0, R1, P0, X = isa.Register("r0"), isa.Register("r1"), isa.Register("p0"), isa.Variable("x")
S32 = ScalarType.S32
ONE = isa.Immediate(1)
BITWISE = ("cas", "exch", "and", "or", "xor")


def accesses(traits: Traits) -> list[Access]:
    """One access of each order, scope, cache operator and proxy that the class can have."""
    found = []
    for order in traits.orders:
        scopes = [Scope.CTA, Scope.CLUSTER, Scope.GPU, Scope.SYS] if order.takes_scope else [None]
        found += [Access(S32, order, scope) for scope in scopes]
    found += [Access(S32, cache=CacheOperator(cache)) for cache in traits.cache_operators]
    order, scope = (Order.WEAK, None) if Order.WEAK in traits.orders else (Order.RELAXED, Scope.GPU)
    return found + [Access(S32, order, scope, proxy=proxy) for proxy in traits.words if proxy is not Proxy.GENERIC]


def family() -> list[isa.Instruction]:
    """Every kind of every class of instruction."""
    bitwise = (
        isa.AluOperation.AND,
        isa.AluOperation.OR,
        isa.AluOperation.XOR,
        isa.AluOperation.NOT,
        isa.AluOperation.SHL,
    )
    load, store = isa.Load(R0, X), isa.Store(X, ONE)
    atomic = isa.Atomic(isa.AtomicOperation.ADD, R0, X, (ONE,), Access(S32, Order.RELAXED, Scope.GPU))
    reduce = isa.Reduce(isa.AtomicOperation.ADD, X, (ONE,), Access(S32, Order.RELAXED, Scope.GPU))
    found: list[isa.Instruction] = [isa.Label("L0"), isa.Branch("L0"), isa.Branch("L0", isa.Guard(P0, negated=True))]
    for instruction in (load, store, atomic, reduce):
        found += [replace(instruction, access=access) for access in accesses(traits_of(instruction))]
    for operation in isa.AtomicOperation:
        word = (
            "b32"
            if operation in ("cas", "exch", "and", "or", "xor")
            else "u32"
            if operation in ("inc", "dec")
            else "s32"
        )
        access = Access(ScalarType(word), Order.RELAXED, Scope.GPU)
        sources = (ONE, R1) if operation is isa.AtomicOperation.CAS else (ONE,)
        found.append(isa.Atomic(operation, R0, X, sources, access))
        if operation not in ("cas", "exch"):
            found.append(isa.Reduce(operation, X, sources, access))
    found += [isa.Fence(kind, Scope.GPU) for kind in isa.FenceKind]
    found += [isa.ProxyFence(kind) for kind in isa.ProxyFenceKind]
    found += [isa.Barrier(mode, ONE, count, 2) for mode in isa.BarrierMode for count in (None, isa.Immediate(4))]
    for alu in isa.AluOperation:
        operands = (R1, ONE, P0)[: alu.arity]
        source_type = ScalarType.U16 if alu is isa.AluOperation.CVT else None
        if alu is isa.AluOperation.CVT:
            operands = (ONE,)
        found.append(isa.Alu(alu, ScalarType.B32 if alu in bitwise else S32, R0, operands, source_type))
    found += [isa.SetPredicate(comparison, S32, P0, (R0, ONE)) for comparison in Comparison]
    return found


FAMILY = family()


def in_a_test(instruction: isa.Instruction) -> str:
    rows = [instruction_text(instruction)]
    if isinstance(instruction, isa.Branch):
        rows.append("L0:")
    registers = "0:.reg .s32 r0; 0:.reg .s32 r1; 0:.reg .pred p0;"
    body = " ;\n ".join(rows)
    text = f"GPU_PTX one\n{{ {registers} }}\n P0 ;\n {body} ;\nscopeTree (device (kernel (cta (warp P0))))\n"
    return f"{text}x: global\nexists (0:r0=1 /\\ 0:r1=1)"


def test_no_class_is_left_out() -> None:
    assert {type(instruction) for instruction in FAMILY} == set(typing.get_args(isa.Instruction))


@pytest.mark.parametrize("instruction", FAMILY, ids=instruction_text)
def test_every_instruction_has_every_trait(instruction: isa.Instruction) -> None:
    traits = traits_of(instruction)
    access = access_of(instruction)
    assert (
        (access is not None) == isinstance(instruction, isa.MemoryInstruction) == (address_of(instruction) is not None)
    )
    assert (traits.reads or traits.writes) == (access is not None) == bool(traits.direction) == bool(traits.words)
    assert opcode_of(instruction) and instruction_text(instruction).startswith(opcode_of(instruction)) == (
        guard_of(instruction) is None
    )
    assert hash_words(instruction, lambda label: 0).startswith(type(instruction).__name__) or isinstance(
        instruction, isa.Label
    )
    if access is not None:
        assert access.order in traits.orders and scope_of(instruction) is access.effective_scope
        assert (destination_of(instruction) is not None) == (traits.reads and not isinstance(instruction, isa.Reduce))
    if isinstance(instruction, (isa.Fence, isa.ProxyFence, isa.Barrier)):
        assert drawn_words(instruction) and traits.colour
    if isinstance(instruction, isa.MemoryInstruction) and instruction.access.proxy is Proxy.GENERIC:
        assert TYPE_NAMES[type_number(instruction)] == literal_name(instruction)
    if any(isinstance(operand, isa.Immediate) and operand.value < 0 for operand in operands_of(instruction)):
        assert operand_type(instruction) is not None


@pytest.mark.parametrize("instruction", FAMILY, ids=instruction_text)
def test_what_is_written_is_read_back(instruction: isa.Instruction) -> None:
    test = read_test(in_a_test(instruction))
    assert test.threads[0][0] == instruction
    assert content_hash(read_test(in_a_test(test.threads[0][0]))) == content_hash(test)


def test_hashes_tell_instructions_apart() -> None:
    declared = {name: (type, 0) for name, type in (("r0", S32), ("r1", S32), ("p0", ScalarType.PRED))}
    threads = [
        (instruction, isa.Label("L0")) if isinstance(instruction, isa.Branch) else (instruction,)
        for instruction in dict.fromkeys(FAMILY)
        if not isinstance(instruction, isa.Label)
    ]
    tokens = [ThreadTokens(thread, declared).tokens for thread in threads]
    assert len(set(tokens)) == len(threads)
