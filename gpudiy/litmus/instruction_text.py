"""PTX instructions as text, in one spelling."""

from __future__ import annotations

from gpudiy.litmus.instruction import (
    Alu,
    Atomic,
    Barrier,
    Branch,
    Fence,
    Immediate,
    Instruction,
    Label,
    Load,
    Operand,
    ProxyFence,
    Reduce,
    SetPredicate,
    Store,
    guard_of,
)
from gpudiy.litmus.traits import opcode_of

HEXADECIMAL_FROM = 1 << 16


def instruction_text(instruction: Instruction) -> str:
    """The instruction as a line of PTX, without a semicolon."""
    opcode, arguments = opcode_of(instruction), _arguments(instruction)
    text = f"{opcode} {arguments}" if arguments else opcode
    guard = guard_of(instruction)
    if guard is None:
        return text
    return f"@{'!' if guard.negated else ''}{guard.predicate.name} {text}"


def operand_text(operand: Operand) -> str:
    """A register, a variable or a number."""
    if isinstance(operand, Immediate):
        return number_text(operand.value)
    return operand.name


def number_text(value: int) -> str:
    """A number; large ones are hexadecimal, because they are masks."""
    return str(value) if abs(value) < HEXADECIMAL_FROM else hex(value)


def _arguments(instruction: Instruction) -> str:
    """The text after the opcode: `r0,[x]`."""
    match instruction:
        case Load(destination=destination, address=address):
            return f"{destination.name},[{address.name}]"
        case Store(address=address, source=source):
            return f"[{address.name}],{operand_text(source)}"
        case Atomic(destination=destination, address=address, sources=sources):
            return f"{destination.name},[{address.name}],{_operands(sources)}"
        case Reduce(address=address, sources=sources):
            return f"[{address.name}],{_operands(sources)}"
        case Alu(destination=destination) | SetPredicate(destination=destination):
            return f"{destination.name},{_operands(instruction.sources)}"
        case Branch(target=target):
            return target
        case Barrier(identifier=identifier, count=count):
            return _operands((identifier,) if count is None else (identifier, count))
        case Fence() | ProxyFence() | Label():
            return ""


def _operands(operands: tuple[Operand, ...]) -> str:
    return ",".join(map(operand_text, operands))
