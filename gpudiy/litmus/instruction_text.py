"""PTX instructions as text, one way of writing each."""

from __future__ import annotations

from gpudiy.litmus.access import Access, Order, Proxy, Scope
from gpudiy.litmus.instruction import (
    Alu,
    AluOperation,
    Atomic,
    Barrier,
    Branch,
    Fence,
    FenceKind,
    Immediate,
    Instruction,
    Label,
    Load,
    Operand,
    ProxyFence,
    Reduce,
    SetPredicate,
    Store,
)

LOAD_WORDS = {Proxy.GENERIC: "ld", Proxy.TEXTURE: "tld", Proxy.SURFACE: "suld", Proxy.CONSTANT: "cold"}
STORE_WORDS = {Proxy.GENERIC: "st", Proxy.SURFACE: "sust"}
ATOMIC_WORDS = {Proxy.GENERIC: "atom", Proxy.SURFACE: "suatom"}
REDUCE_WORDS = {Proxy.GENERIC: "red", Proxy.SURFACE: "sured"}
HEXADECIMAL_FROM = 1 << 16  # literals from here on are masks, not values


def instruction_text(instruction: Instruction) -> str:
    """The instruction as a line of PTX, without a semicolon.

    What PTX assumes is left out, so that old architectures take it too: `.weak` of loads and stores, `.relaxed.gpu`
    of atomics.
    """
    if isinstance(instruction, Label):
        return f"{instruction.name}:"
    text = _text(instruction)
    guard = instruction.guard
    if guard is None:
        return text
    return f"@{'!' if guard.negated else ''}{guard.predicate.name} {text}"


def _text(instruction: Instruction) -> str:
    match instruction:
        case Load(destination=destination, address=address, access=access):
            return f"{LOAD_WORDS[access.proxy]}{_modifiers(access)}.{access.type} {destination.name},[{address.name}]"
        case Store(address=address, source=source, access=access):
            return (
                f"{STORE_WORDS[access.proxy]}{_modifiers(access)}.{access.type} [{address.name}],{operand_text(source)}"
            )
        case Alu():
            return _alu(instruction)
        case Fence(kind=FenceKind.MEMBAR, scope=scope):
            return f"membar.{'gl' if scope is Scope.GPU else scope.word}"
        case Fence(kind=kind, scope=scope):
            return f"fence.{kind}.{scope.word}"
        case Atomic(operation=operation, destination=destination, address=address, access=access):
            word = f"{ATOMIC_WORDS[access.proxy]}{_atomic_modifiers(access)}.{operation}.{access.type}"
            return f"{word} {destination.name},[{address.name}],{_operands(instruction.sources)}"
        case Reduce(operation=operation, address=address, access=access):
            word = f"{REDUCE_WORDS[access.proxy]}{_atomic_modifiers(access)}.{operation}.{access.type}"
            return f"{word} [{address.name}],{_operands(instruction.sources)}"
        case SetPredicate(comparison=comparison, type=type, destination=destination, sources=sources):
            return f"setp.{comparison}.{type} {destination.name},{_operands(sources)}"
        case Branch(target=target):
            return f"bra {target}"
        case Barrier():
            return _barrier(instruction)
        case ProxyFence(kind=kind):
            return f"fence.proxy.{kind}"
        case Label(name=name):
            return f"{name}:"


def _modifiers(access: Access) -> str:
    words = ""
    if access.order is not Order.WEAK:
        words = f".{access.order}"
        if access.scope is not None:
            words += f".{access.scope.word}"
    if access.space is not None:
        words += f".{access.space}"
    if access.cache is not None:
        words += f".{access.cache}"
    return words


def _atomic_modifiers(access: Access) -> str:
    if access.order is Order.RELAXED and access.scope is Scope.GPU:
        return "" if access.space is None else f".{access.space}"
    return _modifiers(access)


def _alu(alu: Alu) -> str:
    word: str = alu.operation
    if alu.operation is AluOperation.MUL:
        word = "mul.lo"
    types = f".{alu.type}" if alu.source_type is None else f".{alu.type}.{alu.source_type}"
    return f"{word}{types} {alu.destination.name},{_operands(alu.sources)}"


def _barrier(barrier: Barrier) -> str:
    instance = f".inst{barrier.instance}" if barrier.instance else ""
    count = "" if barrier.count is None else f",{operand_text(barrier.count)}"
    return f"bar.{barrier.mode}{instance} {operand_text(barrier.identifier)}{count}"


def _operands(operands: tuple[Operand, ...]) -> str:
    return ",".join(map(operand_text, operands))


def operand_text(operand: Operand) -> str:
    if isinstance(operand, Immediate):
        return number_text(operand.value)
    return operand.name


def number_text(value: int) -> str:
    return str(value) if abs(value) < HEXADECIMAL_FROM else hex(value)
