"""The sighting of a record: what was observed, or what prevents us from saying that nothing was.

A weak outcome that a sound run has seen is observed. "Not observed" is only said of a run that could have seen it; a
run that does not show that it could is no evidence.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from gpudiy.logs.clustering import ClusteredRate, clustered_rate, launch_bound, launches_of
from gpudiy.logs.harness_signs import find_missing_sign
from gpudiy.logs.record import EVIDENCE, UNCHANGED, Ending, Record
from gpudiy.logs.statistics import CONFIDENCE, Rate, rate, zero_bound


class Sighting(StrEnum):
    """What a run says of the outcome its test asks for. Only the first two are evidence."""

    OBSERVED = "observed"
    NOT_OBSERVED = "not observed"
    NO_EVIDENCE = "no evidence"

    @property
    def is_evidence(self) -> bool:
        return self is not Sighting.NO_EVIDENCE


class NoEvidence(StrEnum):
    """The kinds of runs that are no evidence."""

    HARNESS = "no evidence"  # it counted wrongly, or nothing shows that it could have seen the outcome
    FAILED = "failed"  # the run broke off, or what ran is not the test
    NOT_RUNNABLE = "not runnable"  # the device cannot run this test as it is meant


@dataclass(frozen=True, slots=True)
class Decision:
    """A sighting; if it is no evidence, its kind and why. `rate` if something was seen, `bound` if nothing was.

    Both take iterations for independent. Where the launches of the run are known, `clustered` is the interval that
    respects how they differ, and `launch_bound` what the zero of all launches says, be their iterations alike or not.
    """

    sighting: Sighting
    kind: NoEvidence | None = None
    reason: str = ""
    rate: Rate | None = None
    bound: float | None = None
    clustered: ClusteredRate | None = None
    launch_bound: float | None = None

    @property
    def explanation(self) -> str:
        """Why the run is no evidence, with the kind where the sighting does not say it."""
        named = self.kind in (NoEvidence.FAILED, NoEvidence.NOT_RUNNABLE)
        return f"{self.kind}: {self.reason}" if named else self.reason


def decide_record(record: Record, confidence: float = CONFIDENCE) -> Decision:
    """What a record says of the outcome its test asks for; for `forall`, of what would break it."""
    decision = decide_sighting(record)
    match decision.sighting:
        case Sighting.OBSERVED:
            counts = count_sightings(record), record.iterations
            clustered = clustered_rate(*counts, launches_of(record), confidence)
            return Decision(decision.sighting, rate=rate(*counts, confidence), clustered=clustered)
        case Sighting.NOT_OBSERVED:
            bound, over_launches = (
                zero_bound(record.iterations, confidence),
                launch_bound(launches_of(record), confidence),
            )
            return Decision(decision.sighting, bound=bound, launch_bound=over_launches)
        case Sighting.NO_EVIDENCE:
            return decision


def decide_sighting(record: Record) -> Decision:
    """The decision without its interval, which costs much more, and many records are only summed."""
    if record.ending is Ending.NOT_RUNNABLE:
        return _no_evidence(NoEvidence.NOT_RUNNABLE, record.reason)
    sightings = count_sightings(record)
    if problem := _failure(record, sightings):
        return _no_evidence(NoEvidence.FAILED, problem)
    if problem := record.no_evidence or _miscount(record):
        return _no_evidence(NoEvidence.HARNESS, problem)
    if sightings:
        return Decision(Sighting.OBSERVED)
    if problem := find_missing_sign(record):
        return _no_evidence(NoEvidence.HARNESS, problem)
    return Decision(Sighting.NOT_OBSERVED)


def count_sightings(record: Record) -> int:
    """Iterations that showed what the test asks for: what satisfies `exists`, what breaks `forall`."""
    return record.negative if record.condition.startswith("forall") else record.positive


def keep_doubt(record: Record, changed: Record) -> Record:
    """A record made from another, without some of what shows that the other is no evidence: it says so in words."""
    decision = decide_sighting(record)
    return changed if decision.kind is not NoEvidence.HARNESS else replace(changed, no_evidence=decision.reason)


def breaks_claim(record: Record) -> bool:
    """Whether an outcome was observed that the test claims never to have: of `~exists` and `forall`."""
    return decide_sighting(record).sighting is Sighting.OBSERVED and not record.condition.startswith("exists")


def _no_evidence(kind: NoEvidence, reason: str) -> Decision:
    return Decision(Sighting.NO_EVIDENCE, kind, reason)


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
