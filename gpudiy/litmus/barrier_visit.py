"""Barriers as PTX has them: who waits for ever, and what is not modelled.

A barrier without an instance (`bar.sync 0`) is one of PTX. Without a count it waits for all threads of its CTA that
have not finished; with one, for exactly so many arrivals, and then it starts anew. A barrier with an instance
(`bar.sync.inst1 0`) is one of Dat3M: it waits for those that come to it in the same run, or for at least `count` of
them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

NO_INSTANCE = 0


@dataclass(frozen=True, slots=True)
class BarrierVisit:
    """A thread comes to a barrier, and waits there or only arrives.

    Visits with the same `meeting` meet: instance, identifier, and how often the thread was there before. `count` is of
    threads of the test.
    """

    thread: int
    meeting: tuple[int, int, int]
    count: int | None
    waits: bool


class UnclearRelease(Exception):
    """Which threads a barrier releases is not modelled; the message says why."""


def find_endless_waits(visits: Sequence[BarrierVisit], ctas: Sequence[int]) -> set[int]:
    """The visits of a run in which threads wait for ever; `ctas` are those of the threads.

    Raises `UnclearRelease` where arrivals at a barrier with a count do not tell which of them release which.
    """
    barriers: dict[int, list[int]] = {}  # of each CTA, thread by thread in program order
    for number, visit in enumerate(visits):
        barriers.setdefault(ctas[visit.thread], []).append(number)
    found: set[int] = set()
    for members in barriers.values():
        plain = [number for number in members if visits[number].meeting[0] == NO_INSTANCE]
        for identifier in {visits[number].meeting[1] for number in plain}:
            found |= _find_left_over(visits, [number for number in plain if visits[number].meeting[1] == identifier])
        found |= _find_stuck([visits[number] for number in members], members)
    return found


def _find_stuck(barriers: Sequence[BarrierVisit], numbers: Sequence[int]) -> set[int]:
    """Where the threads of a CTA are when none can go on. Who leaves a barrier keeps nobody else from it."""
    coming: dict[int, list[int]] = {}  # of each thread: its barriers that it has not left
    for place, visit in enumerate(barriers):
        coming.setdefault(visit.thread, []).append(place)
    arrived: set[int] = set()
    ready = list(coming.values())
    while ready:
        for own in coming.values():
            while own and not barriers[own[0]].waits:
                arrived.add(own.pop(0))
            arrived.update(own[:1])
        ready = [own for own in coming.values() if own and _is_complete(barriers, own[0], arrived, coming)]
        for own in ready:
            own.pop(0)
    return {numbers[own[0]] for own in coming.values() if own}


def _is_complete(barriers: Sequence[BarrierVisit], place: int, arrived: set[int], coming: dict[int, list[int]]) -> bool:
    barrier = barriers[place]
    here = {other for other in arrived if barriers[other].meeting == barrier.meeting}
    if barrier.count is not None:
        return len(here) >= barrier.count
    if barrier.meeting[0] == NO_INSTANCE:
        return {thread for thread, own in coming.items() if own} <= {barriers[other].thread for other in here}
    return all(other in here for other, visit in enumerate(barriers) if visit.meeting == barrier.meeting)


def _find_left_over(visits: Sequence[BarrierVisit], barriers: Sequence[int]) -> set[int]:
    """All barriers of one identifier of PTX with a count, if it does not divide the threads that wait, each once."""
    identifier, count = visits[barriers[0]].meeting[1], visits[barriers[0]].count
    if any(visits[number].count != count for number in barriers):
        raise UnclearRelease(f"threads come to barrier {identifier} with different counts")
    most = max(Counter(visits[number].meeting for number in barriers).values())
    if count is None or most <= count:
        return set()
    if len(barriers) == most and count > 0 and most % count and all(visits[number].waits for number in barriers):
        return set(barriers)
    raise UnclearRelease(
        f"{most} threads come to barrier {identifier}, which counts {count} of them:"
        " which of them release each other is not modelled"
    )
