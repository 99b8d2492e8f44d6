"""The sighting of a record: what was observed, or what prevents us from saying that nothing was.

A weak outcome that a sound run has seen is observed. "Not observed" is only said of a run that could have seen it:
each check below keeps a harness that did nothing from giving that answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gpudiy.logs.record import EVIDENCE, UNCHANGED, Ending, Record
from gpudiy.logs.statistics import CONFIDENCE, Rate, rate, zero_bound

ON = "true"
LEAST_MET = 0.01  # of the meetings that were asked for: with fewer, threads practically ran one after another


class Sighting(StrEnum):
    """What a run says of the outcome its test asks for. Only the first two are evidence."""

    OBSERVED = "observed"
    NOT_OBSERVED = "not observed"
    DEAD = "dead harness"
    FAILED = "failed"
    NOT_RUNNABLE = "not runnable"  # the device cannot run this test as it is meant

    @property
    def is_evidence(self) -> bool:
        return self in (Sighting.OBSERVED, Sighting.NOT_OBSERVED)


@dataclass(frozen=True, slots=True)
class Decision:
    """A sighting with its reason; `rate` where something was seen, `bound` where nothing was."""

    sighting: Sighting
    reason: str = ""
    rate: Rate | None = None
    bound: float | None = None


def decide_record(record: Record, confidence: float = CONFIDENCE) -> Decision:
    """What a record says of the outcome its test asks for; for `forall`, of what would break it."""
    sighting, reason = sighting_of(record)
    if sighting is Sighting.OBSERVED:
        return Decision(sighting, rate=rate(count_sightings(record), record.iterations, confidence))
    if sighting is Sighting.NOT_OBSERVED:
        return Decision(sighting, bound=zero_bound(record.iterations, confidence))
    return Decision(sighting, reason)


def sighting_of(record: Record) -> tuple[Sighting, str]:
    """The sighting and its reason alone: an interval costs much more than they do, and many records are only summed."""
    if record.ending is Ending.NOT_RUNNABLE:
        return Sighting.NOT_RUNNABLE, record.reason
    sightings = count_sightings(record)
    if problem := _failure(record, sightings):
        return Sighting.FAILED, problem
    if problem := _miscount(record):
        return Sighting.DEAD, problem
    if sightings:
        return Sighting.OBSERVED, ""
    if problem := _lifelessness(record):
        return Sighting.DEAD, problem
    return Sighting.NOT_OBSERVED, ""


def count_sightings(record: Record) -> int:
    """Iterations that showed what the test asks for: what satisfies `exists`, what breaks `forall`."""
    return record.negative if record.condition.startswith("forall") else record.positive


def breaks_claim(record: Record) -> bool:
    """Whether an outcome was observed that the test claims never to have: of `~exists` and `forall`."""
    return sighting_of(record)[0] is Sighting.OBSERVED and not record.condition.startswith("exists")


def _failure(record: Record, sightings: int) -> str:
    """Why the run is not evidence; empty where it is."""
    if record.ending not in EVIDENCE:
        seen = f"; {sightings:,} sightings before that do not count" if sightings else ""
        return f"{record.ending}{': ' if record.reason else ''}{record.reason}{seen}"
    if record.optcheck not in ("", UNCHANGED):
        return f"optcheck says {record.optcheck}: what ran is not the test"
    return ""


def _miscount(record: Record) -> str:
    """The gate of the counts: they are whole, and what was counted is what was run."""
    counts = [entry.count for entry in record.histogram]
    if record.iterations < 1:
        return "no iteration was done"
    if min(record.positive, record.negative, *counts) < 0:
        return "a count is below zero"
    total = record.positive + record.negative
    if total != record.iterations:
        return f"the outcomes are {total:,}, the iterations {record.iterations:,}"
    if any(counts) and sum(counts) != record.iterations:
        return f"the histogram sums to {sum(counts):,}, the iterations are {record.iterations:,}"
    marked = sum(entry.count for entry in record.histogram if entry.weak)
    if any(counts) and marked != record.positive:
        return f"the marked outcomes of the histogram are {marked:,}, the positive iterations {record.positive:,}"
    return ""


def _lifelessness(record: Record) -> str:
    """The gate of liveness: threads that never met nor overlapped, and stress that did nothing, prove nothing."""
    liveness = record.liveness
    if liveness is None:
        return ""  # published logs have no counters
    if not liveness.meetings and not liveness.overlaps and not _alone(record):
        given_up = f"; {liveness.timeouts:,} meetings were given up" if liveness.timeouts else ""
        return f"no two threads were ever seen running at the same time{given_up}"
    together, asked = max(liveness.meetings, liveness.overlaps), liveness.meetings + liveness.timeouts
    if liveness.timeouts and together < asked * LEAST_MET and not _alone(record):
        return f"of {asked:,} meetings only {liveness.meetings:,} came about; the others were given up"
    if dict(record.options).get("memory_stress") == ON and not liveness.stress_accesses:
        return "memory stress is on, and not one stressing access was made"
    return ""


def _alone(record: Record) -> bool:
    """Whether the test has one thread only, which has nobody to meet."""
    from gpudiy.litmus import LitmusError, read_test

    try:
        return bool(record.text) and len(read_test(record.text).threads) == 1
    except LitmusError:
        return False
