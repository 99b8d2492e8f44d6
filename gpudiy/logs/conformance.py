"""Logs compared with a model: what was observed although forbidden, and what is allowed but was never observed."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpudiy.litmus import condition as logic
from gpudiy.litmus.comparison import Comparison
from gpudiy.litmus.errors import LitmusError
from gpudiy.litmus.loading import TestSource, read_all
from gpudiy.litmus.outcome import FinalState, Outcome, final_state, read_outcome
from gpudiy.litmus.reader import read_test
from gpudiy.litmus.test import Test
from gpudiy.logs.chips import chips_of
from gpudiy.logs.clustering import ClusteredRate, add_launches, clustered_rate, launches_by_record
from gpudiy.logs.columns import Columns
from gpudiy.logs.evidence import set_apart, sightings_by_record
from gpudiy.logs.frame import LogSource, open_log
from gpudiy.logs.histogram import LINE
from gpudiy.logs.log import LogProblem
from gpudiy.logs.matching import match_tests, normal_text
from gpudiy.logs.statistics import rate, zero_bound
from gpudiy.models.explanation import explain
from gpudiy.models.library import load_model
from gpudiy.models.model import Model
from gpudiy.models.problems import OutOfTime
from gpudiy.models.report import explanation_text
from gpudiy.models.verdict import Answer, Verdict, decide

if TYPE_CHECKING:
    from pandas import DataFrame

ROWS_SHOWN = 60  # in a notebook
BOUNDED_REASON = f"{Answer.BOUNDED}: a loop may go round more often than was looked at"


class Agreement(StrEnum):
    """How what a chip showed of a test agrees with what a model says of it."""

    ALLOWED = "observed and allowed"
    FORBIDDEN = "observed but forbidden"
    NEVER = "allowed but never observed"
    NEITHER = "forbidden and never observed"


@dataclass(frozen=True, slots=True)
class Breach:
    """An outcome that a chip showed and the model forbids."""

    test: str
    chip: str
    outcome: str
    count: int
    iterations: int
    checks: tuple[str, ...]  # the constraints that forbid it; none if no run of the threads ends like this
    explanation: str
    place: str  # file and line of a record that shows it


@dataclass(frozen=True, slots=True)
class ConformanceRow:
    """One test on one chip."""

    test: str
    chip: str
    answer: Agreement
    sightings: int
    iterations: int
    clustered: ClusteredRate | None = None  # the interval that respects launches, where they are known
    launches: int | None = None


@dataclass(frozen=True, slots=True)
class Conformance:
    """What all tests of a log say of a model, and every breach of it."""

    model: str
    judged: tuple[ConformanceRow, ...]
    findings: tuple[Breach, ...]
    apart: Counter[str]  # records that are not evidence, or cannot be judged, by reason
    clashes: tuple[str, ...]
    problems: tuple[LogProblem, ...] = ()

    def count(self, answer: Agreement) -> int:
        """How many pairs of a test and a chip have this answer."""
        return sum(1 for entry in self.judged if entry.answer is answer)

    @property
    def frame(self) -> DataFrame:
        """One row per test and chip: test, chip, answer, sightings, iterations."""
        import pandas

        names = ["test", "chip", "answer", "sightings", "iterations"]
        rows = [(row.test, row.chip, str(row.answer), row.sightings, row.iterations) for row in self.judged]
        return pandas.DataFrame(rows, columns=names)

    def __repr__(self) -> str:
        counts = ", ".join(f"{self.count(answer):,} {answer}" for answer in Agreement if self.count(answer))
        return f"<Conformance to {self.model}: {counts or 'no record could be judged'}>"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return f"<p>{escape(repr(self)[1:-1])}</p>{self.frame.to_html(index=False, max_rows=ROWS_SHOWN)}"

    def as_json(self) -> dict[str, Any]:
        """Everything, as plain values."""
        return {
            "model": self.model,
            "counts": {str(answer): self.count(answer) for answer in Agreement},
            "findings": [asdict(finding) for finding in self.findings],
            "tests": [_row_json(row) for row in self.judged],
            "apart": dict(self.apart),
            "clashes": list(self.clashes),
            "problems": [problem.as_json() for problem in self.problems],
        }


@dataclass(slots=True)
class _Group:
    """The records of one test on one chip that are evidence."""

    test: int
    chip: int
    records: list[int]


def conform(
    logs: LogSource,
    model: Model | str | Path,
    *,
    tests: TestSource = (),
    limit: float | None = None,
    watch: Callable[[list[_Group]], Iterable[_Group]] = iter,
) -> Conformance:
    """Hold logs against a model: `gpudiy.conform("titan.log", "ptx-6.0")`.

    `logs` are paths, records, or a DataFrame of records; `model` is a name of the library or a `.cat` file. `tests` (a
    test or a path, or several) are those of records that hold only the name of their test. After `limit` seconds a test
    is given up. An unknown model or a path that is no log raises `InputError`.
    """
    model = load_model(model)
    known = {test.name: test for test in read_all(tests)}
    log = open_log(logs)
    columns = log.columns
    matching, chips = match_tests(columns), chips_of(columns)
    why = set_apart(columns)
    apart: Counter[str] = Counter(why.values())
    groups: dict[tuple[int, int], _Group] = {}
    for place, key in enumerate(zip(matching.tests, chips.chips, strict=True)):
        if place not in why:
            groups.setdefault(key, _Group(*key, [])).records.append(place)
    judge = _Judge(columns, model, known, limit, apart)
    judged: list[ConformanceRow] = []
    findings: list[Breach] = []
    for group in watch(list(groups.values())):
        answer = judge.judge(group, matching.names[group.test], chips.names[group.chip])
        if answer is not None:
            judged.append(answer[0])
            findings += answer[1]
    return Conformance(model.name, tuple(judged), tuple(findings), apart, matching.clashes, log.problems)


class _Judge:
    def __init__(
        self, columns: Columns, model: Model, tests: Mapping[str, Test], limit: float | None, apart: Counter[str]
    ) -> None:
        self.columns, self.model, self.tests, self.limit, self.apart = columns, model, tests, limit, apart
        self.seen = sightings_by_record(columns)
        self.launches = launches_by_record(columns)
        self.decided: dict[tuple[int, str], _Decided | str] = {}
        self.explained: dict[Test, tuple[tuple[str, ...], str]] = {}

    def judge(self, group: _Group, name: str, chip: str) -> tuple[ConformanceRow, list[Breach]] | None:
        judged: list[tuple[_Decided, list[int]]] = []
        for places in self._spellings(group):
            decided = self._look_up(group.test, places)
            if isinstance(decided, str):
                self.apart[decided] += len(places)
            elif decided.bounded and self._find_unlisted(decided, places):
                self.apart[BOUNDED_REASON] += len(places)  # the outcome may be one of the runs that were left out
            else:
                judged.append((decided, places))
        if not judged:
            return None
        records = [place for _, places in judged for place in places]
        sighted = sum(self.seen[place] for place in records)
        iterations = sum(self.columns["iterations"][place] for place in records)
        findings = [found for one, places in judged for found in self._breaches(one, places, name, chip, iterations)]
        decided = judged[0][0]
        if sighted and not decided.allowed:
            answer = Agreement.FORBIDDEN
            if not findings:
                findings = [self._breach(decided, None, sighted, iterations, name, chip, records[0])]
        elif findings:
            answer = Agreement.FORBIDDEN
        elif sighted:
            answer = Agreement.ALLOWED
        else:
            answer = Agreement.NEVER if decided.allowed else Agreement.NEITHER
        launches = add_launches(self.launches[place] for place in records)
        over = clustered_rate(sighted, iterations, launches)
        count = None if launches is None else launches.count
        return ConformanceRow(name, chip, answer, sighted, iterations, over, count), findings

    def _spellings(self, group: _Group) -> list[list[int]]:
        """The records by the text of their test: tests of one meaning may name their registers in another order."""
        texts = [normal_text(self.columns["text"][place]) for place in group.records]
        usual = next(filter(None, texts), "")
        found: dict[str, list[int]] = {}
        for place, text in zip(group.records, texts, strict=True):
            found.setdefault(text or usual, []).append(place)
        return list(found.values())

    def _look_up(self, number: int, places: list[int]) -> _Decided | str:
        key = number, next(filter(None, (normal_text(self.columns["text"][place]) for place in places)), "")
        if key not in self.decided:
            self.decided[key] = self._decide(places)
        return self.decided[key]

    def _decide(self, places: list[int]) -> _Decided | str:
        """What the model says of a test, or why it cannot say."""
        test = self._test(places)
        if isinstance(test, str):
            return test
        verdict = decide(test, self.model, limit=self.limit)
        if verdict.undecided:
            return _why_undecided(verdict)
        every = replace(test, filter=None, locations=test.observed)  # a histogram knows no filter
        found: Iterable[Outcome] = ()
        bounded = False
        if any(self.columns["histogram"][place] for place in places):
            listed = decide(every, self.model, limit=self.limit, all_outcomes=True)
            if listed.outcomes is None:
                return _why_undecided(listed)
            found, bounded = listed.outcomes, listed.bounded
        allowed = [final_state(every, outcome) for outcome in found]
        return _Decided(test, verdict.allowed, allowed, frozenset(every.observed), bounded)

    def _test(self, places: list[int]) -> Test | str:
        problem = "without the text of its test"
        for place in places:
            text = self.columns["text"][place]
            if not text:
                continue
            try:
                return read_test(text, self.columns["file"][place] or "<log>")
            except LitmusError as error:
                problem = f"its test cannot be read: {error.message}"
        return self.tests.get(self.columns["test"][places[0]], problem)

    def _breaches(self, decided: _Decided, places: list[int], name: str, chip: str, iterations: int) -> list[Breach]:
        return [
            self._breach(decided, (outcome, shown), count, iterations, name, chip, place)
            for outcome, (shown, count, place) in self._find_unlisted(decided, places).items()
        ]

    def _find_unlisted(self, decided: _Decided, places: list[int]) -> dict[str, tuple[FinalState, int, int]]:
        """The outcomes that were seen and are not among those of the model: how often, and where first."""
        counts: Counter[str] = Counter()
        first: dict[str, int] = {}
        for place in places:
            for count, _, outcome in LINE.findall(self.columns["histogram"][place]):
                if int(count):
                    counts[outcome] += int(count)
                    first.setdefault(outcome, place)
        shown = {outcome: read_outcome(outcome) for outcome in counts}
        return {
            outcome: (shown[outcome], count, first[outcome])
            for outcome, count in counts.items()
            if not decided.lists(shown[outcome])
        }

    def _breach(
        self,
        decided: _Decided,
        outcome: tuple[str, FinalState] | None,
        count: int,
        iterations: int,
        name: str,
        chip: str,
        place: int,
    ) -> Breach:
        """Why the model forbids the outcome; without one, what the condition of the test asks for."""
        test = decided.test if outcome is None else decided.asking(outcome[1])
        checks, explanation = self._explain(test)
        file, line = self.columns["file"][place], self.columns["line"][place]
        return Breach(
            name,
            chip,
            self.columns["condition"][place] if outcome is None else outcome[0],
            count,
            iterations,
            checks,
            explanation,
            f"{file}:{line}" if line else file,
        )

    def _explain(self, test: Test) -> tuple[tuple[str, ...], str]:
        if test not in self.explained:
            verdict = decide(test, self.model, limit=self.limit)
            if verdict.undecided:
                self.explained[test] = (), f"{test.name} is not explained in time"
            else:
                try:
                    explanation = explain(verdict, None if self.limit is None else time.monotonic() + self.limit)
                    self.explained[test] = explanation.checks, explanation_text(explanation)
                except OutOfTime:
                    self.explained[test] = (), f"{test.name} is not explained in time"
        return self.explained[test]


@dataclass(frozen=True, slots=True)
class _Decided:
    """What a model says of a test: of its condition, and of every outcome."""

    test: Test
    allowed: bool
    outcomes: list[FinalState]
    observed: frozenset[logic.Observable]
    bounded: bool  # there may be more outcomes

    def lists(self, outcome: FinalState) -> bool:
        """Whether an allowed outcome agrees with it in all that both speak of."""
        known = {term: value for term, value in outcome.items() if term in self.observed}
        return not known or any(
            all(allowed[term] == value for term, value in known.items()) for allowed in self.outcomes
        )

    def asking(self, outcome: FinalState) -> Test:
        """The test that asks for this outcome."""
        parts: tuple[logic.Expression, ...] = tuple(
            logic.Compare(Comparison.EQ, term, logic.Constant(value) if isinstance(value, int) else value)
            for term, value in outcome.items()
            if term in self.observed
        )
        return replace(self.test, filter=None, condition=logic.Condition(logic.Quantifier.EXISTS, logic.And(parts)))


def _row_json(row: ConformanceRow) -> dict[str, Any]:
    """A row with what its counts are worth: the interval of a rate, or the bounds of a zero."""
    if row.sightings:
        found = rate(row.sightings, row.iterations)
        return {**asdict(row), "low": found.low, "high": found.high}
    over = None if row.launches is None else zero_bound(row.launches)
    return {**asdict(row), "bound": zero_bound(row.iterations), "launch_bound": over}


def _why_undecided(verdict: Verdict) -> str:
    return f"{verdict.answer}: {verdict.reason}"
