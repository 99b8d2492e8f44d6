"""Moments: the points in time that make a run what it is, and which of them must come before which."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from graphlib import CycleError, TopologicalSorter

from gpudiy.devices.simulation.event import Event, Kind
from gpudiy.devices.simulation.program import Program


class Stage(Enum):
    ISSUE = "issue"  # a load takes its value, a store enters the store buffer, an atomic happens, a thread arrives
    ARRIVE = "arrive"  # a store is in L2; a thread leaves a barrier
    SEEN = "seen"  # another thread can see a write


class NeverEnds(Exception):
    """Threads wait for each other in a circle."""


@dataclass(frozen=True, slots=True)
class Moment:
    number: int
    stage: Stage
    event: Event
    viewer: int = -1


@dataclass(slots=True)
class Timetable:
    """All moments of a program, and for each of them those that must come before it."""

    program: Program
    views: bool = False  # every thread has its own view of memory
    moments: list[Moment] = field(default_factory=list)
    before: list[set[int]] = field(default_factory=list)
    _numbers: dict[tuple[Stage, int, int], int] = field(default_factory=dict)

    def add(self, stage: Stage, event: Event, viewer: int = -1) -> int:
        number = len(self.moments)
        self.moments.append(Moment(number, stage, event, viewer))
        self.before.append(set())
        self._numbers[stage, event.number, viewer] = number
        return number

    def find(self, stage: Stage, event: Event, viewer: int = -1) -> int | None:
        return self._numbers.get((stage, event.number, viewer))

    def issue(self, event: Event) -> int:
        return self._numbers[Stage.ISSUE, event.number, -1]

    def performed(self, event: Event) -> int:
        """When the event has happened for everybody: stores are late, all else happens when it is issued."""
        if event.kind is Kind.WRITE:
            return self._numbers[Stage.ARRIVE, event.number, -1]
        return self.issue(event)

    def left(self, barrier: Event) -> int:
        return self._numbers[Stage.ARRIVE, barrier.number, -1]

    def order(self, earlier: int, later: int) -> None:
        self.before[later].add(earlier)

    def sorted(self) -> list[int]:
        """The moments so that each comes behind those it must come behind."""
        try:
            return list(TopologicalSorter(dict(enumerate(self.before))).static_order())
        except CycleError:
            raise NeverEnds("threads wait for each other at barriers in a circle") from None

    def ancestors(self) -> list[int]:
        """For each moment the set, as bits, of those that always come before it."""
        found = [0] * len(self.moments)
        for number in self.sorted():
            for earlier in self.before[number]:
                found[number] |= found[earlier] | 1 << earlier
        return found


def accesses(events: Iterable[Event]) -> list[Event]:
    return [event for event in events if event.accesses]
