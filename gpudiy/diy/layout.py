"""The layout of a cycle as a test: its threads, the location of every access, and the values that identify the cycle.

The accesses to one location are neighbours in the cycle. In that order its writes store 1, 2, 3 …, and a read returns
the value of the last write before it, or 0. So the values read and the final value of each location identify an
execution with every communication of the cycle.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gpudiy.diy.cycle import Cycle, changes_location, is_atomic
from gpudiy.diy.edge import WRITE, Communication, ProgramOrder

LOCATION_NAMES = "xyzabcdefghijklmnopq"


class Layout(NamedTuple):
    """Locations and values of the accesses of a cycle, by the index of the edge that starts at the access.

    `threads` are ranges of these indices. `observers` are locations with the values that one more thread must read in
    this order, because neither a value read nor the final one shows in which order they were stored.
    """

    threads: tuple[range, ...]
    locations: tuple[int, ...]
    values: tuple[int, ...]
    final: tuple[tuple[int, int], ...]
    observers: tuple[tuple[int, tuple[int, ...]], ...]

    @property
    def location_count(self) -> int:
        return max(self.locations) + 1


def lay_out_cycle(cycle: Cycle) -> Layout:
    """The layout of a cycle that starts with the first access of a thread."""
    count = len(cycle)
    start = _first_of_a_location(cycle)
    order = [(start + step) % count for step in range(count)]
    runs: list[list[int]] = []
    for index in order:
        if not runs or changes_location(cycle[index - 1]):
            runs.append([])
        runs[-1].append(index)
    values = [0] * count
    location = [0] * count
    final: list[tuple[int, int]] = []
    observers: list[tuple[int, tuple[int, ...]]] = []
    runs.sort(key=min)  # locations are named in the order of their first access
    for number, run in enumerate(runs):
        last = _number_writes(cycle, run, values)
        for index in run:
            location[index] = number
        if last > 1:
            final.append((number, last))
        if last > 2 and (unobserved := _unobserved_values(cycle, run, values, last)):
            observers.append((number, unobserved))
    return Layout(_split_threads(cycle), tuple(location), tuple(values), tuple(final), tuple(observers))


def _first_of_a_location(cycle: Cycle) -> int:
    """An access where a location starts.

    With one location only, some program-order edge must contradict the order of the accesses: the first one that may be
    relaxed.
    """
    for index in range(len(cycle)):
        if changes_location(cycle[index - 1]):
            return index
    relaxed = [index for index, edge in enumerate(cycle) if isinstance(edge, ProgramOrder) and not is_atomic(edge)]
    return (relaxed[0] + 1) % len(cycle)


def _number_writes(cycle: Cycle, run: Sequence[int], values: list[int]) -> int:
    last = 0
    for index in run:
        if cycle[index].source.direction == WRITE:
            last += 1
        values[index] = last
    return last


def _unobserved_values(cycle: Cycle, run: Sequence[int], values: list[int], last: int) -> tuple[int, ...]:
    """The values whose order an observer must see.

    They are stored by writes that a Co or Fr of the cycle puts in order, unless the later write is the last one.
    """
    seen: set[int] = set()
    for index in run[:-1]:
        edge = cycle[index]
        if not isinstance(edge, Communication) or edge.relation == "Rf":
            continue
        earlier, later = values[index], values[(index + 1) % len(cycle)]
        if earlier and later != last:
            seen |= {earlier, later}
    return tuple(sorted(seen))


def _split_threads(cycle: Cycle) -> tuple[range, ...]:
    ends = [index + 1 for index, edge in enumerate(cycle) if edge.external] or [len(cycle)]
    return tuple(range(start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True))
