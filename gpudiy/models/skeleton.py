"""Skeletons: the events of one run of each thread, and all that is known of them before anything is chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations

from gpudiy.litmus.barrier_visit import BarrierVisit, UnclearRelease, find_endless_waits
from gpudiy.litmus.condition import Value
from gpudiy.litmus.instruction import Barrier
from gpudiy.litmus.memory_types import initial_memory
from gpudiy.litmus.test import Test
from gpudiy.models.algebra import algebra
from gpudiy.models.event import Event, EventKind, Trace
from gpudiy.models.event_sets import CACHE_SETS, SPACE_SETS, cache_of, scope_of, set_names
from gpudiy.models.problems import Undecidable


class EventSkeleton:
    """Events numbered 0, 1, …: the initial writes first, then each thread's in program order."""

    def __init__(self, test: Test, traces: Sequence[Trace]) -> None:
        self.test = test
        self.locations = tuple(dict.fromkeys(test.memory_map.locations().values()))
        self.events: list[Event] = [
            Event(EventKind.WRITE, -1, None, location, location, initial_memory(test, location))
            for location in self.locations
        ]
        self.starts: list[int] = []
        for trace in traces:
            self.starts.append(len(self.events))
            self.events += trace.events
        self.traces = traces
        self.algebra = algebra(len(self.events))
        self._sets: dict[str, int] = {}
        for number, event in enumerate(self.events):
            for name in set_names(event):
                self._sets[name] = self._sets.get(name, 0) | 1 << number

    def __reduce__(self) -> tuple[type[EventSkeleton], tuple[Test, Sequence[Trace]]]:
        return EventSkeleton, (self.test, self.traces)

    def static(self, name: str) -> int:
        """A set or relation that models can use, by its name."""
        if name == "_":
            return self.algebra.row
        if name in RELATIONS:
            return RELATIONS[name](self)
        if name in SPACE_SETS:
            space_of = self.test.memory_map.space_of
            return self._where(lambda event: bool(event.location) and space_of(event.location) is SPACE_SETS[name])
        if name in CACHE_SETS:
            return self._where(lambda event: cache_of(event) is CACHE_SETS[name])
        return self._sets.get(name, 0)

    def _where(self, belongs: Callable[[Event], bool]) -> int:
        return sum(1 << number for number, event in enumerate(self.events) if belongs(event))

    @cached_property
    def writes(self) -> dict[str, list[int]]:
        """The writes of each location, the initial one first."""
        found: dict[str, list[int]] = {location: [] for location in self.locations}
        for number, event in enumerate(self.events):
            if event.kind is EventKind.WRITE:
                found[event.location].append(number)
        return found

    @cached_property
    def reads(self) -> list[int]:
        return [number for number, event in enumerate(self.events) if event.kind is EventKind.READ]

    @cached_property
    def rmw_pairs(self) -> dict[int, int]:
        """The write of each read that has one."""
        return {
            start + read: start + write
            for start, t in zip(self.starts, self.traces, strict=True)
            for read, write in t.rmw
        }

    def _program_order(self) -> int:
        total = 0
        for start, trace in zip(self.starts, self.traces, strict=True):
            for offset in range(len(trace.events)):
                later = (1 << (start + len(trace.events))) - (1 << (start + offset + 1))
                total |= later << ((start + offset) * self.algebra.size)
        return total

    def _local(self, pairs: Callable[[Trace], Sequence[tuple[int, int]]]) -> int:
        return self.algebra.relation(
            (start + source, start + target)
            for start, trace in zip(self.starts, self.traces, strict=True)
            for source, target in pairs(trace)
        )

    def _same(self, key: Callable[[Event], object]) -> int:
        """Pairs of events that have the same key; events without one are in no pair."""
        groups: dict[object, int] = {}
        for number, event in enumerate(self.events):
            found = key(event)
            if found is not None:
                groups[found] = groups.get(found, 0) | 1 << number
        total = 0
        for group in groups.values():
            total |= self.algebra.product(group, group)
        return total

    def _level(self, level: int) -> int:
        placements = self.test.scope_tree.placements
        return self._same(lambda event: None if event.initial else placements[event.thread][level])

    def _relate_scopes(self) -> int:
        """Pairs of scoped events of which each scope includes the thread of the other."""
        tree = self.test.scope_tree
        scoped = [
            (number, event.thread, scope)
            for number, event in enumerate(self.events)
            if (scope := scope_of(event)) is not None
        ]
        return self.algebra.relation(
            (one, other)
            for one, thread, scope in scoped
            for other, other_thread, other_scope in scoped
            if tree.smallest_common_scope(thread, other_thread) <= min(scope, other_scope)
        )

    def releases(self) -> list[list[int]]:
        """For every barrier that waits, the ways in which arrivals release it, as parts of the relation syncbar.

        A barrier without a count meets all others of its CTA, instance and identifier; one with a count is released by
        any count - 1 others. Without a way it waits for ever. See `barrier_visit` for those of PTX.
        """
        barriers = [number for number, event in enumerate(self.events) if event.kind is EventKind.BARRIER]
        visits = [visit_of(self.events[number]) for number in barriers]
        try:
            endless = find_endless_waits(visits, [placement.cta for placement in self.test.scope_tree.placements])
        except UnclearRelease as problem:
            raise Undecidable(str(problem)) from None
        found = []
        for place, number in enumerate(barriers):
            event = self.events[number]
            if not visits[place].waits:
                continue
            others = [other for other in barriers if other != number and self._meets(event, self.events[other])]
            ways: Iterable[tuple[int, ...]] = [tuple(others)]
            if place in endless:
                ways = ()
            elif event.count is not None:
                ways = combinations(others, max(0, event.count - 1))
            found.append([self.algebra.relation((other, number) for other in way) for way in ways])
        return found

    def can_end(self, syncbar: int) -> bool:
        """Whether barriers that release each other so can all end: none waits, in the end, for itself."""
        a = self.algebra
        return not a.closure(a.compose(self.waiting_order, syncbar | a.identity)) & a.identity

    @cached_property
    def waiting_order(self) -> int:
        """Pairs of a barrier that waits and a later one of its thread, which is reached only when the first ends."""
        waiting = self._where(lambda event: isinstance(event.instruction, Barrier) and event.instruction.mode.waits)
        barriers = self.static(EventKind.BARRIER.value)
        return self._program_order() & self.algebra.product(waiting, barriers)

    def with_values(self, values: Sequence[Value]) -> tuple[Event, ...]:
        return tuple(
            event if event.value == value else replace(event, value=value)
            for event, value in zip(self.events, values, strict=True)
        )

    def _meets(self, one: Event, other: Event) -> bool:
        placements = self.test.scope_tree.placements
        return one.meeting == other.meeting and placements[one.thread].cta == placements[other.thread].cta


def visit_of(event: Event) -> BarrierVisit:
    """The visit that the event of a barrier is."""
    assert isinstance(event.instruction, Barrier)
    return BarrierVisit(event.thread, event.meeting, event.count, event.instruction.mode.waits)


def _thread(event: Event) -> int | None:
    return None if event.initial else event.thread


RELATIONS: dict[str, Callable[[EventSkeleton], int]] = {
    "po": EventSkeleton._program_order,
    "id": lambda s: s.algebra.identity,
    "loc": lambda s: s._same(lambda event: event.location or None),
    "vloc": lambda s: s._same(lambda event: s.test.memory_map.virtual_of(event.variable) if event.variable else None),
    "int": lambda s: s._same(_thread),
    "ext": lambda s: s.algebra.everything & ~s._same(_thread) & ~s.algebra.identity,
    "rmw": lambda s: s.algebra.relation(s.rmw_pairs.items()),
    "addr": lambda s: s._local(lambda trace: trace.address),
    "data": lambda s: s._local(lambda trace: trace.data),
    "ctrl": lambda s: s._local(lambda trace: trace.control),
    "scoped": EventSkeleton._relate_scopes,
    "same-warp": lambda s: s._level(0),
    "same-cta": lambda s: s._level(1),
    "same-cluster": lambda s: s._level(2),
    "same-kernel": lambda s: s._level(3),
    "same-gpu": lambda s: s._level(4),
}
