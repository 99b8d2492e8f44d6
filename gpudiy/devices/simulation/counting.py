"""Counting: instances that agree in every order of moments that matters are replayed once."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING

from gpudiy.devices.simulation.event import SimulatedEvent, SimulatedEventKind
from gpudiy.devices.simulation.moment import Moment, MomentStage, Timetable
from gpudiy.devices.simulation.replay import Replay
from gpudiy.litmus.condition import FinalVariable
from gpudiy.litmus.outcome import Outcome

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gpudiy.devices.simulation.clock import Times

DENSE_BITS = 16  # up to this number of bits all codes are counted in one array
WORD_BITS = 63


class CodeCounter:
    """Counts the outcomes of instances; an order of moments is replayed only the first time."""

    def __init__(self, table: Timetable, replay: Replay) -> None:
        self.replay = replay
        self.pairs = list(deciding_pairs(table))
        self.known: dict[int, Outcome | None] = {}

    def codes(self, times: list[Times], size: int) -> NDArray[np.int64]:
        """For each instance a number that encodes the order of all deciding pairs.

        With more pairs than bits the bits are hashed: two orders then share a number about once in 2^63.
        """
        import numpy as np

        codes = np.zeros(size, np.int64)
        weights = _weights(len(self.pairs))
        for (one, other), weight in zip(self.pairs, weights, strict=True):
            codes += (times[one] < times[other]) * np.int64(weight)
        return codes

    def count(self, times: list[Times], codes: NDArray[np.int64]) -> dict[int, int]:
        """How often each code occurs; afterwards `known` has its outcome."""
        import numpy as np

        if len(self.pairs) <= DENSE_BITS:
            counts = np.bincount(codes, minlength=1 << len(self.pairs))
            found = np.flatnonzero(counts)
            numbers = counts[found]
            new = [int(code) for code in found if int(code) not in self.known]
            if new:
                first = np.full(len(counts), -1, np.int64)
                first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
                self._replay(times, {code: int(first[code]) for code in new})
        else:
            found, places, numbers = np.unique(codes, return_index=True, return_counts=True)
            fresh = [(int(c), int(place)) for c, place in zip(found, places, strict=True) if int(c) not in self.known]
            self._replay(times, dict(fresh))
        return {int(code): int(number) for code, number in zip(found, numbers, strict=True)}

    def _replay(self, times: list[Times], places: dict[int, int]) -> None:
        import numpy as np

        if not places:
            return
        chosen = list(places.values())
        rows = np.array([time[chosen] for time in times]).reshape(len(times), len(chosen)).T.tolist()
        for code, row in zip(places, rows, strict=True):
            self.known[code] = self.replay.outcome(row)


def _weights(count: int) -> list[int]:
    """Powers of two; for too many pairs, fixed odd numbers spread over the word."""
    if count <= WORD_BITS:
        return [1 << bit for bit in range(count)]
    weights, state = [], 0x9E3779B97F4A7C15
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        weights.append(((state ^ state >> 29) | 1) - (1 << 63) | 1)
    return weights


def deciding_pairs(table: Timetable) -> Iterator[tuple[int, int]]:
    """Pairs of moments whose order may decide an outcome and is not always the same."""
    ancestors = table.ancestors()
    decides = _Decider(table)
    for one, other in combinations(table.moments, 2):
        always = ancestors[one.number] >> other.number & 1 or ancestors[other.number] >> one.number & 1
        if not always and (decides(one, other) or decides(other, one)):
            yield one.number, other.number


class _Decider:
    """Which pairs of moments may decide an outcome."""

    def __init__(self, table: Timetable) -> None:
        program = table.program
        self.program = program
        self.table = table
        self.views = table.views
        observed = {program.location_of[term.name] for term in program.test.observed if isinstance(term, FinalVariable)}
        atomic = {
            place for event in program.events if event.kind is SimulatedEventKind.ATOMIC for place in event.locations
        }
        self.looked_at = observed | atomic  # locations whose value in L2 matters
        strong = [event for event in program.events if event.writes and event.strong]
        ranked = {place for event in strong for place in event.locations}  # L2 ranks the strong writes there
        self.strong = strong
        self.hurried = {  # writes that synchronisation may bring to L2 early, where that matters
            event.number
            for event in program.events
            if event.writes and event.locations & (self.looked_at | ranked) and self._may_be_passed_on(event)
        }

    def __call__(self, one: Moment, other: Moment) -> bool:
        if self.views and self._synchronises(one):
            both = self._synchronises(other) and one.event.thread != other.event.thread
            if both or (_in_l2(other) and other.event.number in self.hurried):
                return True
        if not one.event.may_meet(other.event):
            return False
        if _in_l2(one) and _in_l2(other):
            strong = one.event.strong and other.event.strong
            return not self.views or strong or bool(one.event.locations & self.looked_at)
        if self._takes_value(one) and _in_l2(other):
            return (
                not self.views
                or one.event.kind is SimulatedEventKind.ATOMIC
                or (other.event.strong and self._own_write(one, strong=True))
            )
        if other.stage is not MomentStage.SEEN:
            return False
        rivals = one.event.thread != other.event.thread and not (one.event.strong and other.event.strong)
        if one.stage is MomentStage.SEEN:
            return rivals and one.viewer == other.viewer
        own = one.stage is MomentStage.ISSUE and one.event.thread == other.viewer
        return own and (one.event.kind is SimulatedEventKind.READ or (one.event.writes and rivals))

    def _takes_value(self, moment: Moment) -> bool:
        """Whether a read may take its value from memory at this moment: an access of L1 does when its line comes.

        It does so when it is issued only if a write of its own thread may have removed the line.
        """
        if moment.stage is MomentStage.FILL:
            return True
        if moment.stage is not MomentStage.ISSUE or not moment.event.reads:
            return False
        return self.table.find(MomentStage.FILL, moment.event) is None or self._own_write(moment)

    def _synchronises(self, moment: Moment) -> bool:
        """Whether synchronisation may bring writes to L2 or to a thread at this moment."""
        event = moment.event
        if event.kind is SimulatedEventKind.BARRIER:
            return moment.stage is MomentStage.ARRIVE
        if moment.stage is not MomentStage.ISSUE:
            return False
        return event.kind is SimulatedEventKind.FENCE or (event.strong_read and self._may_synchronise(event))

    def _may_synchronise(self, read: SimulatedEvent) -> bool:
        """Whether the read may complete a synchronisation."""
        completes = any(
            event.acquires and (event is read or self.program.before(read, event)) for event in self.program.events
        )
        return completes and any(write.thread != read.thread and write.may_meet(read) for write in self.strong)

    def _may_be_passed_on(self, write: SimulatedEvent) -> bool:
        """Whether synchronisation may pass the write on: from its thread, or from one that strongly read it."""
        return write.strong or any(
            self.program.before(write, event) and (event.releases or event.kind is SimulatedEventKind.BARRIER)
            for event in self.program.events
        )

    def _own_write(self, moment: Moment, strong: bool = False) -> bool:
        """Whether the thread writes what it accesses here."""
        return any(
            event.writes
            and (event.strong or not strong)
            and event.thread == moment.event.thread
            and event.may_meet(moment.event)
            for event in self.program.events
        )


def _in_l2(moment: Moment) -> bool:
    """Whether a write reaches L2 at this moment."""
    if moment.event.kind is SimulatedEventKind.ATOMIC:
        return moment.stage is MomentStage.ISSUE
    return moment.event.kind is SimulatedEventKind.WRITE and moment.stage is MomentStage.ARRIVE
