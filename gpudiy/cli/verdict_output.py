"""Print verdicts as a table, texts, JSON lines or CSV."""

from __future__ import annotations

import csv
import json
import sys
from argparse import Namespace
from typing import Protocol

from gpudiy.models.deciding import DecidedTest
from gpudiy.models.verdict import Answer


class VerdictPrinter(Protocol):
    """Prints the verdicts on each test; `finish` prints the summary."""

    def show(self, decided: DecidedTest) -> None: ...

    def finish(self) -> None: ...


def choose_printer(arguments: Namespace, models: list[str]) -> VerdictPrinter:
    """The printer that the options ask for."""
    if arguments.json:
        return _Json()
    if arguments.csv:
        return _Csv(models)
    return _Texts(models) if arguments.all_outcomes or arguments.explain else _Table(models)


class _Table:
    """One line per test, one column per model; the first column is as wide as the first name needs."""

    def __init__(self, models: list[str]) -> None:
        self.models = models
        self.width = 0
        self.counts = dict.fromkeys(models, 0)
        self.tests = 0

    def show(self, decided: DecidedTest) -> None:
        if not decided.rows:
            return
        name = decided.rows[0].test
        if not self.tests:
            self.width = max(24, len(name) + 2)
            print(f"{'test':<{self.width}}" + "".join(f"{model:<{_column(model)}}" for model in self.models).rstrip())
        self.tests += 1
        for row in decided.rows:
            self.counts[row.model] += row.verdict is Answer.ALLOWED
        cells = "".join(f"{f'{row.verdict}  ':<{_column(row.model)}}" for row in decided.rows)
        name = name if len(name) < self.width - 1 else f"{name}  "
        print(f"{name:<{self.width}}{cells}".rstrip())

    def finish(self) -> None:
        if self.tests > 1:
            summary = ", ".join(f"{self.counts[model]:,} by {model}" for model in self.models)
            print(f"{self.tests:,} tests; allowed: {summary}")


def _column(model: str) -> int:
    return max(len(model), len(Answer.NOT_SUPPORTED)) + 2


class _Texts:
    def __init__(self, models: list[str]) -> None:
        self.models = models

    def show(self, decided: DecidedTest) -> None:
        for row in decided.rows:
            if row.text:
                if len(self.models) > 1:
                    print(f"Model {row.model}")
                print(row.text, end="\n\n")

    def finish(self) -> None:
        pass


class _Json:
    def show(self, decided: DecidedTest) -> None:
        for row in decided.rows:
            record: dict[str, object] = {
                "file": decided.file,
                "test": row.test,
                "content_hash": row.hash,
                "model": row.model,
                "verdict": row.verdict,
            }
            if row.holds is not None:
                record["holds"] = row.holds
                record["bounded"] = row.bounded
            if row.outcomes is not None:
                record["outcomes"] = row.outcomes
            elif row.text:
                record["explanation"] = row.text
            print(json.dumps(record))

    def finish(self) -> None:
        pass


class _Csv:
    def __init__(self, models: list[str]) -> None:
        self.writer = csv.writer(sys.stdout, lineterminator="\n")
        self.writer.writerow(["test", *models])

    def show(self, decided: DecidedTest) -> None:
        if decided.rows:
            self.writer.writerow([decided.rows[0].test, *(row.verdict for row in decided.rows)])

    def finish(self) -> None:
        pass
