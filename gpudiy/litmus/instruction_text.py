"""PTX instructions as text, in one spelling."""

from __future__ import annotations

from functools import lru_cache

from gpudiy.litmus import instruction as isa
from gpudiy.litmus.instruction import guard_of
from gpudiy.litmus.traits import opcode_of

HEXADECIMAL_FROM = 1 << 16


@lru_cache(1 << 14)  # many tests have the same instructions
def instruction_text(instruction: isa.Instruction) -> str:
    """The instruction as a line of PTX, without a semicolon."""
    opcode, arguments = opcode_of(instruction), _arguments(instruction)
    text = f"{opcode} {arguments}" if arguments else opcode
    guard = guard_of(instruction)
    if guard is None:
        return text
    return f"@{'!' if guard.negated else ''}{guard.predicate.name} {text}"


def operand_text(operand: isa.Operand) -> str:
    """A register, a variable or a number."""
    if isinstance(operand, isa.Immediate):
        return number_text(operand.value)
    return operand.name


def number_text(value: int) -> str:
    """A number; large ones are hexadecimal, because they are masks."""
    return str(value) if abs(value) < HEXADECIMAL_FROM else hex(value)


def _arguments(instruction: isa.Instruction) -> str:
    """The text after the opcode: `r0,[x]`."""
    match instruction:
        case isa.Load(destination=destination, address=address):
            return f"{destination.name},[{address.name}]"
        case isa.Store(address=address, source=source):
            return f"[{address.name}],{operand_text(source)}"
        case isa.Atomic(destination=destination, address=address, sources=sources):
            return f"{destination.name},[{address.name}],{_operands(sources)}"
        case isa.Reduce(address=address, sources=sources):
            return f"[{address.name}],{_operands(sources)}"
        case isa.Alu(destination=destination) | isa.SetPredicate(destination=destination):
            return f"{destination.name},{_operands(instruction.sources)}"
        case isa.Branch(target=target):
            return target
        case isa.Barrier(identifier=identifier, count=count):
            return _operands((identifier,) if count is None else (identifier, count))
        case isa.Fence() | isa.ProxyFence() | isa.Label():
            return ""


def _operands(operands: tuple[isa.Operand, ...]) -> str:
    return ",".join(map(operand_text, operands))
