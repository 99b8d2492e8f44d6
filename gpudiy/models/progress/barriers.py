"""Barriers of a CTA while a test runs: who has arrived, and whom that releases.

`gpudiy.litmus.barrier_visit` says how those of PTX and those of Dat3M differ.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gpudiy.litmus.barrier_count import count_threads
from gpudiy.litmus.barrier_visit import NO_INSTANCE
from gpudiy.models.problems import Undecidable


class BarrierKey(NamedTuple):
    """Barriers with the same key meet."""

    cta: int
    instance: int
    identifier: int


class Arrival(NamedTuple):
    """A thread at a barrier; `expected` is how many arrivals it expects, None for all threads of the CTA."""

    thread: int
    expected: int | None


Arrivals = tuple[tuple[BarrierKey, tuple[Arrival, ...]], ...]  # since each barrier was last complete, sorted


def add_arrival(arrivals: Arrivals, key: BarrierKey, arrival: Arrival) -> Arrivals:
    """The arrivals with one more; raises `Undecidable` where the threads do not agree how many are expected."""
    known = dict(arrivals)
    before = known.get(key, ())
    if any(other.expected != arrival.expected for other in before):
        raise Undecidable(f"threads wait at barrier {key.identifier} with different counts")
    if arrival in before and not starts_anew(key, before):
        return arrivals
    known[key] = tuple(sorted((*before, arrival), key=lambda each: each.thread))
    return tuple(sorted(known.items()))


def is_complete(arrived: tuple[Arrival, ...], awaited: Iterable[int]) -> bool:
    """Whether a barrier is complete; without a count it waits for all threads that are awaited there."""
    count = arrived[0].expected
    if count is not None:
        return len(arrived) >= count_threads(count)
    return {each.thread for each in arrived}.issuperset(awaited)


def starts_anew(key: BarrierKey, arrived: tuple[Arrival, ...]) -> bool:
    """Whether a barrier, once complete, waits again; the counts of Dat3M are reached for ever."""
    return key.instance == NO_INSTANCE or not arrived or arrived[0].expected is None
