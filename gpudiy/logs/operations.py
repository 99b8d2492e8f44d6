"""Operations on whole logs: sort, sum, merge, normalize, average, best, filter, rename, compare test by test."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from gpudiy.errors import InputError, format_count
from gpudiy.files import read_text
from gpudiy.logs.chips import Chips, memory_of_text, name_chip
from gpudiy.logs.columns import Columns
from gpudiy.logs.decision import Sighting, count_sightings, decide_sighting, keep_doubt
from gpudiy.logs.evidence import Count, gather, set_apart
from gpudiy.logs.matching import normal_text
from gpudiy.logs.memory_place import name_with_memory
from gpudiy.logs.record import (
    OutcomeCount,
    Record,
    add_launch_sums,
    add_liveness,
    incantation_label,
)

PER = 100_000
CLAIMS: dict[str, tuple[str, ...]] = {"equal": (), "stronger-or-equal": ("stronger",), "weaker-or-equal": ("weaker",)}
COMMON = ("hash", "text", "condition", "device", "architecture", "simulated", "driver", "toolkit", "tool", "source",
          "device_info", "assembler")  # fmt: skip
NUMBERS = re.compile(r"(\d+)")
Records = Sequence[Record]
Key = tuple[str, str, str]  # test, chip with memory, and where they are kept apart the incantation


def natural(text: str) -> tuple[object, ...]:
    """Names in the order people expect: numbers in them count as numbers."""
    return tuple((1, int(part)) if part.isdecimal() else (0, part.lower()) for part in NUMBERS.split(text))


ORDERS: dict[str, Callable[[Record], tuple[object, ...]]] = {
    "test": lambda record: (natural(record.test), natural(name_chip(record)), incantation_label(record.options)),
    "chip": lambda record: (natural(name_chip(record)), natural(record.test), incantation_label(record.options)),
    "sightings": lambda record: (-count_sightings(record), natural(record.test)),
    "rate": lambda record: (-rate_of(record), natural(record.test)),
    "started": lambda record: (record.started, natural(record.test)),
}


def rate_of(record: Record) -> float:
    """Sightings of the weak outcome per iteration; 0 without iterations."""
    return count_sightings(record) / record.iterations if record.iterations else 0.0


def sort_records(records: Records, order: str = "test") -> list[Record]:
    """The records in one of the `ORDERS`."""
    return sorted(records, key=ORDERS[order])


def sum_records(records: Records, by_incantation: bool = False) -> list[Record]:
    """One record for each test and chip; histograms are added up. What is not evidence is left out."""
    return [_sum(group) for group in group_records(records, by_incantation).values()]


def average_records(records: Records, by_incantation: bool = False) -> list[Record]:
    """The mean of the rates of all records of a test on a chip, in 100,000 iterations."""
    averages = []
    for group in group_records(records, by_incantation).values():
        shares = [normalize_record(record) for record in group]
        mean = round(sum(record.positive for record in shares) / len(shares))
        positive = mean or int(any(record.positive for record in shares))
        base = _common_record(group, ("average of", format_count(len(group), "record")))
        averages.append(replace(base, iterations=PER, positive=positive, negative=PER - positive, histogram=()))
    return averages


def normalize_record(record: Record, iterations: int = PER) -> Record:
    """The counts scaled to so many iterations; a count above zero never becomes zero, one below all never all."""
    if not record.iterations or record.iterations == iterations:
        return record
    positive = _share(record.positive, record.iterations, iterations)
    weak = tuple(entry for entry in record.histogram if entry.weak)
    others = tuple(entry for entry in record.histogram if not entry.weak)
    marked = sum(entry.count for entry in weak) == record.positive
    if marked:
        scaled = {**_shares(weak, positive), **_shares(others, iterations - positive)}
    else:
        scaled = _shares(record.histogram, iterations)
    histogram = tuple(replace(entry, count=scaled[entry.outcome]) for entry in record.histogram)
    said = (*record.options, ("normalized from", f"{record.positive}/{record.iterations}"))
    scaled_record = replace(
        record,
        iterations=iterations,
        positive=positive,
        negative=iterations - positive,
        histogram=histogram if sum(entry.count for entry in histogram) == iterations else (),
        launch_sums=None,
        options=said,
    )
    return keep_doubt(record, scaled_record)


def merge_records(records: Records) -> tuple[list[Record], list[Record]]:
    """All records, and of those of the same test, chip and incantation the first only; and what was left out."""
    seen: set[Key] = set()
    kept: list[Record] = []
    dropped: list[Record] = []
    for record in records:
        key = key_of(record, True)
        (dropped if key in seen else kept).append(record)
        seen.add(key)
    return kept, dropped


def keep_best(records: Records) -> list[Record]:
    """For each test and chip the record whose incantation showed the most."""
    return [max(group, key=rate_of) for group in group_records(records).values()]


def group_records(records: Iterable[Record], by_incantation: bool = False) -> dict[Key, list[Record]]:
    """The records that are evidence, by test and chip, in the order of the log."""
    groups: dict[Key, list[Record]] = defaultdict(list)
    for record in records:
        if decide_sighting(record).sighting.is_evidence:
            groups[key_of(record, by_incantation)].append(record)
    return groups


def key_of(record: Record, by_incantation: bool = False) -> Key:
    """The key of a record; tests with the same name and different hashes are different tests."""
    return (
        f"{record.test}\n{record.hash}",
        name_chip(record),
        incantation_label(record.options) if by_incantation else "",
    )


@dataclass(frozen=True, slots=True)
class Filter:
    """Which records to keep; a filter that is not set keeps all."""

    tests: tuple[str, ...] = ()  # patterns with * and ?
    chips: tuple[str, ...] = ()
    incantations: tuple[str, ...] = ()
    observed: bool | None = None
    evidence: bool | None = None
    least: int = 0  # iterations

    def places(self, columns: Columns) -> list[int]:
        apart = set_apart(columns) if self.evidence is not None else {}
        return [place for place in range(len(columns)) if self._keeps(columns, place, apart)]

    def _keeps(self, columns: Columns, place: int, apart: dict[int, str]) -> bool:
        chip, memory = columns["chip"][place], memory_of_text(columns["options"][place])
        for names, patterns in (
            ((columns["test"][place],), self.tests),
            ((chip, name_with_memory(chip, memory)), self.chips),
            ((columns["incantation"][place],), self.incantations),
        ):
            if patterns and not any(fnmatchcase(name, pattern) for name in names for pattern in patterns):
                return False
        if self.evidence is not None and (place not in apart) != self.evidence:
            return False
        sighted = "negative" if columns["condition"][place].startswith("forall") else "positive"
        if self.observed is not None and (columns[sighted][place] > 0) != self.observed:
            return False
        return bool(columns["iterations"][place] >= self.least)


def rename_records(
    columns: Columns, tests: Iterable[str], chips: Iterable[str], file: str | None, regex: Sequence[str] | None
) -> int:
    """Rename tests and chips, given as `OLD=NEW`, in a file of pairs, or by a pattern and its replacement for tests.

    Returns how many names were changed.
    """
    new_tests, new_chips = _read_pairs(tests), _read_pairs(chips)
    if file:
        new_tests |= read_names(file)
    if not new_tests and not new_chips and not regex:
        raise InputError("nothing to rename: give --test OLD=NEW, --chip OLD=NEW, --map FILE or --regex PATTERN NEW")
    changed = _rename_entries(columns, "test", lambda name: new_tests.get(name, name))
    changed += _rename_entries(columns, "chip", lambda name: new_chips.get(name, name))
    if regex:
        try:
            pattern = re.compile(regex[0])
            changed += _rename_entries(columns, "test", lambda name: pattern.sub(regex[1], name))
        except (re.error, IndexError) as error:
            raise InputError(f"{regex[0]!r} is not a regular expression: {error}") from None
    return changed


def _read_pairs(words: Iterable[str]) -> dict[str, str]:
    pairs = {}
    for word in words:
        old, equals, new = word.partition("=")
        if not equals or not old or not new:
            raise InputError(f"{word!r}: expected OLD=NEW")
        pairs[old] = new
    return pairs


def read_names(path: str) -> dict[str, str]:
    """A file of old and new names, two on a line; raises `InputError`."""
    pairs = {}
    for number, line in enumerate(read_text(path).splitlines(), 1):
        words = line.split()
        if words and len(words) != 2:
            message = "an old and a new name are expected"
            raise InputError(message, path=path, line=number, column=1, source=line)
        if words:
            pairs[words[0]] = words[1]
    return pairs


def _rename_entries(columns: Columns, column: str, change: Callable[[str], str]) -> int:
    before = columns[column]
    columns.lists[column] = [change(name) for name in before]
    return sum(1 for old, new in zip(before, columns[column], strict=True) if old != new)


@dataclass(frozen=True, slots=True)
class ComparedTest:
    """A test of two logs, with its counts in each; None where a log does not have it."""

    test: str
    counts: tuple[Count | None, Count | None]
    doubted: tuple[bool, bool] = (False, False)  # whether a log has only records that are no evidence

    @property
    def in_both(self) -> bool:
        return None not in self.counts

    @property
    def relations(self) -> tuple[str, ...]:
        """What the first log is here; a test that the second does not have counts as the opposite answer there.

        A test of which the second has no evidence counts as nothing.
        """
        one, other = self.counts
        if one is None or self.doubted[1]:
            return ()
        if other is None:
            return ("weaker",) if one.sightings else ("stronger",)
        if bool(one.sightings) == bool(other.sightings):
            return ("equal",)
        return ("weaker",) if one.sightings else ("stronger",)

    def contradicts(self, claim: str) -> bool:
        """Whether a test of both logs shows that the first is not `equal`, `stronger-or-equal`, `weaker-or-equal`."""
        return not set(self.relations) <= {"equal", *CLAIMS[claim]}

    def as_json(self) -> dict[str, object]:
        """The test and its counts, as plain values."""
        counts = [c and {"sightings": c.sightings, "iterations": c.iterations} for c in self.counts]
        doubted = [name for name, doubt in zip(("first", "second"), self.doubted, strict=True) if doubt]
        return {
            "test": self.test, "first": counts[0], "second": counts[1], "relations": list(self.relations),
            "no_evidence": doubted,
        }  # fmt: skip

    def cell(self, log: int) -> str:
        """The counts of the first log (0) or the second (1), as text."""
        count = self.counts[log]
        if count is None:
            return str(Sighting.NO_EVIDENCE) if self.doubted[log] else "--"
        return f"{count.sightings:,}/{count.iterations:,}"


def compare_tests(first: Columns, second: Columns) -> list[ComparedTest]:
    """Every test of two logs, by name, as the literature compares logs: a test is observed or it is not.

    All records of a log are added up, whatever their chips.
    """
    both = Columns()
    both.extend(first)
    both.extend(second)
    logs = Chips([0] * len(first) + [1] * len(second), ["first", "second"])
    evidence = gather(both, logs)
    ones, others = evidence.counts
    names = evidence.matching.names
    first_tests, second_tests = set(evidence.matching.tests[: len(first)]), set(evidence.matching.tests[len(first) :])
    return [
        ComparedTest(
            names[test],
            (ones.get(test), others.get(test)),
            (test in first_tests and test not in ones, test in second_tests and test not in others),
        )
        for test in sorted({*ones, *others}, key=lambda test: natural(names[test]))
    ]


def _sum(group: list[Record]) -> Record:
    if len(group) == 1:
        return group[0]
    counts: Counter[str] = Counter()
    weak: dict[str, bool] = {}
    for record in group:
        for entry in record.histogram:
            counts[entry.outcome] += entry.count
            weak[entry.outcome] = weak.get(entry.outcome, False) or entry.weak
    spellings = {normal_text(record.text) for record in group if record.text}  # one meaning, but other names
    whole = all(record.histogram for record in group) and len(spellings) < 2
    histogram = tuple(OutcomeCount(outcome, count, weak[outcome]) for outcome, count in counts.items())
    return replace(
        _common_record(group, ("sum of", format_count(len(group), "record"))),
        iterations=sum(record.iterations for record in group),
        positive=sum(record.positive for record in group),
        negative=sum(record.negative for record in group),
        seconds=sum(record.seconds for record in group),
        histogram=histogram if whole else (),
        liveness=add_liveness(record.liveness for record in group),
        launch_sums=add_launch_sums(record.launch_sums for record in group),
    )


def _common_record(group: list[Record], what: tuple[str, str]) -> Record:
    """What all records of a group have in common."""
    first = group[0]
    same = {
        name: getattr(first, name)
        for name in COMMON
        if all(getattr(record, name) == getattr(first, name) for record in group)
    }
    options = tuple(pair for pair in first.options if all(pair in record.options for record in group))
    return Record(first.test, chip=first.chip, options=(*options, what), optcheck=first.optcheck, **same)


def _share(count: int, total: int, goal: int) -> int:
    scaled = round(count * goal / total)
    return min(max(scaled, int(count > 0)), goal - int(count < total))


def _shares(entries: Sequence[OutcomeCount], goal: int) -> dict[str, int]:
    """Counts in proportion that have this sum: the largest remainders are rounded up, nothing to 0."""
    total = sum(entry.count for entry in entries)
    if not total:
        return {entry.outcome: 0 for entry in entries}
    exact = {entry.outcome: entry.count * goal / total for entry in entries}
    shares = {outcome: max(int(share), int(share > 0)) for outcome, share in exact.items()}
    missing = goal - sum(shares.values())
    by_remainder = sorted(exact, key=lambda outcome: exact[outcome] - shares[outcome], reverse=True)
    for outcome in by_remainder[: max(0, missing)]:
        shares[outcome] += 1
    largest = sorted(shares, key=lambda outcome: shares[outcome], reverse=True)
    for outcome in largest[: max(0, -missing)]:
        shares[outcome] -= 1
    return shares
