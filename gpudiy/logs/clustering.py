"""Intervals that respect launches: iterations of one launch are alike, so that they tell less than independent ones.

The rate is a ratio of sums over launches; its variance is estimated from how much launches differ. The design effect is
this variance in parts of the one of independent iterations, and the iterations divided by it are the effective sample.
The interval is that of Clopper and Pearson for the effective sample, made smaller where launches are few (Korn and
Graubard 1998): their differences are then themselves uncertain.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt

from gpudiy.logs.columns import LAUNCH_SUMS, Columns
from gpudiy.logs.record import LaunchSums, Record, add_launch_sums
from gpudiy.logs.statistics import CONFIDENCE, beta_quantile, normal_quantile, zero_bound


@dataclass(frozen=True, slots=True)
class Launches:
    """How many launches there were, and the sums over them."""

    count: int
    sums: LaunchSums


@dataclass(frozen=True, slots=True)
class ClusteredRate:
    """The interval of a rate that respects launches; `effective` independent iterations would tell as much."""

    launches: int
    confidence: float
    low: float
    high: float
    design_effect: float
    effective: float


def launches_of(record: Record) -> Launches | None:
    """The launches of a record; None where it does not say enough of them."""
    alive, sums = record.liveness, record.launch_sums
    if sums is None or alive is None or not alive.launches:
        return None
    return Launches(alive.launches, sums)


def launches_by_record(columns: Columns) -> list[Launches | None]:
    """The launches of each record of some columns, without building the records."""
    found: list[Launches | None] = [None] * len(columns)
    if set(columns["launches"]) <= {None}:
        return found
    for place, sums in enumerate(zip(*(columns[name] for name in ("launches", *LAUNCH_SUMS)), strict=True)):
        if None not in sums and sums[0]:
            found[place] = Launches(sums[0], LaunchSums(*sums[1:]))
    return found


def add_launches(parts: Iterable[Launches | None]) -> Launches | None:
    """The launches of several records; None where those of one are not known."""
    found = list(parts)
    known = [part for part in found if part is not None]
    sums = add_launch_sums(part.sums for part in known) if len(known) == len(found) else None
    return None if sums is None else Launches(sum(part.count for part in known), sums)


def clustered_rate(
    sightings: int, iterations: int, launches: Launches | None, confidence: float = CONFIDENCE
) -> ClusteredRate | None:
    """The interval of a rate over launches; None where nothing was seen, or launches cannot be compared."""
    if launches is None or launches.count < 2 or not 0 < sightings < iterations:
        return None
    effect = design_effect(sightings, iterations, launches)
    effective = iterations / effect
    tail = (1 - confidence) / 2
    certainty = (normal_quantile(1 - tail) / student_quantile(1 - tail, launches.count - 1)) ** 2
    seen, unseen = (share * effective * certainty / iterations for share in (sightings, iterations - sightings))
    low = beta_quantile(tail, seen, unseen + 1)
    high = beta_quantile(1 - tail, seen + 1, unseen)
    return ClusteredRate(launches.count, confidence, low, high, effect, effective)


def launch_bound(launches: Launches | None, confidence: float = CONFIDENCE) -> float | None:
    """The share of launches with a sighting that zero sightings rule out; all that is certain if launches are alike."""
    return None if launches is None else zero_bound(launches.count, confidence)


def design_effect(sightings: int, iterations: int, launches: Launches) -> float:
    """The variance of the rate in parts of that of independent iterations; never below 1."""
    count, sums = launches.count, launches.sums
    # the sum over launches of (sightings - rate * iterations)², times the square of all iterations: exact in integers
    spread = (
        sums.sightings_squared * iterations**2
        - 2 * sightings * iterations * sums.products
        + sightings**2 * sums.iterations_squared
    )
    variance = count / (count - 1) * (spread / iterations**2) / iterations**2
    rate = sightings / iterations
    return max(1.0, variance / (rate * (1 - rate) / iterations))


def student_quantile(probability: float, freedom: int) -> float:
    """Where Student's distribution reaches a probability above one half."""
    share = beta_quantile(2 * (1 - probability), freedom / 2, 0.5)
    return sqrt(freedom * (1 - share) / share)
