"""Combinations: one path for each thread, what each read may read from, and what must be true of the values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import NamedTuple

from gpudiy.litmus.access import ScalarType
from gpudiy.litmus.condition import Expression, FinalRegister, Value, holds
from gpudiy.litmus.dependencies import list_reads
from gpudiy.litmus.memory_types import show_value
from gpudiy.litmus.test import Test
from gpudiy.models.algebra import Algebra
from gpudiy.models.model import Model, Slots, Stage
from gpudiy.models.path import Path
from gpudiy.models.problems import Undecidable
from gpudiy.models.skeleton import EventSkeleton
from gpudiy.models.support import check_supported
from gpudiy.models.term import Applied, ReadTerm, SymbolicValue

Values = list[Value | None]  # of all events, None where it is not known yet


class Requirement(NamedTuple):
    """Something that must be true of what some reads return."""

    reads: tuple[int, ...]
    holds: Callable[[Values], bool]
    expression: Expression | None = None  # about final registers, if it comes from what a test asks


class Placed:
    """A value of a thread: a term with where the events of its thread begin, and the type in which it is shown."""

    __slots__ = ("reads", "start", "type", "value")

    def __init__(self, value: SymbolicValue, start: int, type: ScalarType | None = None) -> None:
        self.value = value
        self.start = start
        self.type = type
        is_term = isinstance(value, (ReadTerm, Applied))
        self.reads = [start + read for read in list_reads(value.reads)] if is_term else []  # type: ignore[union-attr]

    def evaluate(self, values: Values) -> Value:
        value = self.value
        if isinstance(value, (ReadTerm, Applied)):
            value = value.evaluate(values, self.start)
        return value if self.type is None else show_value(value, self.type)


class Combination:
    """The events of one path for each thread, the initial writes first."""

    def __init__(self, initial: dict[str, Value], paths: Sequence[Path]) -> None:
        self.paths = tuple(paths)
        self.starts: list[int] = []
        self.values: Values = list(initial.values())
        self.rmw: dict[int, int] = {}  # the write of each read that has one
        self.writes: dict[str, list[int]] = {location: [event] for event, location in enumerate(initial)}
        self.terms: dict[int, Placed] = {}  # of writes whose value depends on reads
        reads: list[tuple[int, str]] = []
        start = len(self.values)
        for path in paths:
            self.starts.append(start)
            self.values += [None if isinstance(value, (ReadTerm, Applied)) else value for value in path.values]
            for position in path.writes:
                event, value = start + position, path.values[position]
                self.writes[path.trace.events[position].location].append(event)
                if self.values[event] is None:
                    self.terms[event] = Placed(value, start)
            self.rmw.update((start + read, start + write) for read, write in path.trace.rmw)
            reads += [(start + read, path.trace.events[read].location) for read in path.reads]
            start += len(path.trace.events)
        self.sources: dict[int, list[int]] = {}  # what each read may read from
        for read, location in reads:
            own = self.rmw.get(read)
            self.sources[read] = [write for write in self.writes[location] if write != own]
        self.requirements: list[Requirement] = []
        self.problem: str | None = None  # a value that has no meaning, if one was met
        for path, start in zip(paths, self.starts, strict=True):
            for constraint in path.constraints:
                self._require_path(Placed(constraint.term, start), constraint.expected)

    def _require_path(self, placed: Placed, expected: bool) -> None:
        self.requirements.append(
            Requirement(tuple(placed.reads), lambda values: bool(placed.evaluate(values)) is expected)
        )

    def require_state(self, expression: Expression, finals: dict[FinalRegister, Placed]) -> None:
        """Require an expression about final registers."""
        reads = tuple(dict.fromkeys(read for placed in finals.values() for read in placed.reads))
        self.requirements.append(
            Requirement(
                reads,
                lambda values: holds(expression, lambda term: finals[term].evaluate(values)),  # type: ignore[index]
                expression,
            )
        )

    def satisfies(self, requirement: Requirement, values: Values) -> bool:
        """Whether it holds; a value without a meaning is remembered and satisfies nothing."""
        try:
            return requirement.holds(values)
        except Undecidable as problem:
            self.problem = str(problem)
            return False

    def narrow(self) -> bool:
        """Leave only sources whose value a read can have; whether every read has one, and all certain values fit.

        A requirement about one read whose sources all have known values is then met, and is dropped.
        """
        values = self.values
        left = []
        for requirement in self.requirements:
            if not requirement.reads:
                if not self.satisfies(requirement, values):
                    return False
                continue
            if len(requirement.reads) > 1:
                left.append(requirement)
                continue
            (read,) = requirement.reads
            known: dict[Value, bool] = {}
            kept = []
            certain = True
            for write in self.sources[read]:
                value = values[write]
                if value is None:
                    certain = False
                elif value not in known:
                    values[read] = value
                    known[value] = self.satisfies(requirement, values)
                    values[read] = None
                if value is None or known[value]:
                    kept.append(write)
            if not kept:
                return False
            self.sources[read] = kept
            if not certain:
                left.append(requirement)
        self.requirements = left
        return True


def compute_values(combination: Combination, sources: dict[int, int], values: Values) -> None:
    """Fill in the values that follow from what each read reads from."""
    changed = True
    while changed:
        changed = False
        for read, write in sources.items():
            if values[read] is None and values[write] is not None:
                values[read] = values[write]
                changed = True
        for write, placed in combination.terms.items():
            if values[write] is None and all(values[read] is not None for read in placed.reads):
                values[write] = placed.evaluate(values)
                changed = True


@dataclass(frozen=True, slots=True)
class Prepared:
    """A combination with its skeleton, what depends on its events alone, and what there is to choose."""

    combination: Combination
    skeleton: EventSkeleton
    slots: Slots
    releases: list[list[int]]  # for every barrier that waits, what may release it
    orders: list[tuple[int, list[tuple[int, int]]]]  # slots, and the pairs that are oriented
    co: int  # the pairs that coherence certainly has
    co_pairs: list[tuple[int, int]]  # pairs of writes that coherence orders one way or the other
    comparable: int  # all pairs that coherence may have

    @property
    def algebra(self) -> Algebra:
        return self.skeleton.algebra


def prepare(test: Test, model: Model, combination: Combination, alike: Iterable[tuple[int, int]]) -> Prepared | None:
    """None if the events alone are forbidden, or a barrier is never released.

    `alike` are pairs of interchangeable threads on the same path: the first is before the second in coherence.
    """
    skeleton = EventSkeleton(test, [path.trace for path in combination.paths])
    a, plan = skeleton.algebra, model.plan
    slots = [0] * model.slots
    for name, slot in model.inputs.items():
        slots[slot] = skeleton.static(name)
    forbidden = plan.stages[Stage.EVENTS](a, slots) is not None
    check_supported(model, skeleton, slots)
    releases = skeleton.releases()
    if forbidden or not all(releases):
        return None
    if all(len(ways) == 1 for ways in releases) and not skeleton.can_end(
        reduce(or_, [ways[0] for ways in releases], 0)
    ):
        return None
    orders = []
    for order, oriented in model.orders:
        both = slots[oriented] & ~a.identity
        orders.append((order, [(one, other) for one, other in a.pairs(both | a.inverse(both)) if one < other]))
    required = 0
    for slot in plan.coherence.ordered:
        required |= slots[slot] | a.inverse(slots[slot])
    co = comparable = 0
    pairs: list[tuple[int, int]] = []
    for initial, *others in combination.writes.values():
        row = sum(1 << write for write in others)
        co |= row << (initial * a.size)
        for index, other in enumerate(others):
            comparable |= (row & ~(1 << other)) << (other * a.size)
            for one in others[:index]:
                if plan.coherence.total or plan.coherence.every or required >> (one * a.size + other) & 1:
                    pairs.append((one, other))
    if not plan.coherence.every:
        for one, other in alike:
            co = _put_in_order(combination, co, pairs, one, other, a)
    return Prepared(combination, skeleton, slots, releases, orders, co, pairs, comparable | co)


def _put_in_order(
    combination: Combination, co: int, pairs: list[tuple[int, int]], one: int, other: int, a: Algebra
) -> int:
    """Coherence with the first write of one thread before that of another, if coherence orders them at all."""
    for position in combination.paths[one].writes:
        first, second = combination.starts[one] + position, combination.starts[other] + position
        if (first, second) in pairs:
            return a.add_ordered(co, first, second)
    return co
