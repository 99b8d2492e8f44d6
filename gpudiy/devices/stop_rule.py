"""When a run may stop before all its iterations are done."""

from __future__ import annotations

from dataclasses import dataclass

from gpudiy.errors import InputError, format_count
from gpudiy.logs.clustering import Launches, clustered_rate
from gpudiy.logs.statistics import CONFIDENCE, rate, reproduction


@dataclass(frozen=True, slots=True)
class StopRule:
    """Stop after so many sightings, or when another run would very likely show them again; without either, never."""

    sightings: int | None = None
    confident: bool = False

    def find_reason(self, sightings: int, iterations: int, launches: Launches | None = None) -> str:
        """Why the run may stop now; empty if it may not. Sightings of one launch do not promise another launch."""
        if self.sightings is not None and sightings >= self.sightings:
            return format_count(sightings, "sighting")
        if self.confident and sightings and (launches is None or launches.count > 1):
            over = clustered_rate(sightings, iterations, launches)
            expected = (rate(sightings, iterations) if over is None else over).low * iterations
            if reproduction(expected) >= CONFIDENCE:
                return f"{sightings:,} sightings: a run as long as this one shows it again"
        return ""


NEVER = StopRule()


def parse_stop_rule(text: str) -> StopRule:
    """The rule of `observed`, a number of sightings, or `confidence`."""
    if text == "observed":
        return StopRule(sightings=1)
    if text == "confidence":
        return StopRule(confident=True)
    if text.isdecimal() and int(text[:18]) > 0:
        return StopRule(sightings=int(text[:18]))
    raise InputError(
        f"{text!r} does not say when a run stops", hint="use observed, a number of sightings, or confidence"
    )
