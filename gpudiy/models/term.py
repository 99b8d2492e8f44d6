"""Terms: the values of a thread that depend on what its reads return, kept as expressions until that is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpudiy.litmus.access import ScalarType
from gpudiy.litmus.comparison import Comparison
from gpudiy.litmus.condition import Value
from gpudiy.litmus.memory_types import wrap_value
from gpudiy.models.values import are_equal, compare

LARGE = 64  # operations; from here on a part that occurs twice is computed once

Function = Callable[[list[Value]], Value]


class ReadTerm:
    """What a read returns; reads have numbers: their positions among the events of the thread."""

    __slots__ = ("position", "reads", "size")

    def __init__(self, position: int) -> None:
        self.position = position
        self.reads = 1 << position  # the set of reads the value depends on
        self.size = 1

    def evaluate(self, values: Sequence[Value | None], start: int) -> Value:
        """The value, from the values of all events; those of this thread begin at `start`."""
        value = values[start + self.position]
        assert value is not None
        return value


class Applied:
    """A function of other values, some of them terms."""

    __slots__ = ("function", "operands", "reads", "size")

    def __init__(self, function: Function, operands: tuple[SymbolicValue, ...]) -> None:
        self.function = function
        self.operands = operands
        self.reads = 0
        self.size = 1
        for operand in operands:
            if isinstance(operand, (ReadTerm, Applied)):
                self.reads |= operand.reads
                self.size += operand.size

    def evaluate(self, values: Sequence[Value | None], start: int) -> Value:
        if self.size > LARGE:
            return self._evaluate_once(values, start, {})
        return self.function(
            [o.evaluate(values, start) if isinstance(o, (ReadTerm, Applied)) else o for o in self.operands]
        )

    def _evaluate_once(self, values: Sequence[Value | None], start: int, known: dict[Applied, Value]) -> Value:
        if self not in known:
            operands: list[Value] = []
            for operand in self.operands:
                if isinstance(operand, Applied):
                    operands.append(operand._evaluate_once(values, start, known))
                else:
                    operands.append(operand.evaluate(values, start) if isinstance(operand, ReadTerm) else operand)
            known[self] = self.function(operands)
        return known[self]


Term = ReadTerm | Applied
SymbolicValue = Value | Term


class Terms:
    """Makes terms; equal ones are the same object, and a function of plain values is computed at once."""

    def __init__(self) -> None:
        self._reads: dict[int, ReadTerm] = {}
        self._applied: dict[object, Applied] = {}
        self._negated: dict[Term, Term] = {}  # terms that are true where another one is not
        self._equalities: dict[Term, tuple[int, Value, int]] = {}

    def read(self, position: int) -> ReadTerm:
        return self._reads.setdefault(position, ReadTerm(position))

    def apply(self, name: object, function: Function, *operands: SymbolicValue) -> SymbolicValue:
        """`function` of the operands; functions with the same `name` must be equal."""
        if not any(isinstance(operand, (ReadTerm, Applied)) for operand in operands):
            return function(list(operands))  # type: ignore[arg-type]
        key = (name, operands)
        found = self._applied.get(key)
        if found is None:
            found = self._applied[key] = Applied(function, operands)
        return found

    def compare(
        self, comparison: Comparison, left: SymbolicValue, right: SymbolicValue, type: ScalarType
    ) -> SymbolicValue:
        """The result of setp, as 0 or 1."""
        if not comparison.equates:
            return self.apply((comparison, type), lambda v: int(compare(comparison, v[0], v[1], type)), left, right)
        equal = self.equal(left, right, type)
        if comparison is Comparison.EQ:
            return equal
        different = self.apply("not", lambda v: int(not v[0]), equal)
        if isinstance(different, Applied) and isinstance(equal, Applied):
            self._negated[different] = equal
        return different

    def equal(self, left: SymbolicValue, right: SymbolicValue, type: ScalarType) -> SymbolicValue:
        """Whether two values are equal, as 0 or 1: the same term for all comparisons of this width."""
        equal = self.apply(("equal", type.bits), lambda v: int(are_equal(v[0], v[1], type)), left, right)
        if isinstance(left, ReadTerm) and isinstance(equal, Applied) and not isinstance(right, (ReadTerm, Applied)):
            self._equalities[equal] = (left.position, wrap_value(right, type), type.bits)
        return equal

    def has_value(self, term: Term, value: Value) -> Term:
        """The term that says whether another one has this very value."""
        found = self.apply("value", lambda v: int(v[0] == v[1]), term, value)
        assert isinstance(found, Applied)
        return found

    def without_negation(self, term: Term) -> tuple[Term, bool]:
        """The term that a negated one is about, and whether it was negated."""
        inner = self._negated.get(term)
        return (term, False) if inner is None else (inner, True)

    def read_and_value(self, term: Term) -> tuple[int, Value, int] | None:
        """For a term that says that a read equals a plain value in so many bits: the read, the value, the bits."""
        return self._equalities.get(term)
