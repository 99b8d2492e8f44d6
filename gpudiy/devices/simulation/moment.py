"""Moments: the points in time that decide a run, which of them must come before which, and barriers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from graphlib import CycleError, TopologicalSorter

from gpudiy.devices.simulation.event import SimulatedEvent, SimulatedEventKind
from gpudiy.devices.simulation.program import SimulatedProgram


class MomentStage(Enum):
    """What happens to an event at a moment."""

    ISSUE = "issue"  # a load takes its value, a store enters the store buffer, an atomic happens, a thread arrives
    ARRIVE = "arrive"  # a store is in L2; a thread leaves a barrier
    SEEN = "seen"  # another thread can see a write
    FILL = "fill"  # L1 takes the line of a load from L2


class NeverEnds(Exception):
    """Threads wait for each other in a circle."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A stage of an event; `viewer` is the thread that can see a write, for SEEN."""

    number: int
    stage: MomentStage
    event: SimulatedEvent
    viewer: int = -1


@dataclass(slots=True)
class Timetable:
    """All moments of a program, and for each of them those that must come before it."""

    program: SimulatedProgram
    views: bool = False  # every thread has its own view of memory
    moments: list[Moment] = field(default_factory=list)
    before: list[set[int]] = field(default_factory=list)
    _numbers: dict[tuple[MomentStage, int, int], int] = field(default_factory=dict)

    def add(self, stage: MomentStage, event: SimulatedEvent, viewer: int = -1) -> int:
        number = len(self.moments)
        self.moments.append(Moment(number, stage, event, viewer))
        self.before.append(set())
        self._numbers[stage, event.number, viewer] = number
        return number

    def find(self, stage: MomentStage, event: SimulatedEvent, viewer: int = -1) -> int | None:
        return self._numbers.get((stage, event.number, viewer))

    def issue(self, event: SimulatedEvent) -> int:
        return self._numbers[MomentStage.ISSUE, event.number, -1]

    def time_performed(self, event: SimulatedEvent) -> int:
        """When the event has happened for all threads: a store when it is in L2, all else when it is issued."""
        if event.kind is SimulatedEventKind.WRITE:
            return self._numbers[MomentStage.ARRIVE, event.number, -1]
        return self.issue(event)

    def leave(self, barrier: SimulatedEvent) -> int:
        """When a thread leaves a barrier."""
        return self._numbers[MomentStage.ARRIVE, barrier.number, -1]

    def fill(self, load: SimulatedEvent) -> int:
        """When the line in which a load finds its value came into L1."""
        return self._numbers[MomentStage.FILL, load.number, -1]

    def order(self, earlier: int, later: int) -> None:
        self.before[later].add(earlier)

    def sort(self) -> list[int]:
        """The moments in an order that respects `before`; raises `NeverEnds` if there is none."""
        try:
            return list(TopologicalSorter(dict(enumerate(self.before))).static_order())
        except CycleError:
            raise NeverEnds("threads wait for each other at barriers in a circle") from None

    def ancestors(self) -> list[int]:
        """For each moment the set, as bits, of those that always come before it."""
        found = [0] * len(self.moments)
        for number in self.sort():
            for earlier in self.before[number]:
                found[number] |= found[earlier] | 1 << earlier
        return found


def order_accesses_and_barriers(program: SimulatedProgram) -> Timetable:
    """The moments of all accesses and barriers, and the order that barriers keep."""
    table = Timetable(program)
    for event in accesses(program.events):
        issue = table.add(MomentStage.ISSUE, event)
        if event.kind is SimulatedEventKind.WRITE:
            table.order(issue, table.add(MomentStage.ARRIVE, event))
    order_barriers(table)
    return table


def accesses(events: Iterable[SimulatedEvent]) -> list[SimulatedEvent]:
    """The events that access memory."""
    return [event for event in events if event.accesses]


def barriers_met_by(program: SimulatedProgram, barrier: SimulatedEvent) -> list[SimulatedEvent]:
    """The barriers of other threads of the CTA that this one waits for."""
    placements = program.placements
    return [
        other
        for other in program.events
        if other.kind is SimulatedEventKind.BARRIER
        and other.thread != barrier.thread
        and other.meeting == barrier.meeting
        and placements[other.thread].cta == placements[barrier.thread].cta
    ]


def order_barriers(table: Timetable) -> None:
    """What precedes a barrier happens before its thread arrives; what follows happens after it leaves."""
    program = table.program
    barriers = [event for event in program.events if event.kind is SimulatedEventKind.BARRIER]
    for barrier in barriers:
        table.add(MomentStage.ISSUE, barrier)
        table.order(table.issue(barrier), table.add(MomentStage.ARRIVE, barrier))
    for barrier in barriers:
        for source in barrier.dependencies:
            table.order(table.issue(program.events[source]), table.issue(barrier))
        for event in program.events:
            if event.kind is SimulatedEventKind.FENCE:
                continue
            if program.before(event, barrier):
                table.order(table.time_performed(event), table.issue(barrier))
                if event.waits:
                    table.order(table.leave(event), table.issue(barrier))
            elif program.before(barrier, event) and barrier.waits:
                table.order(table.leave(barrier), table.issue(event))
        if barrier.waits:
            for other in barriers_met_by(program, barrier):
                table.order(table.issue(other), table.leave(barrier))
