"""Which records are evidence, and why the others are not; counts of evidence by test and chip."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from gpudiy.logs.chips import Chips, chips_of
from gpudiy.logs.clustering import ClusteredRate, Launches, add_launches, clustered_rate, launches_by_record
from gpudiy.logs.columns import Columns
from gpudiy.logs.decision import decide_sighting
from gpudiy.logs.matching import Matching, match_tests
from gpudiy.logs.record import EVIDENCE, UNCHANGED
from gpudiy.logs.statistics import CONFIDENCE, Rate, rate

UNUSED = (
    "assembler",
    "optcheck_text",
    "notes",
    "device_info",
    "started",
    "seconds",
    "seed",
    "architecture",
    "driver",
    "toolkit",
    "simulated",
    "source",
    "incantation",
    "reason",
)  # columns that counting does not look at
FAILED, OPTIMISED, NO_EVIDENCE = "failed", "not the test that was asked for", "no evidence"


@dataclass(slots=True)
class Count:
    """Sightings in iterations of one test on one chip, over all its records that are evidence."""

    sightings: int = 0
    iterations: int = 0
    record: int = -1  # the first of them
    launches: Launches | None = None  # of all of them; None where they are not known

    def rate(self, confidence: float = CONFIDENCE) -> Rate:
        """The rate with its interval, if iterations are independent."""
        return rate(self.sightings, self.iterations, confidence)

    def rate_by_launches(self, confidence: float = CONFIDENCE) -> ClusteredRate | None:
        """The interval that respects launches, where they are known."""
        return clustered_rate(self.sightings, self.iterations, self.launches, confidence)


@dataclass(frozen=True, slots=True)
class EvidenceCounts:
    """`counts[chip][test]`; `apart` counts the records that are set apart, by reason."""

    columns: Columns
    matching: Matching
    chips: Chips
    counts: list[dict[int, Count]]
    apart: Counter[str]


def gather(columns: Columns, chips: Chips | None = None) -> EvidenceCounts:
    """Counts of everything that is evidence."""
    matching = match_tests(columns)
    chips = chips or chips_of(columns)
    counts: list[dict[int, Count]] = [{} for _ in chips.names]
    why = set_apart(columns)
    apart: Counter[str] = Counter()
    seen = sightings_by_record(columns)
    launches = launches_by_record(columns)
    for place, (test, chip, iterations) in enumerate(
        zip(matching.tests, chips.chips, columns["iterations"], strict=True)
    ):
        if place in why:
            apart[why[place]] += 1
            continue
        of_chip = counts[chip]
        count = of_chip.get(test)
        if count is None:
            of_chip[test] = Count(seen[place], iterations, place, launches[place])
        else:
            count.sightings += seen[place]
            count.iterations += iterations
            count.launches = add_launches((count.launches, launches[place]))
    return EvidenceCounts(columns, matching, chips, counts, apart)


def sightings_by_record(columns: Columns) -> list[int]:
    """Iterations that showed what the test asks for: what satisfies `exists`, what breaks `forall`."""
    return [
        negative if condition.startswith("forall") else positive
        for condition, positive, negative in zip(
            columns["condition"], columns["positive"], columns["negative"], strict=True
        )
    ]


def set_apart(columns: Columns) -> dict[int, str]:
    """The records that are not evidence, and why."""
    why: dict[int, str] = {}
    if _all_sound(columns):
        return why
    names = ("ending", "optcheck", "iterations", "meetings", "no_evidence")
    for place, (ending, optcheck, iterations, meetings, doubted) in enumerate(
        zip(*(columns[name] for name in names), strict=True)
    ):
        if ending not in EVIDENCE:
            why[place] = f"{FAILED}: {ending}"
        elif optcheck not in ("", UNCHANGED):
            why[place] = f"{OPTIMISED}: optcheck says {optcheck}"
        elif iterations < 1:
            why[place] = f"{NO_EVIDENCE}: no iteration was done"
        elif meetings is not None or doubted:  # the record has counters of liveness, or had them
            decision = decide_sighting(columns.record(place))
            if not decision.sighting.is_evidence:
                why[place] = f"{NO_EVIDENCE}: {decision.reason}"
    return why


def _all_sound(columns: Columns) -> bool:
    """Whether there is nothing to look at: every run ended well, was not changed, and has no counters of liveness."""
    return (
        set(columns["ending"]) <= set(EVIDENCE)
        and set(columns["optcheck"]) <= {"", UNCHANGED}
        and set(columns["meetings"]) <= {None}
        and not any(columns["no_evidence"])
        and min(columns["iterations"], default=1) > 0
    )
