"""Arithmetic of threads that are executed here: values are bit patterns read as signed numbers, so are addresses."""

from __future__ import annotations

from gpudiy.litmus.access import ScalarType
from gpudiy.litmus.instruction import Alu, AluOperation, AtomicOperation, Comparison


class CannotCompute(Exception):
    """Something a thread does that has no result, with a message that names it."""


def wrapped(value: int, type: ScalarType) -> int:
    """A number as a register or location of this type holds it."""
    value &= (1 << type.bits) - 1
    return value - (1 << type.bits) if type.bits > 1 and value >> (type.bits - 1) else value


def shown(value: int, type: ScalarType) -> int:
    """What a person sees: unsigned types show unsigned numbers."""
    value = wrapped(value, type)
    return value & ((1 << type.bits) - 1) if type[0] == "u" else value


def compared(comparison: Comparison, left: int, right: int, type: ScalarType) -> bool:
    one, other = shown(left, type), shown(right, type)
    return {
        Comparison.EQ: one == other, Comparison.NE: one != other, Comparison.LT: one < other,
        Comparison.LE: one <= other, Comparison.GT: one > other, Comparison.GE: one >= other,
    }[comparison]  # fmt: skip


def modified(operation: AtomicOperation, old: int, operands: list[int], type: ScalarType) -> int | None:
    """What an atomic writes; None if it writes nothing."""
    if operation is AtomicOperation.CAS:
        return wrapped(operands[1], type) if wrapped(old, type) == wrapped(operands[0], type) else None
    if operation is AtomicOperation.EXCH:
        return wrapped(operands[0], type)
    memory, operand = shown(old, type), shown(operands[0], type)
    if operation is AtomicOperation.INC:
        return wrapped(0 if memory >= operand else memory + 1, type)
    if operation is AtomicOperation.DEC:
        return wrapped(operand if memory == 0 or memory > operand else memory - 1, type)
    return wrapped(_binary(operation, memory, operand), type)


def computed(alu: Alu, values: list[int]) -> int:
    """The result of an instruction on registers."""
    operation, type = alu.operation, alu.type
    if operation is AluOperation.SELP:
        return wrapped(values[0] if values[2] else values[1], type)
    if operation in (AluOperation.MOV, AluOperation.CVT):
        return wrapped(shown(values[0], alu.source_type or type), type)
    if operation is AluOperation.NOT:
        return wrapped(1 - values[0] if type is ScalarType.PRED else ~values[0], type)
    if operation in (AluOperation.SHL, AluOperation.SHR):
        distance = min(values[1] & 0xFFFFFFFF, type.bits)
        if operation is AluOperation.SHL:
            return wrapped(values[0] << distance, type)
        pattern = wrapped(values[0], type) if type[0] == "s" else values[0] & ((1 << type.bits) - 1)
        return wrapped(pattern >> distance, type)
    return wrapped(_binary(operation, shown(values[0], type), shown(values[1], type)), type)


def _binary(operation: str, left: int, right: int) -> int:
    match operation:
        case "add":
            return left + right
        case "sub":
            return left - right
        case "mul":
            return left * right
        case "div":
            if right == 0:
                raise CannotCompute("a thread divides by zero")
            return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        case "min":
            return min(left, right)
        case "max":
            return max(left, right)
        case "and":
            return left & right
        case "or":
            return left | right
        case "xor":
            return left ^ right
        case _:
            raise AssertionError(operation)
