"""Paths: the ways control can take through a thread; what its reads return stays open."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from gpudiy.litmus.condition import Value
from gpudiy.litmus.dependencies import Dependencies, DependencyState, list_reads
from gpudiy.litmus.instruction import Atomic, Load, Reduce
from gpudiy.models.event import Event, EventKind, Trace
from gpudiy.models.term import SymbolicValue, Term, Terms


class PathConstraint(NamedTuple):
    """A term that must be true, or false, for control to go this way; it is decided before event number `before`."""

    term: Term
    expected: bool
    before: int


class Doubt(NamedTuple):
    """A term that a run could not go on without: it must have one of `values`, or the test has no meaning."""

    term: Term
    values: frozenset[Value]
    locations: tuple[str, ...]  # of the events before
    constraints: tuple[PathConstraint, ...]  # what was decided before
    thread: int
    use: str


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """One way through a thread. What a read returns is a term among `values`, as all that depends on it is."""

    trace: Trace
    values: tuple[SymbolicValue, ...]  # of each event
    constraints: tuple[PathConstraint, ...]
    finals: dict[str, SymbolicValue]  # what each register holds in the end
    reads: tuple[int, ...]  # positions among the events, as everywhere
    writes: tuple[int, ...]
    number: int  # among the paths of its thread


@dataclass(slots=True)
class ThreadRun:
    """A thread on its way along a path."""

    position: int
    registers: dict[str, SymbolicValue]
    depends: DependencyState = field(default_factory=DependencyState)  # reads are numbered as their events are
    events: list[Event] = field(default_factory=list)
    values: list[SymbolicValue] = field(default_factory=list)
    address: list[tuple[int, int]] = field(default_factory=list)
    data: list[tuple[int, int]] = field(default_factory=list)
    control: list[tuple[int, int]] = field(default_factory=list)
    rmw: list[tuple[int, int]] = field(default_factory=list)
    constraints: list[PathConstraint] = field(default_factory=list)
    decided: dict[Term, bool] = field(default_factory=dict)
    fixed: list[Value | None] = field(default_factory=list)  # what reads must return on this path, by position
    fixed_reads: int = 0
    visits: dict[int, int] = field(default_factory=dict)  # how often the thread was at each instruction
    meetings: dict[tuple[int, int], int] = field(default_factory=dict)
    heads: dict[int, object] = field(default_factory=dict)  # how the thread last came to the head of a loop
    marks: int = 0  # writes and barriers so far

    def copy(self) -> ThreadRun:
        return ThreadRun(
            self.position, dict(self.registers), self.depends.copy(), list(self.events), list(self.values),
            list(self.address), list(self.data), list(self.control), list(self.rmw), list(self.constraints),
            dict(self.decided), list(self.fixed), self.fixed_reads, dict(self.visits), dict(self.meetings),
            dict(self.heads), self.marks,
        )  # fmt: skip

    def finish(self, number: int) -> Path:
        reads, writes = (
            tuple([index for index, event in enumerate(self.events) if event.kind is kind])
            for kind in (EventKind.READ, EventKind.WRITE)
        )
        return Path(
            Trace(tuple(self.events), tuple(self.address), tuple(self.data), tuple(self.control), tuple(self.rmw)),
            tuple(self.values), tuple(self.constraints), self.registers, reads, writes, number,
        )  # fmt: skip

    def add(self, event: Event, value: SymbolicValue, depends: Dependencies) -> int:
        """Append an event; control reaches it from all that decided that it runs."""
        position = len(self.events)
        self.events.append(event)
        self.values.append(value)
        if depends.guard or depends.branches:
            self.control += [(source, position) for source in list_reads(depends.control)]
        if depends.address:
            self.address += [(source, position) for source in list_reads(depends.address)]
        if depends.data and event.kind is not EventKind.READ:
            self.data += [(source, position) for source in list_reads(depends.data)]
        return position

    def truth(self, term: Term) -> bool | None:
        """Whether a term is true, if what was decided before says so."""
        if term not in self.decided and not term.reads & ~self.fixed_reads:
            self.decided[term] = bool(term.evaluate(self.fixed, 0))
        return self.decided.get(term)

    def require(self, term: Term, expected: bool, terms: Terms) -> None:
        """Go on where a term is true, or false; a read that must equal a plain value is known from here on."""
        self.decided[term] = expected
        self.constraints.append(PathConstraint(term, expected, len(self.events)))
        known = terms.read_and_value(term) if expected else None
        if known is not None:
            position, value, bits = known
            instruction = self.events[position].instruction
            assert isinstance(instruction, (Load, Atomic, Reduce))
            if instruction.access.type.bits == bits:
                self.fixed += [None] * (position + 1 - len(self.fixed))
                self.fixed[position] = value
                self.fixed_reads |= 1 << position
