"""Locks by experiment: the wrong ones show their weak outcomes, the mended ones none."""

from __future__ import annotations

import pytest

from gpudiy.devices.runner import run_tests
from gpudiy.devices.settings import RunSettings
from gpudiy.locks.generation import lock_test
from gpudiy.locks.question import Question
from gpudiy.logs.decision import Verdict, decide_record
from locks.known import known, needs_compiler, plain_cases

pytestmark = needs_compiler
OPENER = "gpudiy.devices.opening:open_device"
PAIRS = [("he-yu-spinlock", "he-yu-spinlock-fixed"), ("he-yu-counter", "he-yu-counter-fixed"),
         ("cuda-by-example", "cuda-by-example-fixed"), ("exchange", "exchange-fixed")]  # fmt: skip


def seen(name: str, device: str, iterations: int) -> dict[Question, int]:
    """Sightings of every question; every run must be evidence."""
    made = [found for case in plain_cases(known(name)) if (found := lock_test(case)) is not None]
    records = run_tests([found.test for found in made], device, RunSettings(iterations=iterations, seed=1), OPENER)
    counts: dict[Question, int] = {}
    for found, record in zip(made, records, strict=True):
        assert decide_record(record).verdict in (Verdict.OBSERVED, Verdict.NOT_OBSERVED), record.reason
        counts[found.case.question] = counts.get(found.case.question, 0) + record.positive
    return counts


@pytest.mark.parametrize(("wrong", "mended"), PAIRS)
def test_on_a_simulated_kepler(wrong: str, mended: str) -> None:
    counts = seen(wrong, "sim:kepler", 3000)
    assert counts[Question.STALE_VALUE] and counts[Question.FUTURE_VALUE] and counts[Question.LOST_UPDATE]
    assert not any(seen(mended, "sim:kepler", 3000).values())
