"""When a run may stop before its iterations are done: the answer is certain."""

from __future__ import annotations

from dataclasses import dataclass

from gpudiy.errors import InputError
from gpudiy.logs.statistics import CONFIDENCE, rate, reproduction


@dataclass(frozen=True, slots=True)
class StopRule:
    """Stop after so many sightings, or as soon as they are certain to come again; without either, never."""

    sightings: int | None = None
    confident: bool = False

    def satisfied(self, sightings: int, iterations: int) -> str:
        """Why the run may stop now, in words; empty when it may not."""
        if self.sightings is not None and sightings >= self.sightings:
            return f"{sightings:,} sighting{'s' * (sightings != 1)}"
        if self.confident and sightings:
            expected = rate(sightings, iterations).low * iterations
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
    raise InputError(f"{text!r} is no end of a run", hint="observed, a number of sightings from 1 on, or confidence")
