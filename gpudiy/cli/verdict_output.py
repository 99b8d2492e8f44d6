"""How verdicts are printed: a table, texts, JSON lines or CSV."""

from __future__ import annotations

import csv
import json
import sys
from argparse import Namespace
from typing import Protocol

from gpudiy.models.judging import Answer


class Printer(Protocol):
    def show(self, answer: Answer) -> None: ...

    def finish(self) -> None: ...


def printer_for(arguments: Namespace, models: list[str]) -> Printer:
    if arguments.json:
        return _Json()
    if arguments.csv:
        return _Csv(models)
    return _Texts(models) if arguments.all_outcomes or arguments.explain else _Table(models)


class _Table:
    """A line a test, a column a model; widths grow with what was seen so far."""

    def __init__(self, models: list[str]) -> None:
        self.models = models
        self.width = 0
        self.counts = dict.fromkeys(models, 0)
        self.tests = 0

    def show(self, answer: Answer) -> None:
        if not answer.verdicts:
            return
        if not self.tests:
            self.width = max(24, len(answer.test) + 2)
            print(f"{'test':<{self.width}}" + "".join(f"{model:<{_column(model)}}" for model in self.models).rstrip())
        self.tests += 1
        words = [answer.verdicts.get(model, "") for model in self.models]
        for model, word in zip(self.models, words, strict=True):
            self.counts[model] += word == "allowed"
        cells = "".join(f"{word:<{_column(model)}}" for model, word in zip(self.models, words, strict=True))
        name = answer.test if len(answer.test) < self.width - 1 else f"{answer.test}  "
        print(f"{name:<{self.width}}{cells}".rstrip())

    def finish(self) -> None:
        if self.tests > 1:
            summary = ", ".join(f"{self.counts[model]:,} by {model}" for model in self.models)
            print(f"{self.tests:,} tests; allowed: {summary}")


def _column(model: str) -> int:
    return max(len(model), len("unsupported")) + 2


class _Texts:
    def __init__(self, models: list[str]) -> None:
        self.models = models

    def show(self, answer: Answer) -> None:
        for model in self.models:
            if model in answer.texts:
                if len(self.models) > 1:
                    print(f"Model {model}")
                print(answer.texts[model], end="\n\n")

    def finish(self) -> None:
        pass


class _Json:
    def show(self, answer: Answer) -> None:
        for model, verdict in answer.verdicts.items():
            record: dict[str, object] = {
                "file": answer.file,
                "test": answer.test,
                "content_hash": answer.content_hash,
                "model": model,
                "verdict": verdict,
            }
            if model in answer.holds:
                record["holds"] = answer.holds[model]
                record["bounded"] = answer.bounded
            if model in answer.outcomes:
                record["outcomes"] = answer.outcomes[model]
            elif model in answer.texts:
                record["explanation"] = answer.texts[model]
            print(json.dumps(record))

    def finish(self) -> None:
        pass


class _Csv:
    def __init__(self, models: list[str]) -> None:
        self.models = models
        self.writer = csv.writer(sys.stdout, lineterminator="\n")
        self.writer.writerow(["test", *models])

    def show(self, answer: Answer) -> None:
        if answer.verdicts:
            self.writer.writerow([answer.test, *(answer.verdicts.get(model, "") for model in self.models)])

    def finish(self) -> None:
        pass
