"""Which chip is at least as strong as which: a chip is weaker when it shows what another does not.

A zero is only called a difference when it is worth something: when the rate that it rules out is below the rate that
the other chip certainly has.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import lru_cache
from math import ceil, log, log1p
from typing import TYPE_CHECKING, Any, Literal

from gpudiy.arguments import check_choice
from gpudiy.logs.chips import chips_of, logs_of
from gpudiy.logs.clustering import launch_bound
from gpudiy.logs.evidence import UNUSED, Count, EvidenceCounts, gather
from gpudiy.logs.frame import LogSource, open_log
from gpudiy.logs.log import LogError, LogProblem
from gpudiy.logs.statistics import CONFIDENCE, zero_bound

if TYPE_CHECKING:
    from pandas import DataFrame

PROGRAM_LINE = re.compile(r"^[^\n]*;[ \t]*$", re.MULTILINE)
COMPARISON = re.compile(r"[^<>!]=")
PAIRS_SHOWN = 3  # in one line
MANY = 1 << 30  # in place of a size that is not known


class Relation(StrEnum):
    """What the first chip of a pair is, against the second."""

    WEAKER = "weaker than"
    STRONGER = "stronger than"
    EQUAL = "as strong as"
    INCOMPARABLE = "neither weaker nor stronger than"
    UNDECIDED = "not distinguished from"  # differences were seen, but none that the counts support
    UNRELATED = "without a test in common with"

    @property
    def differs(self) -> bool:
        return self in (Relation.WEAKER, Relation.STRONGER, Relation.INCOMPARABLE)


@dataclass(frozen=True, slots=True)
class Difference:
    """A test that one chip of a pair showed and the other did not."""

    test: int
    shown: Count
    missing: Count
    supported: bool  # whether the zero is worth calling a difference


@dataclass(frozen=True, slots=True)
class Pair:
    """Two chips: `weaker` is what only the first showed, `stronger` what only the second did, smallest tests first."""

    first: int
    second: int
    common: int  # tests that both have counts for
    both: int  # tests whose weak outcome both showed
    weaker: tuple[Difference, ...]
    stronger: tuple[Difference, ...]

    @property
    def relation(self) -> Relation:
        if not self.common:
            return Relation.UNRELATED
        weaker = any(difference.supported for difference in self.weaker)
        stronger = any(difference.supported for difference in self.stronger)
        if weaker and stronger:
            return Relation.INCOMPARABLE
        if weaker or stronger:
            return Relation.WEAKER if weaker else Relation.STRONGER
        return Relation.UNDECIDED if self.weaker or self.stronger else Relation.EQUAL

    @property
    def doubtful(self) -> tuple[Difference, ...]:
        """Differences that the counts do not support."""
        return tuple(difference for difference in (*self.weaker, *self.stronger) if not difference.supported)


@dataclass(frozen=True, slots=True)
class ChipComparison:
    """Every pair of chips, in the order of the logs; `evidence` has their names, their tests and the counts."""

    evidence: EvidenceCounts
    pairs: tuple[Pair, ...]
    problems: tuple[LogProblem, ...] = ()

    @property
    def differs(self) -> bool:
        """Whether any two chips differ, as far as the counts support it."""
        return any(pair.relation.differs for pair in self.pairs)

    @property
    def order(self) -> list[tuple[str, str, Pair]]:
        """The steps of `strength_order`, each with the name of its stronger chip and of its weaker one."""
        names = self.evidence.chips.names
        steps = []
        for pair in strength_order(list(self.pairs)):
            ends = names[pair.first], names[pair.second]
            stronger, weaker = ends if pair.relation is Relation.STRONGER else ends[::-1]
            steps.append((stronger, weaker, pair))
        return steps

    @property
    def frame(self) -> DataFrame:
        """One row per pair of chips: first, relation, second, common, both, only_first, only_second, undecided.

        The last five count tests: those that both chips have counts for, those whose weak outcome both showed, those
        that only the first or only the second chip showed, and those of them that more iterations must decide.
        """
        import pandas

        names = self.evidence.chips.names
        columns = ["first", "relation", "second", "common", "both", "only_first", "only_second", "undecided"]
        rows = [
            (names[pair.first], str(pair.relation), names[pair.second], pair.common, pair.both, len(pair.weaker),
             len(pair.stronger), len(pair.doubtful))
            for pair in self.pairs
        ]  # fmt: skip
        return pandas.DataFrame(rows, columns=columns)

    def __repr__(self) -> str:
        names = self.evidence.chips.names
        shown = [f"{names[pair.first]} is {pair.relation} {names[pair.second]}" for pair in self.pairs[:PAIRS_SHOWN]]
        more = f"; and {len(self.pairs) - PAIRS_SHOWN:,} more pairs" if len(self.pairs) > PAIRS_SHOWN else ""
        return f"<ChipComparison: {'; '.join(shown)}{more}>"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return self.frame.to_html(index=False)

    def as_json(self) -> dict[str, Any]:
        """Everything, as plain values."""
        evidence = self.evidence
        return {
            "chips": [
                {
                    "chip": name,
                    "tests": len(counts),
                    "observed": sum(1 for count in counts.values() if count.sightings),
                    "iterations": sum(count.iterations for count in counts.values()),
                }
                for name, counts in zip(evidence.chips.names, evidence.counts, strict=True)
            ],
            "pairs": [self._pair_json(pair) for pair in self.pairs],
            "order": [(stronger, weaker) for stronger, weaker, _ in self.order],
            "apart": dict(evidence.apart),
            "clashes": list(evidence.matching.clashes),
            "problems": [problem.as_json() for problem in self.problems],
        }

    def _pair_json(self, pair: Pair) -> dict[str, Any]:
        names = self.evidence.chips.names
        return {
            "first": names[pair.first],
            "second": names[pair.second],
            "relation": str(pair.relation),
            "common": pair.common,
            "both": pair.both,
            "weaker": [self._difference_json(difference) for difference in pair.weaker],
            "stronger": [self._difference_json(difference) for difference in pair.stronger],
        }

    def _difference_json(self, difference: Difference) -> dict[str, Any]:
        shown, missing = difference.shown, difference.missing
        found, over = shown.rate(), shown.rate_by_launches()
        return {
            "test": self.evidence.matching.names[difference.test],
            "sightings": shown.sightings,
            "iterations": shown.iterations,
            "rate": found.value,
            "low": found.low,
            "high": found.high,
            "other_iterations": missing.iterations,
            "clustered": None if over is None else asdict(over),
            "other_bound": zero_bound(missing.iterations),
            "other_launches": None if missing.launches is None else missing.launches.count,
            "other_launch_bound": launch_bound(missing.launches),
            "supported": difference.supported,
        }


def compare(logs: LogSource, *, by: Literal["chip", "log"] | None = None) -> ChipComparison:
    """Compare the chips of logs: `gpudiy.compare(["titan.log", "gtx750.log"])`.

    `logs` are paths, records, or a DataFrame of records. Where all are about one chip, logs are compared with each
    other; `by` ("chip" or "log") says which. Raises `InputError` where there is nothing to compare.
    """
    if by is not None:
        check_choice(by, ("chip", "log"), "by")
    log = open_log(logs, UNUSED)
    chips = logs_of(log.columns) if by == "log" else chips_of(log.columns)
    if by is None and len(chips.names) == 1:
        chips = logs_of(log.columns)
    if len(chips.names) < 2:
        raise LogError(f"these logs are all about {chips.names[0]}: there is nothing to compare it with")
    evidence = gather(log.columns, chips)
    return ChipComparison(evidence, tuple(compare_chips(evidence)), log.problems)


def compare_chips(evidence: EvidenceCounts, confidence: float = CONFIDENCE) -> list[Pair]:
    """Every pair of chips, in the order of the logs."""
    count = len(evidence.counts)
    return [
        compare_pair(evidence, first, second, confidence)
        for first in range(count)
        for second in range(first + 1, count)
    ]


def compare_pair(evidence: EvidenceCounts, first: int, second: int, confidence: float = CONFIDENCE) -> Pair:
    """Compare two chips, given by their numbers, over the tests that both of them ran."""
    ones, others = evidence.counts[first], evidence.counts[second]
    weaker: list[Difference] = []
    stronger: list[Difference] = []
    common = both = 0
    for test, one in ones.items():
        other = others.get(test)
        if other is None:
            continue
        common += 1
        if one.sightings and other.sightings:
            both += 1
        elif one.sightings:
            weaker.append(Difference(test, one, other, is_supported(one, other, confidence)))
        elif other.sightings:
            stronger.append(Difference(test, other, one, is_supported(other, one, confidence)))
    return Pair(first, second, common, both, _smallest(evidence, weaker), _smallest(evidence, stronger))


def is_supported(shown: Count, missing: Count, confidence: float = CONFIDENCE) -> bool:
    """Whether the zero rules out the least rate that the sightings allow, also if launches differ as they did."""
    bound = zero_bound(missing.iterations, confidence)
    over = shown.rate_by_launches(confidence)
    if over is not None and over.low <= bound:
        return False
    expected = shown.iterations * bound
    seen = shown.sightings
    if seen <= expected:
        return False
    tail = (1 - confidence) / 2
    if seen - expected + seen * log(expected / seen) < log(tail):  # Chernoff: so many more are certainly too many
        return True
    return shown.rate(confidence).low > bound


def strength_order(pairs: list[Pair]) -> list[Pair]:
    """The steps of the order: pairs of a stronger and a weaker chip with no chip in between.

    A chip is in between only if it was compared on as many tests as the two were.
    """
    below: dict[tuple[int, int], Pair] = {}
    for pair in pairs:
        if pair.relation is Relation.STRONGER:
            below[pair.first, pair.second] = pair
        elif pair.relation is Relation.WEAKER:
            below[pair.second, pair.first] = pair
    return [pair for ends, pair in sorted(below.items()) if not _has_between(ends, pair, below)]


def iterations_for_difference(difference: Difference, confidence: float = CONFIDENCE) -> int:
    """Iterations without a sighting that would make a difference of it."""
    over = difference.shown.rate_by_launches(confidence)
    least = min(difference.shown.rate(confidence).low, 1.0 if over is None else over.low)
    return ceil(log(1 - confidence) / log1p(-least))


def _has_between(ends: tuple[int, int], pair: Pair, below: dict[tuple[int, int], Pair]) -> bool:
    stronger, weaker = ends
    return any(
        above.common >= pair.common and beneath.common >= pair.common
        for (one, between), above in below.items()
        if one == stronger and (beneath := below.get((between, weaker))) is not None
    )


def _smallest(evidence: EvidenceCounts, differences: list[Difference]) -> tuple[Difference, ...]:
    """Those that counts support first, and among them the smallest tests."""
    columns = evidence.columns

    def order(difference: Difference) -> tuple[bool, tuple[int, int, int], int, str]:
        place = difference.shown.record
        size = size_of_test(columns["text"][place], columns["condition"][place], columns["test"][place])
        return not difference.supported, size, -difference.shown.sightings, columns["test"][place]

    return tuple(sorted(differences, key=order))


@lru_cache(maxsize=1 << 15)
def size_of_test(text: str, condition: str, name: str) -> tuple[int, int, int]:
    """Instructions, comparisons of the condition, length of the name; what is not known counts as large."""
    program = text.partition("}")[2] if "{" in text else text
    lines = PROGRAM_LINE.findall(program)[1:]  # the first names the threads
    instructions = sum(1 for line in lines for cell in line.rstrip(" \t;").split("|") if cell.strip())
    return instructions or MANY, len(COMPARISON.findall(condition)) or MANY, len(name)
