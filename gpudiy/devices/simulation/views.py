"""Memory of many views: what each thread can see, what L2 has, and what synchronisation carries from thread to thread.

Sets of writes are bits of an int, by the number of the event. Each write has a set `older`, which only grows: writes
of the same location that its thread wrote or knew before, and, for a strong write, all strong writes that reached L2
before it. A read returns a write of its view that is older than no other write there. A release carries all writes that
its thread wrote, strongly read or knew before; an acquire that synchronises with it makes them known to its thread, and
brings to L2 those that are not there yet.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpudiy.devices.simulation.event import SimulatedEvent, SimulatedEventKind
from gpudiy.devices.simulation.many_views import may_synchronise, mutual
from gpudiy.devices.simulation.moment import Timetable, barriers_met_by
from gpudiy.devices.simulation.replay import Replay, Request


class ManyViews(Replay):
    """L2, and what each thread can see; synchronisation makes writes known to other threads."""

    def __init__(self, table: Timetable) -> None:
        super().__init__(table)
        program = self.program
        events = program.events
        threads = range(len(program.placements))
        self.strong = _bits(event.number for event in events if event.writes and event.strong)
        self.preceding = [_bits(e.number for e in events if program.before(e, event)) for event in events]
        self.of_thread = [_bits(e.number for e in events if e.thread == thread) for thread in threads]
        self.morally = [
            _bits(r.number for r in events if r.thread == event.thread or mutual(program, event, r)) for event in events
        ]
        self.completing = [self._acquires_of(event) if event.strong_read else [] for event in events]
        self.publishing = [self._releases_of(event) if event.writes and event.strong else [] for event in events]
        self.partners = {
            one.number: _bits(
                other.number for other in events if other.thread != one.thread and may_synchronise(program, one, other)
            )
            for one in events
            if one.releases
        }
        self.sequential = [event for event in events if event.sequential]
        self.meetings = {event.number: barriers_met_by(program, event) for event in events if event.waits}

    def _acquires_of(self, read: SimulatedEvent) -> list[SimulatedEvent]:
        """The acquires that complete a strong read: itself, a later one of its location, a later fence."""
        return [
            event
            for event in self.program.events
            if event.acquires
            and (event is read or self.program.before(read, event))
            and (event.kind is SimulatedEventKind.FENCE or event.may_meet(read))
        ]

    def _releases_of(self, write: SimulatedEvent) -> list[SimulatedEvent]:
        return [
            event
            for event in self.program.events
            if event.releases
            and (event is write or self.program.before(event, write))
            and (event.kind is SimulatedEventKind.FENCE or event.may_meet(write))
        ]

    def _start(self) -> None:
        count = len(self.program.events)
        threads = range(len(self.program.placements))
        self.at: list[int] = [0 for _ in self.program.locations]  # the writes of each location so far
        self.written_value: dict[int, int] = {}
        self.location: dict[int, int] = {}
        self.older = [0] * count
        self.in_l2 = 0
        self.last_in_l2: list[int | None] = [None for _ in self.program.locations]
        self.view = [0 for _ in threads]
        self.sight: list[dict[int, int]] = [{} for _ in threads]  # when a thread came to see a write
        self.now = 0
        self.issued: dict[int, int] = {}
        self.written = 0  # the writes that were issued
        self.informing = 0  # the acquires that made something known
        self.observing = 0  # the reads that strongly observed something
        self.learned = [0] * count  # by acquire: the writes it makes known to later events
        self.observed = [0] * count  # by read: the writes it strongly observes
        self.carried: list[dict[int, int]] = [{} for _ in range(count)]  # by write: what each of its releases carries
        self.gathered: dict[int, int] = {}  # by fence.sc or barrier: the writes it passes on

    def _memory(self) -> list[int]:
        return [
            initial if last is None else self.written_value[last]
            for initial, last in zip(self.program.initial, self.last_in_l2, strict=True)
        ]

    def _issue(self, event: SimulatedEvent, request: Request) -> None:
        self.now += 1
        if event.kind is SimulatedEventKind.BARRIER:
            self.gathered[event.number] = self._list_known(event)
            return
        if event.kind is SimulatedEventKind.FENCE:
            self._fence(event)
            return
        source: int | None = None
        if event.kind is SimulatedEventKind.ATOMIC:
            source = self.last_in_l2[request.location]
            self._read(event, request, source)
        elif event.kind is SimulatedEventKind.READ:
            source = self._choose_seen(event, request.location)
            self._read(event, request, source)
        if event.writes:
            written = self._compute_written(event, request, self.values.get(event.number, 0))
            if written is not None:
                self._write(event, request.location, written, source)

    def _arrive(self, event: SimulatedEvent) -> None:
        self.now += 1
        if event.kind is SimulatedEventKind.BARRIER:
            for other in self.meetings.get(event.number, []):
                self._make_known(event, self.gathered.get(other.number, 0))
        elif event.number in self.location:
            self._bring_to_l2(event.number)

    def _become_visible(self, event: SimulatedEvent, viewer: int) -> None:
        self.now += 1
        if event.number in self.location:
            self.view[viewer] |= 1 << event.number
            self.sight[viewer].setdefault(event.number, self.now)

    def _fill(self, event: SimulatedEvent) -> None:
        """Nothing happens: what is stale in L1 is what a thread cannot see yet."""

    def _read(self, event: SimulatedEvent, request: Request, source: int | None) -> None:
        location = request.location
        if source is None:
            self.values[event.number] = self.program.initial[location]
            return
        self.values[event.number] = self.written_value[source]
        self.view[event.thread] |= 1 << source
        if not self.morally[source] >> event.number & 1:
            return
        self.observed[event.number] = 1 << source | self.observed[source]
        self.observing |= 1 << event.number
        for release, carries in self.carried[source].items():
            for acquire in self.completing[event.number]:
                if self.partners[release] >> acquire.number & 1:
                    self._make_known(acquire, carries)

    def _write(self, event: SimulatedEvent, location: int, written: int, source: int | None) -> None:
        number = event.number
        self.written_value[number] = written
        self.location[number] = location
        self.issued[number] = self.now
        self.written |= 1 << number
        here = self.at[location]
        knows = self._list_known(event) | (0 if source is None else 1 << source)
        self.older[number] = self._add_older(knows & here)
        self.at[location] = here | 1 << number
        self.view[event.thread] |= 1 << number
        self.sight[event.thread][number] = self.now
        for release in self.publishing[number]:
            if (
                release is event
                or release.kind is SimulatedEventKind.FENCE
                or self.location.get(release.number) == location
            ):
                carries = self._list_known(release) | self.learned[release.number]
                if release.writes and release.number in self.location:
                    carries |= 1 << release.number
                self.carried[number][release.number] = carries | (self.observed[number] if release is event else 0)
        if event.kind is SimulatedEventKind.ATOMIC:
            self._bring_to_l2(number)
            if source is not None and self.morally[source] >> number & 1:
                for release_number, carries in self.carried[source].items():
                    known = self.carried[number].get(release_number, 0)
                    self.carried[number][release_number] = known | carries

    def _fence(self, fence: SimulatedEvent) -> None:
        """fence.sc: gets to know all that earlier fences gathered, if the scopes include each other."""
        for other in self.sequential:
            gathered = self.gathered.get(other.number)
            if gathered is not None and other.thread != fence.thread and self.morally[fence.number] >> other.number & 1:
                self._make_known(fence, gathered)
        self.gathered[fence.number] = self._list_known(fence) | self.learned[fence.number]

    def _make_known(self, acquire: SimulatedEvent, writes: int) -> None:
        self.learned[acquire.number] |= writes
        self.informing |= 1 << acquire.number
        for number in sorted(_members(writes & ~self.in_l2), key=self.issued.__getitem__):
            self._bring_to_l2(number)

    def _list_known(self, event: SimulatedEvent) -> int:
        """The writes before the event: those of its thread, those it observed, and those made known to it."""
        preceding = self.preceding[event.number]
        found = self.written & preceding
        for number in _members(self.observing & preceding):
            found |= self.observed[number]
        for number in _members(self.informing & preceding):
            found |= self.learned[number]
        return found

    def _bring_to_l2(self, number: int) -> None:
        if self.in_l2 >> number & 1:
            return
        location = self.location[number]
        own = self.of_thread[self.program.events[number].thread] & self.preceding[number] & self.at[location]
        for earlier in _members(own & ~self.in_l2):
            self._bring_to_l2(earlier)
        self.older[number] = self._older_now(number)
        self.in_l2 |= 1 << number
        self.last_in_l2[location] = number

    def _older_now(self, number: int) -> int:
        """The writes older than this one, if it were the next to reach L2."""
        older = self.older[number]
        if not self.in_l2 >> number & 1:
            if self.strong >> number & 1:
                older |= self.at[self.location[number]] & self.in_l2 & self.strong
            older = self._add_older(older)
        return older

    def _add_older(self, writes: int) -> int:
        found = writes
        for number in _members(writes):
            found |= self.older[number]
        return found

    def _choose_seen(self, read: SimulatedEvent, location: int) -> int | None:
        """The write that a load returns: older than no other visible one, and of those the last to become visible."""
        thread = read.thread
        visible = (self.view[thread] | self._list_known(read)) & self.at[location]
        covered = 0
        for number in _members(visible):
            covered |= self._older_now(number)
        sight = self.sight[thread]
        newest = list(_members(visible & ~covered))
        return max(newest, key=lambda number: (sight.get(number, 0), self.issued[number])) if newest else None


def _bits(numbers: Iterator[int]) -> int:
    found = 0
    for number in numbers:
        found |= 1 << number
    return found


def _members(writes: int) -> Iterator[int]:
    while writes:
        low = writes & -writes
        yield low.bit_length() - 1
        writes ^= low
