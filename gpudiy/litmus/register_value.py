"""Register values: what a register holds, as a function of what the reads of its thread return."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from gpudiy.litmus import arithmetic
from gpudiy.litmus.access import ScalarType
from gpudiy.litmus.comparison import Comparison
from gpudiy.litmus.condition import AddressOf, Value
from gpudiy.litmus.instruction import Alu


@dataclass(frozen=True, slots=True)
class UnknownWord:
    """Something that nothing is known of: what a read returns, an address, or a value that this path does not show."""

    name: object
    type: ScalarType


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison of setp: 0 or 1."""

    comparison: Comparison
    type: ScalarType


@dataclass(frozen=True, slots=True)
class Narrowed:
    """What memory of this type holds of a value."""

    type: ScalarType


@dataclass(frozen=True, slots=True)
class Selected:
    """The second operand where the first is true, else the third."""


Function = UnknownWord | Alu | Compared | Narrowed | Selected


class RegisterValue:
    """A function of its operands; numbers are plain operands. Made by `RegisterValues`: equal ones are one object."""

    __slots__ = ("function", "number", "operands", "reads")

    def __init__(self, function: Function, operands: tuple[HeldValue, ...], number: int, reads: int) -> None:
        self.function = function
        self.operands = operands
        self.number = number  # larger than those of its operands
        self.reads = reads  # the set of reads that it mentions

    def cone(self) -> list[RegisterValue]:
        """All expressions that this one is computed from, and itself, operands first."""
        found = {self}
        waiting = [self]
        while waiting:
            inner = {each for each in waiting.pop().operands if isinstance(each, RegisterValue)} - found
            found |= inner
            waiting += inner
        return sorted(found, key=lambda expression: expression.number)

    def leaves(self) -> Iterator[RegisterValue]:
        return (each for each in self.cone() if isinstance(each.function, UnknownWord))

    def evaluate(self, held: Mapping[RegisterValue, int]) -> int:
        """The value, from those of the leaves; raises `CannotCompute` where there is none."""
        values = dict(held)
        for each in self.cone():
            if each not in values:
                operands = [values[one] if isinstance(one, RegisterValue) else one for one in each.operands]
                values[each] = compute_function(each.function, operands)
        return values[self]


HeldValue = RegisterValue | int


class RegisterValues:
    """Makes expressions; what has only numbers for operands is computed at once."""

    def __init__(self) -> None:
        self._known: dict[object, RegisterValue] = {}

    def read(self, position: int, type: ScalarType) -> RegisterValue:
        return self._make(UnknownWord(position, type), (), 1 << position)

    def unknown(self, type: ScalarType) -> RegisterValue:
        """A value that nothing is known of."""
        return self._make(UnknownWord(f"unknown {len(self._known)}", type), (), 0)

    def constant(self, value: Value) -> HeldValue:
        """A number, or an address, of which no bit is known."""
        return self._make(UnknownWord(value, ScalarType.B64), (), 0) if isinstance(value, AddressOf) else value

    def apply(self, function: Function, operands: Sequence[HeldValue]) -> HeldValue:
        numbers = [operand for operand in operands if isinstance(operand, int)]
        if len(numbers) == len(operands):
            try:
                return compute_function(function, numbers)
            except arithmetic.CannotCompute:
                return self.unknown(ScalarType.B64)
        reads = 0
        for operand in operands:
            reads |= operand.reads if isinstance(operand, RegisterValue) else 0
        return self._make(function, tuple(operands), reads)

    def _make(self, function: Function, operands: tuple[HeldValue, ...], reads: int) -> RegisterValue:
        named = (function.operation, function.type, function.source_type) if isinstance(function, Alu) else function
        key = (named, operands)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = RegisterValue(function, operands, len(self._known), reads)
        return found


def compute_function(function: Function, values: list[int]) -> int:
    """The value of a function of numbers."""
    match function:
        case Alu():
            return arithmetic.compute_value(function, values)
        case Compared(comparison, type):
            return int(arithmetic.compare_values(comparison, values[0], values[1], type))
        case Narrowed(type):
            return arithmetic.wrap_value(values[0], type)
        case Selected():
            return values[1] if values[0] else values[2]
        case UnknownWord():
            raise ValueError("the value of a leaf must be given")
        case _:
            assert_never(function)
