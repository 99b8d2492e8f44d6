"""Arithmetic of threads that are executed here: values are bit patterns read as signed numbers, so are addresses."""

from __future__ import annotations

from gpudiy.litmus.access import ScalarType
from gpudiy.litmus.comparison import Comparison
from gpudiy.litmus.instruction import Alu, AluOperation, AtomicOperation


class CannotCompute(Exception):
    """Something a thread does that has no result, with a message that names it."""


def wrap_value(value: int, type: ScalarType) -> int:
    """A number as a register or location of this type holds it."""
    value &= (1 << type.bits) - 1
    return value - (1 << type.bits) if type.bits > 1 and value >> (type.bits - 1) else value


def read_as_type(value: int, type: ScalarType) -> int:
    """What a person sees: unsigned types show unsigned numbers."""
    value = wrap_value(value, type)
    return value & ((1 << type.bits) - 1) if type[0] == "u" else value


def compare_values(comparison: Comparison, left: int, right: int, type: ScalarType) -> bool:
    """Compare two bit patterns as numbers of a type."""
    return comparison.holds(read_as_type(left, type), read_as_type(right, type))


def modify_value(operation: AtomicOperation, old: int, operands: list[int], type: ScalarType) -> int | None:
    """What an atomic writes; None if it writes nothing."""
    memory, operand = read_as_type(old, type), read_as_type(operands[0], type)
    match operation:
        case AtomicOperation.CAS:
            return wrap_value(operands[1], type) if memory == operand else None
        case AtomicOperation.EXCH:
            return wrap_value(operand, type)
        case AtomicOperation.INC:
            return wrap_value(0 if memory >= operand else memory + 1, type)
        case AtomicOperation.DEC:
            return wrap_value(operand if memory == 0 or memory > operand else memory - 1, type)
        case (
            AtomicOperation.ADD
            | AtomicOperation.SUB
            | AtomicOperation.MUL
            | AtomicOperation.DIV
            | AtomicOperation.MIN
            | AtomicOperation.MAX
            | AtomicOperation.AND
            | AtomicOperation.OR
            | AtomicOperation.XOR
        ):
            return wrap_value(_binary(operation, memory, operand), type)


def compute_value(alu: Alu, values: list[int]) -> int:
    """The result of an instruction on registers."""
    operation, type = alu.operation, alu.type
    match operation:
        case AluOperation.MOV | AluOperation.CVT:
            return wrap_value(read_as_type(values[0], alu.source_type or type), type)
        case (
            AluOperation.ADD
            | AluOperation.SUB
            | AluOperation.MUL
            | AluOperation.DIV
            | AluOperation.MIN
            | AluOperation.MAX
            | AluOperation.AND
            | AluOperation.OR
            | AluOperation.XOR
        ):
            return wrap_value(_binary(operation, read_as_type(values[0], type), read_as_type(values[1], type)), type)
        case AluOperation.SELP:
            return wrap_value(values[0] if values[2] else values[1], type)
        case AluOperation.NOT:
            return wrap_value(1 - values[0] if type is ScalarType.PRED else ~values[0], type)
        case AluOperation.SHL:
            return wrap_value(values[0] << min(values[1] & 0xFFFFFFFF, type.bits), type)
        case AluOperation.SHR:
            pattern = wrap_value(values[0], type) if type[0] == "s" else values[0] & ((1 << type.bits) - 1)
            return wrap_value(pattern >> min(values[1] & 0xFFFFFFFF, type.bits), type)


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
