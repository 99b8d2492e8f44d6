"""What a register may hold while the code of a lock is followed: numbers, addresses, what is made of what was read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gpudiy.litmus.access import ScalarType
from gpudiy.litmus.instruction import Alu, AluOperation, Comparison, Immediate, Register
from gpudiy.models.trace import Undecidable, compare, computed


@dataclass(frozen=True, slots=True)
class Number:
    value: int


@dataclass(frozen=True, slots=True)
class Place:
    """An address: so many bytes behind the start of a variable."""

    variable: str
    offset: Value = Number(0)


@dataclass(frozen=True, slots=True)
class Given:
    """A number that a thread is given: a parameter of the lock, or a special register such as %tid.x."""

    name: str


@dataclass(frozen=True, slots=True)
class Read:
    """What an access read, by the number of that read along its path."""

    number: int
    bits: int = 32


@dataclass(frozen=True, slots=True)
class Computed:
    operation: AluOperation
    type: ScalarType
    sources: tuple[Value, ...]
    source_type: ScalarType | None = None


@dataclass(frozen=True, slots=True)
class Comparing:
    """A comparison, turned so that only eq, lt and gt are left; `inverted` stands for its contrary."""

    comparison: Comparison
    type: ScalarType
    left: Value
    right: Value
    inverted: bool = False


@dataclass(frozen=True, slots=True)
class Joined:
    """Two predicates, both of which (`every`) or one of which must be true."""

    every: bool
    parts: tuple[Value, Value]


@dataclass(frozen=True, slots=True)
class Opaque:
    """The result of an instruction that is followed no further; `position` is where it stands."""

    position: int
    opcode: str
    sources: tuple[Value, ...] = ()


Value = Number | Place | Given | Read | Computed | Comparing | Joined | Opaque

TRUE, FALSE = Number(1), Number(0)
CONTRARY = {Comparison.NE: Comparison.EQ, Comparison.GE: Comparison.LT, Comparison.LE: Comparison.GT}
MIRRORED = {Comparison.EQ: Comparison.EQ, Comparison.LT: Comparison.GT, Comparison.GT: Comparison.LT}


def compute(
    operation: AluOperation, type: ScalarType, sources: tuple[Value, ...], source_type: ScalarType | None = None
) -> Value:
    """The result of an instruction on registers, worked out as far as it is known."""
    if operation is AluOperation.MOV:
        return sources[0]
    if operation is AluOperation.CVT and not isinstance(sources[0], Number):
        return sources[0] if source_type is not None and source_type.bits == type.bits else Computed(
            operation, type, sources, source_type
        )  # fmt: skip
    if operation in (AluOperation.ADD, AluOperation.SUB) and isinstance(sources[0], Place):
        return _moved(sources[0], operation, type, sources[1])
    if operation is AluOperation.ADD and isinstance(sources[1], Place):
        return _moved(sources[1], operation, type, sources[0])
    if operation is AluOperation.ADD and sources[1] == Number(0):
        return sources[0]
    if all(isinstance(source, Number) for source in sources):
        numbers: list[int] = [source.value for source in sources if isinstance(source, Number)]
        alu = Alu(operation, type, Register("r"), tuple(map(Immediate, numbers)), source_type)
        try:
            result = computed(alu, list(numbers))
        except Undecidable:
            return Computed(operation, type, sources, source_type)
        assert isinstance(result, int)
        return Number(result)
    return Computed(operation, type, sources, source_type)


def _moved(place: Place, operation: AluOperation, type: ScalarType, distance: Value) -> Place:
    return Place(place.variable, compute(operation, type, (place.offset, distance)))


def comparing(comparison: Comparison, type: ScalarType, left: Value, right: Value) -> Value:
    """A comparison in its one form, or the truth if it is known."""
    inverted = comparison in CONTRARY
    comparison = CONTRARY.get(comparison, comparison)
    if comparison is Comparison.EQ:
        type = type.of_kind("s")  # equal bits are equal numbers
    if _later(left, right):
        comparison, left, right = MIRRORED[comparison], right, left
    if isinstance(left, Number) and isinstance(right, Number):
        return TRUE if compare(comparison, left.value, right.value, type) != inverted else FALSE
    if left == right:
        return TRUE if (comparison is Comparison.EQ) != inverted else FALSE
    return Comparing(comparison, type, left, right, inverted)


def _later(left: Value, right: Value) -> bool:
    """Whether the sides of a comparison change places: numbers stand right, what was read first stands left."""
    if isinstance(left, Number) or isinstance(right, Number):
        return isinstance(left, Number) and not isinstance(right, Number)
    if isinstance(left, Read) and isinstance(right, Read):
        return left.number > right.number
    return isinstance(right, Read) and not isinstance(left, Read)


def negated(predicate: Value) -> Value:
    match predicate:
        case Number(value=value):
            return FALSE if value else TRUE
        case Comparing():
            return Comparing(
                predicate.comparison, predicate.type, predicate.left, predicate.right, not predicate.inverted
            )
        case Joined(every=every, parts=(one, other)):
            return Joined(not every, (negated(one), negated(other)))
        case Place() | Given() | Read() | Computed() | Opaque():
            return predicate


def joined(every: bool, one: Value, other: Value) -> Value:
    """Both predicates, or one of the two."""
    for known, left in ((one, other), (other, one)):
        if isinstance(known, Number):
            return left if bool(known.value) == every else known
    return Joined(every, (one, other))


def rebuilt(value: Value, change: Callable[[Value], Value]) -> Value:
    """The value with its leaves changed, worked out anew."""
    match value:
        case Computed():
            sources = tuple(rebuilt(source, change) for source in value.sources)
            return compute(value.operation, value.type, sources, value.source_type)
        case Comparing():
            new = comparing(value.comparison, value.type, rebuilt(value.left, change), rebuilt(value.right, change))
            return negated(new) if value.inverted else new
        case Joined(every=every, parts=(one, other)):
            return joined(every, rebuilt(one, change), rebuilt(other, change))
        case Place():
            return Place(value.variable, rebuilt(value.offset, change))
        case Number() | Given() | Read() | Opaque():
            return change(value)


def reads_of(value: Value) -> frozenset[int]:
    """The numbers of the reads that a value is made of."""
    match value:
        case Read(number=number):
            return frozenset((number,))
        case Computed(sources=sources) | Opaque(sources=sources):
            return frozenset().union(*map(reads_of, sources))
        case Comparing(left=left, right=right):
            return reads_of(left) | reads_of(right)
        case Joined(parts=(one, other)):
            return reads_of(one) | reads_of(other)
        case Place(offset=offset):
            return reads_of(offset)
        case Number() | Given():
            return frozenset()


def opaque_in(value: Value) -> Opaque | None:
    """The first part of a value that is followed no further."""
    match value:
        case Opaque():
            return value
        case Computed(sources=sources):
            return next((found for source in sources if (found := opaque_in(source)) is not None), None)
        case Comparing(left=left, right=right):
            return opaque_in(left) or opaque_in(right)
        case Joined(parts=(one, other)):
            return opaque_in(one) or opaque_in(other)
        case Number() | Place() | Given() | Read():
            return None
