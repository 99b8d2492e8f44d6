"""CSV of counts: one row per record, or, as in papers, one row per test and one column per chip or incantation."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from typing import Any

from gpudiy.logs.columns import LAUNCH_SUMS, LIVENESS, NAMES, Columns, read_pairs, row_of
from gpudiy.logs.log import LogError, LogProblem
from gpudiy.logs.record import Ending, Record, options_of_column

ITERATIONS = 100_000  # what papers count in
ALIASES = {"observed": "positive", "runs": "iterations", "name": "test"}
ABOUT_TEST = ("placement", "threads", "memory", "config", "variant")  # what distinguishes two rows of one test
ABOUT_SOURCE = ("source", "where", "table", "figure")
INCANTATION = re.compile(r"c([1-9]|1[0-6])")
ARCHITECTURE = re.compile(r"(Tesla|Fermi|Kepler|Maxwell|Pascal|Volta|Turing|Ampere|Hopper)_(.+)")
WORD_BREAK = re.compile(r"(?<=[A-Z]{2})(?=[A-Z][a-z]|\d)|(?<=[a-z])(?=[A-Z])")
MOST_DIGITS = 18
UNKNOWN = ("", "n/a", "-", "--", "na", "NaN")
PLAIN_TEXT = (
    "hash",
    "condition",
    "device",
    "architecture",
    "driver",
    "toolkit",
    "optcheck",
    "reason",
    "started",
    "tool",
    "no_evidence",
)
COUNTERS = (*LIVENESS, *LAUNCH_SUMS)


def looks_like_counts(header: Sequence[str]) -> bool:
    """Whether the header of a CSV file names a column of tests."""
    return len(header) > 1 and bool({"test", "name"} & {name.strip().lower() for name in header})


def read_counts(text: str, path: str) -> tuple[Columns, list[LogProblem]]:
    """The records of a CSV file, and each cell that is not a count."""
    return _Counts(path, csv.DictReader(io.StringIO(text), strict=False)).read()


def chip_name(column: str) -> tuple[str, str]:
    """Chip and architecture that a column means: `Kepler_GTXTitan` is a GTX Titan, a Kepler."""
    known = ARCHITECTURE.fullmatch(column)
    name, architecture = (known[2], known[1]) if known else (column, "")
    return WORD_BREAK.sub(" ", name), architecture


def _options(text: str) -> tuple[tuple[str, str], ...]:
    """Options as gpudiy writes them; other words are kept as they are."""
    try:
        return read_pairs(text) if text.startswith("{") or not text else (("options", text),)
    except ValueError:
        return (("options", text),)


class _Counts:
    def __init__(self, path: str, rows: csv.DictReader[str]) -> None:
        self.path = path
        self.rows = rows
        self.problems: list[LogProblem] = []
        self.found: list[dict[str, Any]] = []
        given = [name.strip() for name in rows.fieldnames or ()]
        rows.fieldnames = [ALIASES.get(name.lower(), name) for name in given]
        self.names = list(rows.fieldnames)
        known = (*NAMES, *ABOUT_TEST, *ABOUT_SOURCE)
        self.counted = [name for name in self.names if name not in known]
        if len(set(self.names)) < len(self.names):
            raise LogError("this CSV has two columns of the same name", path=path, line=1)
        if "positive" not in self.names and not self.counted:
            raise LogError("this CSV has no column of counts: `positive`, or one for each chip", path=path, line=1)

    def read(self) -> tuple[Columns, list[LogProblem]]:
        for row in self.rows:
            line = self.rows.line_num
            if None in row or any(value is None for value in row.values()):
                self._problem(line, "this row has not as many cells as the header", row.get("test") or "")
            elif not row["test"].strip():
                self._problem(line, "this row names no test", "")
            elif "positive" in self.names:
                self._long(row, line)
            else:
                self._wide(row, line)
        columns = Columns()
        columns.extend_rows(self.found)
        return columns, self.problems

    def _long(self, row: dict[str, str], line: int) -> None:
        """One row per record."""
        options = tuple((name, row[name]) for name in self.counted if row[name]) + _options(row.get("options", ""))
        counted = ("positive", "negative", "iterations", *COUNTERS)
        counts = {name: self._count(row, name, line) for name in counted if name in row}
        if any(count == -1 for count in counts.values()):
            return
        positive = counts.get("positive")
        if positive is None:
            return
        iterations = counts.get("iterations")
        if iterations is None:
            negative = counts.get("negative")
            iterations = ITERATIONS if negative is None else positive + negative
        extra: dict[str, Any] = {name: row[name] for name in PLAIN_TEXT if row.get(name)}
        extra |= {name: counts[name] for name in COUNTERS if counts.get(name) is not None}
        if row.get("simulated", "").strip().lower() == "true":
            extra["simulated"] = True
        if row.get("ending"):
            try:
                extra["ending"] = str(Ending(row["ending"].strip()))
            except ValueError:
                self._problem(line, f"no run ends as {row['ending']!r}", row["test"])
                return
        self._add(row, line, positive, iterations, row.get("chip", "").strip(), options, extra)

    def _wide(self, row: dict[str, str], line: int) -> None:
        """One row per test: a column is a chip, or, where the row names its chip, an incantation."""
        for name in self.counted:
            count = self._count(row, name, line)
            if count is None or count == -1:
                continue
            column = INCANTATION.fullmatch(name)
            if "chip" in self.names and column:
                self._add(row, line, count, ITERATIONS, row["chip"], options_of_column(int(column[1])), {})
            elif "chip" in self.names:
                self._add(row, line, count, ITERATIONS, row["chip"], (("column", name),), {})
            else:
                chip, architecture = chip_name(name)
                extra = {"architecture": architecture} if architecture else {}
                self._add(row, line, count, ITERATIONS, chip, (), extra)

    def _add(
        self,
        row: dict[str, str],
        line: int,
        positive: int,
        iterations: int,
        chip: str,
        options: tuple[tuple[str, str], ...],
        extra: dict[str, Any],
    ) -> None:
        if positive > iterations:
            self._problem(line, f"{positive:,} sightings cannot be in {iterations:,} iterations", row["test"])
            return
        about = [row[name].strip() for name in ABOUT_TEST if row.get(name, "").strip()]
        test = row["test"].strip() + (f" ({', '.join(about)})" if about else "")
        source = " ".join(
            f"{name} {row[name]}" if name in ("table", "figure") else row[name]
            for name in ABOUT_SOURCE
            if row.get(name)
        )
        record = Record(
            test,
            chip=chip,
            positive=positive,
            negative=iterations - positive,
            iterations=iterations,
            options=options,
            source=source,
        )
        self.found.append({**row_of(record), **extra, "file": self.path, "line": line})

    def _count(self, row: dict[str, str], name: str, line: int) -> int | None:
        """The count of a cell; None where nothing was counted, -1 after a problem."""
        text = row[name].strip().replace(",", "").replace("_", "")
        if text in UNKNOWN:
            return None
        if text.isdecimal() and len(text) <= MOST_DIGITS:
            return int(text)
        wrong = "nothing is counted below 0" if re.fullmatch(r"-\d+", text) else "this is not a count"
        self._problem(line, f"{name} is {row[name]!r}: {wrong}", row["test"])
        return -1

    def _problem(self, line: int, message: str, test: str) -> None:
        self.problems.append(LogProblem(self.path, line, message, test=test))
