"""Print verdicts as a table, texts, JSON lines or CSV."""

from __future__ import annotations

import csv
import json
import sys
from argparse import Namespace
from typing import Protocol

from gpudiy.cli.answer_table import AnswerTable
from gpudiy.litmus.dependencies import choose_kinds
from gpudiy.models.deciding import DecidedTest
from gpudiy.models.verdict import Answer, label_model


class VerdictPrinter(Protocol):
    """Prints the verdicts on each test; `finish` prints the summary."""

    def show(self, decided: DecidedTest) -> None: ...

    def finish(self) -> None: ...


def choose_printer(arguments: Namespace, models: list[str]) -> VerdictPrinter:
    """The printer that the options ask for."""
    kinds = choose_kinds(arguments.dependencies)
    labels = [label_model(model, kind) for model in models for kind in kinds]
    if arguments.json:
        return _Json(both_kinds=len(kinds) > 1)
    if arguments.csv:
        return _Csv(labels)
    return _Texts(labels) if arguments.all_outcomes or arguments.explain else _Table(labels)


class _Table:
    """One line per test, one column per model, then how many tests each model allows."""

    def __init__(self, labels: list[str]) -> None:
        self.table = AnswerTable(labels)
        self.counts = dict.fromkeys(labels, 0)
        self.tests = 0

    def show(self, decided: DecidedTest) -> None:
        if not decided.rows:
            return
        self.tests += 1
        for row in decided.rows:
            self.counts[row.label] += row.verdict is Answer.ALLOWED
        self.table.print_line(decided.rows[0].test, [row.verdict for row in decided.rows])

    def finish(self) -> None:
        if self.tests > 1:
            summary = ", ".join(f"{count:,} by {label}" for label, count in self.counts.items())
            print(f"{self.tests:,} tests; allowed: {summary}")


class _Texts:
    def __init__(self, labels: list[str]) -> None:
        self.labels = labels

    def show(self, decided: DecidedTest) -> None:
        for row in decided.rows:
            if row.text:
                if len(self.labels) > 1:
                    print(f"Model {row.label}")
                print(row.text, end="\n\n")

    def finish(self) -> None:
        pass


class _Json:
    def __init__(self, *, both_kinds: bool) -> None:
        self.both_kinds = both_kinds

    def show(self, decided: DecidedTest) -> None:
        for row in decided.rows:
            record: dict[str, object] = {
                "file": decided.file,
                "test": row.test,
                "content_hash": row.hash,
                "model": row.model,
                "dependencies": row.dependencies,
                "verdict": row.verdict,
            }
            if self.both_kinds:
                record["differs"] = decided.differs(row.model)
            if row.holds is not None:
                record["holds"] = row.holds
                record["bounded"] = row.bounded
            if row.reason:
                record["reason"] = row.reason
            if row.outcomes is not None:
                record["outcomes"] = row.outcomes
            elif row.text:
                record["explanation"] = row.text
            print(json.dumps(record))

    def finish(self) -> None:
        pass


class _Csv:
    def __init__(self, labels: list[str]) -> None:
        self.writer = csv.writer(sys.stdout, lineterminator="\n")
        self.writer.writerow(["test", *labels])

    def show(self, decided: DecidedTest) -> None:
        if decided.rows:
            self.writer.writerow([decided.rows[0].test, *(row.verdict for row in decided.rows)])

    def finish(self) -> None:
        pass
