"""Expected verdicts in a CSV file, and whether they came true."""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from pathlib import Path

from gpudiy.errors import ExitCode, InputError
from gpudiy.files import read_text
from gpudiy.models.deciding import DecidedTest
from gpudiy.models.verdict import UNDECIDED, Answer
from gpudiy.models.verdict_row import VerdictRow

PASS = {"1": True, "0": False, "pass": True, "fail": False}


@dataclass(slots=True)
class Expectations:
    """Rows `test or file,value`, with one value for all models or one column per model.

    A value is 1 or 0 (the condition holds or not), the word of a verdict, or undecided, whatever the reason.
    """

    path: str
    models: tuple[str, ...]  # of the columns, if the file has a header
    rows: dict[str, list[str]]
    met: set[str] = field(default_factory=set)
    agreed: int = 0
    differed: int = 0

    @staticmethod
    def read(path: str) -> Expectations:
        """The expectations in a CSV file; raises `InputError` pointing at what is wrong."""
        lines = list(csv.reader(read_text(path).splitlines()))
        models: tuple[str, ...] = ()
        if lines and lines[0] and lines[0][0] in ("test", "name", "file"):
            models = tuple(lines[0][1:])
            lines = lines[1:]
        rows: dict[str, list[str]] = {}
        for number, row in enumerate(lines, 2 if models else 1):
            if not row:
                continue
            values = [_read_value(value.strip().lower()) for value in row[1:]]
            if not values or None in values:
                message = "expected a test and 1, 0, allowed, forbidden, undecided or undecided (not supported)"
                raise InputError(message, path=path, line=number, column=1, source=",".join(row))
            rows[row[0].strip()] = [value for value in values if value is not None]
        if not rows:
            raise InputError("there is no expectation in this file", path=path)
        return Expectations(path, models, rows)

    def compare(self, decided: DecidedTest, *, within_bound: bool = False) -> str | None:
        """What is not as expected; None if all is, or nothing is expected of this test.

        With `within_bound` it is about the runs that were looked at: what a bound on loops leaves undecided is
        forbidden within that bound.
        """
        key = self._key(decided)
        if key is None:
            return None
        self.met.add(key)
        problems = []
        for index, value in enumerate(self.rows[key]):
            for row in decided.rows:
                if (not self.models or row.label == self.models[index]) and not _agrees(row, value, within_bound):
                    problems.append(f"{decided.file}: {row.test} is {row.verdict} by {row.label}, expected {value}")
        self.differed += bool(problems)
        self.agreed += not problems
        return "\n".join(problems) or None

    @property
    def summary(self) -> str:
        """How many tests were as expected, in one line."""
        missing = len(self.rows) - len(self.met)
        unasked = f"; {missing} of {self.path} are not among the tests" if missing else ""
        return f"{self.agreed} as expected, {self.differed} not{unasked}"

    @property
    def exit_code(self) -> ExitCode:
        """0 if all is as expected, 1 if a verdict is not, 2 if nothing was expected of any test."""
        if not self.met:
            return ExitCode.BAD_INPUT
        return ExitCode.NO if self.differed else ExitCode.FINE

    def _key(self, decided: DecidedTest) -> str | None:
        parts = Path(decided.file).parts
        for start in range(len(parts)):
            if str(Path(*parts[start:])) in self.rows:
                return str(Path(*parts[start:]))
        name = decided.rows[0].test
        return name if name in self.rows else None


def _read_value(text: str) -> str | None:
    """The value as it is compared; None if it is none."""
    if text in PASS or text == UNDECIDED:
        return text
    try:
        return Answer(text)
    except ValueError:
        return None


def _agrees(row: VerdictRow, value: str, within_bound: bool) -> bool:
    bounded = within_bound and row.verdict is Answer.BOUNDED
    if value == UNDECIDED:
        return row.verdict.undecided
    if value not in PASS:
        return row.verdict == value or (bounded and value == Answer.FORBIDDEN)
    if bounded or row.verdict is Answer.NO_RUN:  # no state was reached, and none breaks the claim
        return PASS[value] != row.exists
    return row.holds == PASS[value]
