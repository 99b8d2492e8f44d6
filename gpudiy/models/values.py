"""Arithmetic of threads on values that may be addresses."""

from __future__ import annotations

from gpudiy.litmus import arithmetic
from gpudiy.litmus.access import ScalarType
from gpudiy.litmus.comparison import Comparison
from gpudiy.litmus.condition import AddressOf, Value
from gpudiy.litmus.instruction import Alu, AluOperation, Atomic, AtomicOperation, Reduce
from gpudiy.litmus.memory_types import wrap_value
from gpudiy.models.problems import Undecidable


def are_equal(left: Value, right: Value, type: ScalarType) -> bool:
    """Whether two values are equal in the bits of a type."""
    return wrap_value(left, type) == wrap_value(right, type)


def compare(comparison: Comparison, left: Value, right: Value, type: ScalarType) -> bool:
    """A comparison of setp; addresses are only ever equal or different."""
    if isinstance(left, AddressOf) or isinstance(right, AddressOf):
        if not comparison.equates:
            raise Undecidable("addresses are compared for order")
        return (left == right) == (comparison is Comparison.EQ)
    return arithmetic.compare_values(comparison, left, right, type)


def modify(atomic: Atomic | Reduce, old: Value, operands: list[Value]) -> Value:
    """What an atomic writes, from what it reads; of a cas, if it succeeds."""
    type = atomic.access.type
    if atomic.operation is AtomicOperation.CAS:
        return wrap_value(operands[1], type)
    if atomic.operation is AtomicOperation.EXCH:
        return wrap_value(operands[0], type)
    try:
        written = arithmetic.modify_value(
            atomic.operation, _as_int(old), [_as_int(operand) for operand in operands], type
        )
    except arithmetic.CannotCompute as problem:
        raise Undecidable(str(problem)) from None
    assert written is not None
    return written


def compute(alu: Alu, values: list[Value]) -> Value:
    """The result of an instruction on registers; addresses can be copied, chosen, and have 0 added."""
    operation, (first, *others) = alu.operation, values
    if operation in (AluOperation.MOV, AluOperation.CVT) and isinstance(first, AddressOf):
        return first
    if operation is AluOperation.SELP:
        return wrap_value(first if others[1] else others[0], alu.type)
    if operation in (AluOperation.ADD, AluOperation.SUB) and isinstance(first, AddressOf) and others[0] == 0:
        return first
    if operation is AluOperation.ADD and isinstance(others[0], AddressOf) and first == 0:
        return others[0]
    try:
        return arithmetic.compute_value(alu, [_as_int(value) for value in values])
    except arithmetic.CannotCompute as problem:
        raise Undecidable(str(problem)) from None


def _as_int(value: Value) -> int:
    if isinstance(value, AddressOf):
        raise Undecidable(f"arithmetic on the address of {value.variable}")
    return value
