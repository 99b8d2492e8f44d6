"""`SightingTally`: what all records of one test on one chip say together; the tests and chips of a set of records."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpudiy.logs.chips import chips_of
from gpudiy.logs.clustering import Launches, add_launches, clustered_rate, launches_of
from gpudiy.logs.decision import Decision, NoEvidence, Sighting, count_sightings, decide_sighting
from gpudiy.logs.frame import LogSource, open_log
from gpudiy.logs.matching import match_tests
from gpudiy.logs.record import Record, incantation_column
from gpudiy.logs.statistics import format_interval, format_rate, zero_bound


@dataclass(slots=True)
class SightingTally:
    """Sightings in iterations, over all records that are evidence; the others are only counted, with their reasons."""

    sightings: int = 0
    iterations: int = 0
    records: int = 0
    outcomes: dict[str, list[int]] = field(default_factory=dict)  # outcome: count, and 1 if it is weak
    records_by_sighting: dict[Sighting, int] = field(default_factory=dict)
    kinds: set[NoEvidence] = field(default_factory=set)  # of the records that are no evidence
    reasons: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    launches: list[Launches | None] = field(default_factory=list)  # of each record that is evidence

    @property
    def sighting(self) -> Sighting:
        """Observed if any record observed it, not observed if any could have, else no evidence."""
        return next(sighting for sighting in Sighting if sighting in self.records_by_sighting)

    @property
    def kind(self) -> NoEvidence | None:
        """Why nothing can be said; None if something can."""
        return None if self.sighting.is_evidence else next(kind for kind in NoEvidence if kind in self.kinds)

    @property
    def rate(self) -> float | None:
        return self.sightings / self.iterations if self.iterations else None

    @property
    def all_launches(self) -> Launches | None:
        """The launches of all records that are evidence; None where they are not known."""
        return add_launches(self.launches)

    def describe_launches(self) -> str:
        """What launches say of the counts, beside what independent iterations would; empty where they are not known."""
        launches = self.all_launches
        if launches is None:
            return ""
        over = clustered_rate(self.sightings, self.iterations, launches)
        if over is not None:
            interval = format_interval(over.low, over.high, self.sightings / self.iterations)
            return f"by {launches.count:,} launches {interval}"
        bound = format_rate(zero_bound(launches.count))
        return "" if self.sightings else f"0 of {launches.count:,} launches: below {bound}"

    def add(self, record: Record, decision: Decision) -> None:
        sighting = decision.sighting
        self.records += 1
        if record.source and record.source not in self.sources:
            self.sources.append(record.source)
        self.records_by_sighting[sighting] = self.records_by_sighting.get(sighting, 0) + 1
        if decision.kind is not None:
            self.kinds.add(decision.kind)
            if decision.reason not in self.reasons:
                self.reasons.append(decision.reason)
            return
        self.sightings += count_sightings(record)
        self.iterations += record.iterations
        self.launches.append(launches_of(record))
        for entry in record.histogram:
            held = self.outcomes.setdefault(entry.outcome, [0, int(entry.weak)])
            held[0] += entry.count


@dataclass(frozen=True, slots=True)
class KnownTest:
    """A test of the records: its name, unique among them, and what the records say about it."""

    name: str
    hash: str = ""
    text: str = ""
    condition: str = ""


@dataclass(slots=True)
class KnownChip:
    """A chip of the records, and all that was said of it and of what ran there."""

    name: str
    simulated: bool = False
    architectures: list[str] = field(default_factory=list)
    devices: list[str] = field(default_factory=list)
    drivers: list[str] = field(default_factory=list)
    toolkits: list[str] = field(default_factory=list)

    def add(self, record: Record) -> None:
        self.simulated = self.simulated or record.simulated
        for held, said in (
            (self.architectures, record.architecture), (self.devices, record.device), (self.drivers, record.driver),
            (self.toolkits, record.toolkit),
        ):  # fmt: skip
            if said and said not in held:
                held.append(said)


@dataclass(slots=True)
class Observations:
    """Tests and chips in the order in which they first came, and a tally for each pair that was run.

    `incantations` splits the tallies by the four switches, as a number from 0 to 15, for records that name them.
    """

    tests: dict[str, KnownTest] = field(default_factory=dict)
    chips: dict[str, KnownChip] = field(default_factory=dict)
    tallies: dict[tuple[str, str], SightingTally] = field(default_factory=dict)
    incantations: dict[tuple[str, str, int], SightingTally] = field(default_factory=dict)
    excerpts: dict[tuple[str, str], str] = field(default_factory=dict)  # of optcheck
    records: int = 0
    clashes: tuple[str, ...] = ()  # names that are used for different tests

    def add(self, record: Record, test: str, chip: str, best: bool) -> None:
        self.records += 1
        held = self.tests.get(test)
        if held is None or (record.text and not held.text):
            self.tests[test] = KnownTest(test, record.hash, record.text, record.condition)
        self.chips.setdefault(chip, KnownChip(chip)).add(record)
        decision = decide_sighting(record)
        _add(self.tallies.setdefault((test, chip), SightingTally()), record, decision, best)
        published = incantation_column(record.options)
        if published is not None:
            self.incantations.setdefault((test, chip, published - 1), SightingTally()).add(record, decision)
        if record.optcheck_text or record.optcheck:
            self.excerpts.setdefault((test, chip), "\n".join(filter(None, (record.optcheck, record.optcheck_text))))


def observe(logs: LogSource | Observations, best: bool = False) -> Observations:
    """The records by test and chip, as they match across logs; observations stay as they are.

    Several records of one test on one chip are added up; with `best` only the one with the highest rate counts.
    """
    if isinstance(logs, Observations):
        return logs
    columns = open_log(logs).columns
    matching, chips = match_tests(columns), chips_of(columns)
    found = Observations(clashes=matching.clashes)
    for record, number, place in zip(columns.records(), matching.tests, chips.chips, strict=True):
        test, chip = matching.names[number], _chip_name(chips.names[place], record.simulated)
        found.add(record, test, chip, best)
    return found


def _chip_name(name: str, simulated: bool) -> str:
    return f"{name} (simulated)" if simulated and "simulated" not in name.lower() else name


def _add(tally: SightingTally, record: Record, decision: Decision, best: bool) -> None:
    if best and tally.iterations and decision.sighting.is_evidence:
        if count_sightings(record) * tally.iterations <= tally.sightings * record.iterations:
            tally.records += 1
            return
        tally.sightings = tally.iterations = 0
        tally.launches = []
        tally.outcomes = {}
        tally.records_by_sighting.pop(Sighting.NOT_OBSERVED, None)
    tally.add(record, decision)
