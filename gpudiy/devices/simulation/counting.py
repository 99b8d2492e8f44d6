"""Counting: instances whose moments come in the same order, where it matters, are replayed once."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING

from gpudiy.devices.simulation.event import Kind
from gpudiy.devices.simulation.moment import Moment, Stage, Timetable
from gpudiy.devices.simulation.replay import Outcome, Replay

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gpudiy.devices.simulation.clock import Times

DENSE_BITS = 16  # up to here all codes are counted in one array
WORD_BITS = 63


class Counter:
    """The outcomes of instances, each different order of moments replayed only the first time it is met."""

    def __init__(self, table: Timetable, replay: Replay) -> None:
        self.replay = replay
        self.pairs = list(telling_pairs(table))
        self.known: dict[int, Outcome | None] = {}

    def codes(self, times: list[Times]) -> NDArray[np.int64]:
        """For each instance a number that tells the order of all telling pairs.

        With more pairs than bits the bits are hashed: two orders then share a number about once in 2^63.
        """
        import numpy as np

        size = len(times[0]) if times else 0
        codes = np.zeros(size, np.int64)
        weights = _weights(len(self.pairs))
        for (one, other), weight in zip(self.pairs, weights, strict=True):
            codes += (times[one] < times[other]) * np.int64(weight)
        return codes

    def outcomes(self, times: list[Times], codes: NDArray[np.int64]) -> dict[int, int]:
        """How often each code is there; afterwards `known` has the outcome of each of them."""
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
        rows = np.array([time[list(places.values())] for time in times]).T.tolist()
        for code, row in zip(places, rows, strict=True):
            self.known[code] = self.replay.outcome(row)


def _weights(count: int) -> list[int]:
    """Powers of two; with too many of them odd numbers spread over the word, the same ones always."""
    if count <= WORD_BITS:
        return [1 << bit for bit in range(count)]
    weights, state = [], 0x9E3779B97F4A7C15
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        weights.append(((state ^ state >> 29) | 1) - (1 << 63) | 1)
    return weights


def telling_pairs(table: Timetable) -> Iterator[tuple[int, int]]:
    """Pairs of moments whose order may decide an outcome and is not always the same."""
    ancestors = table.ancestors()
    for one, other in combinations(table.moments, 2):
        always = ancestors[one.number] >> other.number & 1 or ancestors[other.number] >> one.number & 1
        if not always and _tells(table, one, other):
            yield one.number, other.number


def _tells(table: Timetable, one: Moment, other: Moment) -> bool:
    return _tells_one_way(table, one, other) or _tells_one_way(table, other, one)


def _tells_one_way(table: Timetable, one: Moment, other: Moment) -> bool:
    views = any(moment.stage is Stage.SEEN for moment in table.moments)
    meets = one.event.may_meet(other.event)
    if views and _synchronises(one) and (_synchronises(other) or _in_l2(other)):
        return True
    if not meets:
        return False
    if _in_l2(one) and _in_l2(other):
        return True
    reads = one.stage is Stage.ISSUE and one.event.reads
    if reads and _in_l2(other) and (not views or one.event.kind is Kind.ATOMIC or _own_write(table, one)):
        return True
    if other.stage is Stage.SEEN:
        same_view = one.stage is Stage.SEEN and one.viewer == other.viewer
        return same_view or (reads and one.event.thread == other.viewer)
    return False


def _in_l2(moment: Moment) -> bool:
    """Whether this is when a write gets to L2."""
    if moment.event.kind is Kind.ATOMIC:
        return moment.stage is Stage.ISSUE
    return moment.event.kind is Kind.WRITE and moment.stage is Stage.ARRIVE


def _synchronises(moment: Moment) -> bool:
    """Whether something may be brought to L2, or told, at this moment."""
    if moment.event.kind is Kind.BARRIER:
        return moment.stage is Stage.ARRIVE
    return moment.stage is Stage.ISSUE and (moment.event.kind is Kind.FENCE or moment.event.strong_read)


def _own_write(table: Timetable, moment: Moment) -> bool:
    return any(
        event.writes and event.thread == moment.event.thread and event.may_meet(moment.event)
        for event in table.program.events
    )
