"""What the models say of the tests of a campaign; each verdict is found once and kept."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from multiprocessing import Pool
from pathlib import Path

from gpudiy.campaign.plan import Plan
from gpudiy.campaign.store import Form, Store, stored_rows
from gpudiy.campaign.test_set import PlannedTest
from gpudiy.models.judging import Judge
from gpudiy.models.library import load_model

VERDICTS = "verdicts"
CHUNK = 16  # tests a process is given at a time


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """`verdict` is allowed, forbidden, undecided or unsupported."""

    hash: str
    test: str
    model: str
    verdict: str


def _write_rows(rows: Sequence[VerdictRow], path: Path) -> None:
    path.write_text("".join(f"{_line(row)}\n" for row in rows), encoding="utf-8")


def _read_rows(path: Path) -> list[VerdictRow]:
    return [_parse(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _line(row: VerdictRow) -> str:
    return json.dumps(asdict(row))


def _parse(line: str) -> VerdictRow:
    return VerdictRow(**json.loads(line))


FORM: Form[VerdictRow] = Form(lambda row: f"{row.hash} {row.model}", _line, _parse, _write_rows, _read_rows, ".jsonl")


def decided(plan: Plan, tests: Sequence[PlannedTest], jobs: int) -> Iterator[PlannedTest]:
    """Decide what is not decided yet, giving back each test when its verdicts are kept."""
    for name in plan.models.names:
        load_model(name)  # a model that cannot be read is an error before any work is done
    with Store(plan.directory / VERDICTS, FORM) as store:
        left = [test for test in tests if any(f"{test.hash} {name}" not in store for name in plan.models.names)]
        judge = Judge(plan.models.names, "auto", 2, float(plan.models.limit), "verdict")
        for test, rows in _judged(judge, left, jobs):
            for row in rows:
                store.add(row)
            yield test


def verdict_table(plan: Plan) -> dict[str, dict[str, str]]:
    """The verdicts that are known: by hash of the test, then by model."""
    table: dict[str, dict[str, str]] = {}
    if (plan.directory / VERDICTS).is_dir():
        for row in stored_rows(plan.directory / VERDICTS, FORM):
            table.setdefault(row.hash, {})[row.model] = row.verdict
    return table


def _judged(judge: Judge, tests: Sequence[PlannedTest], jobs: int) -> Iterator[tuple[PlannedTest, list[VerdictRow]]]:
    if jobs == 1 or len(tests) <= CHUNK:
        yield from ((test, _rows(judge, test)) for test in tests)
        return
    with Pool(jobs, initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN)) as pool:
        found = pool.imap(_Deciding(judge), tests, chunksize=CHUNK)
        yield from zip(tests, found, strict=True)


@dataclass(frozen=True, slots=True)
class _Deciding:
    judge: Judge

    def __call__(self, test: PlannedTest) -> list[VerdictRow]:
        return _rows(self.judge, test)


def _rows(judge: Judge, test: PlannedTest) -> list[VerdictRow]:
    answer = judge.judge(str(test.path), test.load())
    return [VerdictRow(test.hash, test.name, model, verdict) for model, verdict in answer.verdicts.items()]
