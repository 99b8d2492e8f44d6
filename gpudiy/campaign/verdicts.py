"""The verdicts of models on the tests of a campaign; each is decided once and stored."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gpudiy.campaign.plan import CampaignPlan
from gpudiy.campaign.store import Form, RowStore, load_rows
from gpudiy.campaign.test_set import PlannedTest
from gpudiy.models.deciding import FileDecider, HowToDecide
from gpudiy.models.library import load_model
from gpudiy.models.verdict import Answer
from gpudiy.models.verdict_row import VerdictRow
from gpudiy.processes import map_in_processes

VERDICTS = "verdicts"


def _write_rows(rows: Sequence[VerdictRow], path: Path) -> None:
    path.write_text("".join(f"{_line(row)}\n" for row in rows), encoding="utf-8")


def _read_rows(path: Path) -> list[VerdictRow]:
    return [_parse(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _line(row: VerdictRow) -> str:
    return json.dumps({"hash": row.hash, "test": row.test, "model": row.model, "verdict": row.verdict})


def _parse(line: str) -> VerdictRow:
    row = json.loads(line)
    return VerdictRow(row["hash"], row["test"], row["model"], Answer(row["verdict"]))


FORM: Form[VerdictRow] = Form(lambda row: f"{row.hash} {row.model}", _line, _parse, _write_rows, _read_rows, ".jsonl")


def decide_tests(plan: CampaignPlan, tests: Sequence[PlannedTest], jobs: int) -> Iterator[PlannedTest]:
    """Decide all tests that are not decided yet; yield each test when its verdicts are stored."""
    for name in plan.models.names:
        load_model(name)  # a model that cannot be read is an error before any work starts
    with RowStore(plan.directory / VERDICTS, FORM) as store:
        left = [test for test in tests if any(f"{test.hash} {name}" not in store for name in plan.models.names)]
        decider = _PlannedDecider(FileDecider(plan.models.names, HowToDecide(limit=float(plan.models.limit))))
        for test, rows in zip(left, map_in_processes(decider, left, jobs), strict=True):
            for row in rows:
                store.add(row)
            yield test


@dataclass(frozen=True, slots=True)
class _PlannedDecider:
    decider: FileDecider

    def __call__(self, test: PlannedTest) -> list[VerdictRow]:
        return [replace(row, hash=test.hash, test=test.name) for row in self.decider.rows(test.load())]


def load_verdicts(plan: CampaignPlan) -> dict[str, dict[str, Answer]]:
    """The stored verdicts, by hash of the test, then by model."""
    table: dict[str, dict[str, Answer]] = {}
    if (plan.directory / VERDICTS).is_dir():
        for row in load_rows(plan.directory / VERDICTS, FORM):
            table.setdefault(row.hash, {})[row.model] = row.verdict
    return table
