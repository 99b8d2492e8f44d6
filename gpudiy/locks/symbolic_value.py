"""The symbolic values of registers during a walk through a lock: numbers, addresses, results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from gpudiy.litmus.access import ScalarType
from gpudiy.litmus.arithmetic import CannotCompute, compare_values, compute_value
from gpudiy.litmus.comparison import Comparison
from gpudiy.litmus.instruction import Alu, AluOperation, Immediate, Register


@dataclass(frozen=True, slots=True)
class Number:
    """A known number."""

    value: int


@dataclass(frozen=True, slots=True)
class SymbolicAddress:
    """An address: `offset` bytes after the start of a variable."""

    variable: str
    offset: SymbolicValue = Number(0)


@dataclass(frozen=True, slots=True)
class GivenNumber:
    """A number that a thread receives: a parameter of the lock, or a special register such as %tid.x."""

    name: str


@dataclass(frozen=True, slots=True)
class AnyNumber:
    """A number of which little is known: a clock, or the counter of a loop that goes round any number of times.

    With a `step` it is `start` plus a multiple of the step; `number` tells such numbers of one path apart.
    """

    number: int
    start: int = 0
    step: int | None = None


@dataclass(frozen=True, slots=True)
class ReadValue:
    """The value that an access read; `number` counts the reads along a path."""

    number: int
    bits: int = 32


@dataclass(frozen=True, slots=True)
class ComputedValue:
    """The result of an arithmetic instruction whose sources are not all known."""

    operation: AluOperation
    type: ScalarType
    sources: tuple[SymbolicValue, ...]
    source_type: ScalarType | None = None


@dataclass(frozen=True, slots=True)
class ComparedValues:
    """A comparison in normal form: eq, lt or gt; `inverted` makes it the opposite."""

    comparison: Comparison
    type: ScalarType
    left: SymbolicValue
    right: SymbolicValue
    inverted: bool = False

    def opposite(self) -> ComparedValues:
        """The comparison that is true where this one is false."""
        return replace(self, inverted=not self.inverted)


@dataclass(frozen=True, slots=True)
class JoinedPredicates:
    """Two predicates: both must be true (`every`), or at least one."""

    every: bool
    parts: tuple[SymbolicValue, SymbolicValue]


@dataclass(frozen=True, slots=True)
class OpaqueValue:
    """The result of an unsupported instruction at `position`."""

    position: int
    opcode: str
    sources: tuple[SymbolicValue, ...] = ()


SymbolicValue = (
    Number
    | SymbolicAddress
    | GivenNumber
    | AnyNumber
    | ReadValue
    | ComputedValue
    | ComparedValues
    | JoinedPredicates
    | OpaqueValue
)

TRUE, FALSE = Number(1), Number(0)
NORMAL = (Comparison.EQ, Comparison.LT, Comparison.GT)  # the others are the opposite of one of these
NUMBERED = ("%tid.x", "%ctaid.x", "%laneid", "%warpid", "%smid")  # differ between threads


def compute(
    operation: AluOperation,
    type: ScalarType,
    sources: tuple[SymbolicValue, ...],
    source_type: ScalarType | None = None,
) -> SymbolicValue:
    """The result of an arithmetic instruction, computed as far as its sources are known."""
    if operation is AluOperation.MOV:
        return sources[0]
    if operation is AluOperation.CVT and not isinstance(sources[0], Number):
        same = source_type is not None and source_type.bits == type.bits
        return sources[0] if same else ComputedValue(operation, type, sources, source_type)
    if operation in (AluOperation.ADD, AluOperation.SUB) and isinstance(sources[0], SymbolicAddress):
        return _move_address(sources[0], operation, type, sources[1])
    if operation is AluOperation.ADD and isinstance(sources[1], SymbolicAddress):
        return _move_address(sources[1], operation, type, sources[0])
    if operation is AluOperation.ADD and sources[1] == Number(0):
        return sources[0]
    numbers = [source.value for source in sources if isinstance(source, Number)]
    if len(numbers) == len(sources):
        alu = Alu(operation, type, Register("r"), tuple(map(Immediate, numbers)), source_type)
        try:
            return Number(compute_value(alu, numbers))
        except CannotCompute:
            pass
    return ComputedValue(operation, type, sources, source_type)


def _move_address(
    address: SymbolicAddress, operation: AluOperation, type: ScalarType, distance: SymbolicValue
) -> SymbolicAddress:
    return SymbolicAddress(address.variable, compute(operation, type, (address.offset, distance)))


def compare(comparison: Comparison, type: ScalarType, left: SymbolicValue, right: SymbolicValue) -> SymbolicValue:
    """A comparison in normal form, or TRUE or FALSE if that is known."""
    inverted = comparison not in NORMAL
    comparison = comparison.opposite if inverted else comparison
    if comparison is Comparison.EQ:
        type = type.of_kind("s")  # equal bits are equal numbers
    if _must_swap(left, right):
        comparison, left, right = comparison.swapped, right, left
    if isinstance(left, Number) and isinstance(right, Number):
        return TRUE if compare_values(comparison, left.value, right.value, type) != inverted else FALSE
    if left == right:
        return TRUE if (comparison is Comparison.EQ) != inverted else FALSE
    return ComparedValues(comparison, type, left, right, inverted)


def _must_swap(left: SymbolicValue, right: SymbolicValue) -> bool:
    """Whether to swap the sides of a comparison: a number goes right, the earlier read goes left."""
    if isinstance(left, Number) or isinstance(right, Number):
        return isinstance(left, Number) and not isinstance(right, Number)
    if isinstance(left, ReadValue) and isinstance(right, ReadValue):
        return left.number > right.number
    return isinstance(right, ReadValue) and not isinstance(left, ReadValue)


def negate(predicate: SymbolicValue) -> SymbolicValue:
    """The opposite of a predicate."""
    match predicate:
        case Number(value=value):
            return FALSE if value else TRUE
        case ComparedValues():
            return predicate.opposite()
        case JoinedPredicates(every=every, parts=(one, other)):
            return JoinedPredicates(not every, (negate(one), negate(other)))
        case SymbolicAddress() | GivenNumber() | AnyNumber() | ReadValue() | ComputedValue() | OpaqueValue():
            return predicate


def join(every: bool, one: SymbolicValue, other: SymbolicValue) -> SymbolicValue:
    """Both predicates (`every`), or at least one of them."""
    for known, left in ((one, other), (other, one)):
        if isinstance(known, Number):
            return left if bool(known.value) == every else known
    return JoinedPredicates(every, (one, other))


def rebuild(value: SymbolicValue, change: Callable[[SymbolicValue], SymbolicValue]) -> SymbolicValue:
    """The value with other leaves, computed again."""
    match value:
        case ComputedValue():
            sources = tuple(rebuild(source, change) for source in value.sources)
            return compute(value.operation, value.type, sources, value.source_type)
        case ComparedValues():
            new = compare(value.comparison, value.type, rebuild(value.left, change), rebuild(value.right, change))
            return negate(new) if value.inverted else new
        case JoinedPredicates(every=every, parts=(one, other)):
            return join(every, rebuild(one, change), rebuild(other, change))
        case SymbolicAddress():
            return SymbolicAddress(value.variable, rebuild(value.offset, change))
        case Number() | GivenNumber() | AnyNumber() | ReadValue() | OpaqueValue():
            return change(value)


def find_opaque(value: SymbolicValue) -> OpaqueValue | None:
    """The first opaque part of a value."""
    match value:
        case OpaqueValue():
            return value
        case ComputedValue(sources=sources):
            return next((found for source in sources if (found := find_opaque(source)) is not None), None)
        case ComparedValues(left=left, right=right):
            return find_opaque(left) or find_opaque(right)
        case JoinedPredicates(parts=(one, other)):
            return find_opaque(one) or find_opaque(other)
        case Number() | SymbolicAddress() | GivenNumber() | AnyNumber() | ReadValue():
            return None


def list_leaves(value: SymbolicValue) -> list[SymbolicValue]:
    """The numbers, reads and opaque values that a value is computed from."""
    found: list[SymbolicValue] = []

    def keep(leaf: SymbolicValue) -> SymbolicValue:
        found.append(leaf)
        return leaf

    rebuild(value, keep)
    return found
