"""`Tally`: what all records of one test on one chip say together, and the tests and chips of a set of records."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from gpudiy.logs.decision import Verdict, sightings_of, verdict_of
from gpudiy.logs.record import Record
from gpudiy.logs.switches import incantation_column

NAMELESS = "unnamed chip"
EVIDENCE = (Verdict.OBSERVED, Verdict.NOT_OBSERVED)


class Combination(StrEnum):
    """What becomes of several records of one test on one chip."""

    SUM = "sum"
    BEST = "best"  # the one with the highest rate


@dataclass(slots=True)
class Tally:
    """Sightings in iterations, over all records that are evidence; the others are only counted, with their reasons."""

    sightings: int = 0
    iterations: int = 0
    records: int = 0
    outcomes: dict[str, list[int]] = field(default_factory=dict)  # outcome: count, and 1 if it is weak
    verdicts: dict[Verdict, int] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> Verdict:
        """Observed if any record observed it, not observed if any could have, else why nothing can be said."""
        return next(verdict for verdict in Verdict if verdict in self.verdicts)

    @property
    def rate(self) -> float | None:
        return self.sightings / self.iterations if self.iterations else None

    def add(self, record: Record, verdict: Verdict, reason: str = "") -> None:
        self.records += 1
        if record.source and record.source not in self.sources:
            self.sources.append(record.source)
        self.verdicts[verdict] = self.verdicts.get(verdict, 0) + 1
        if verdict not in EVIDENCE:
            if reason not in self.reasons:
                self.reasons.append(reason)
            return
        self.sightings += sightings_of(record)
        self.iterations += record.iterations
        for entry in record.histogram:
            held = self.outcomes.setdefault(entry.outcome, [0, int(entry.weak)])
            held[0] += entry.count


@dataclass(frozen=True, slots=True)
class TestEntry:
    """A test of the records: its name, unique among them, and what the records tell of it."""

    name: str
    hash: str = ""
    text: str = ""
    condition: str = ""


@dataclass(slots=True)
class ChipEntry:
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

    `incantations` splits the tallies by the four switches, as a number from 0 to 15, where records tell them.
    """

    tests: dict[str, TestEntry] = field(default_factory=dict)
    chips: dict[str, ChipEntry] = field(default_factory=dict)
    tallies: dict[tuple[str, str], Tally] = field(default_factory=dict)
    incantations: dict[tuple[str, str, int], Tally] = field(default_factory=dict)
    excerpts: dict[tuple[str, str], str] = field(default_factory=dict)  # of optcheck
    records: int = 0


def observations(records: Iterable[Record], combination: Combination = Combination.SUM) -> Observations:
    """The records by test and chip. Tests are the same by their hash, or by their name where there is none."""
    found = Observations()
    names: dict[str, str] = {}
    for record in records:
        found.records += 1
        test = _test_name(found, names, record)
        chip = chip_name(record)
        found.chips.setdefault(chip, ChipEntry(chip)).add(record)
        verdict, reason = verdict_of(record)
        _add(found.tallies.setdefault((test, chip), Tally()), record, verdict, reason, combination)
        published = incantation_column(record.options)
        if published is not None:
            found.incantations.setdefault((test, chip, published - 1), Tally()).add(record, verdict, reason)
        if record.optcheck_text or record.optcheck:
            found.excerpts.setdefault((test, chip), "\n".join(filter(None, (record.optcheck, record.optcheck_text))))
    return found


def chip_name(record: Record) -> str:
    name = record.chip or record.device or NAMELESS
    return f"{name} (simulated)" if record.simulated and "simulated" not in name.lower() else name


def natural(text: str) -> list[tuple[int, str]]:
    """A key that sorts as people count: MP2 before MP10, letters without case."""
    parts = re.split(r"(\d+)", text.lower())
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def _test_name(found: Observations, names: dict[str, str], record: Record) -> str:
    """The name a test has here: that of its first record, with some of its hash where another test has it."""
    name = names.get(record.hash, "") if record.hash else record.test
    held = found.tests.get(name or record.test)
    if not name:  # a hash that is new here
        name = record.test if held is None or not held.hash else f"{record.test} ({record.hash[:6]})"
        names[record.hash] = name
        held = found.tests.get(name)
    if held is None or (record.text and not held.text) or (record.hash and not held.hash):
        found.tests[name] = TestEntry(name, record.hash, record.text, record.condition)
    return name


def _add(tally: Tally, record: Record, verdict: Verdict, reason: str, combination: Combination) -> None:
    if combination is Combination.BEST and tally.iterations and verdict in EVIDENCE:
        if sightings_of(record) * tally.iterations <= tally.sightings * record.iterations:
            tally.records += 1
            return
        tally.sightings = tally.iterations = 0
        tally.outcomes = {}
        tally.verdicts.pop(Verdict.NOT_OBSERVED, None)
    tally.add(record, verdict, reason)
