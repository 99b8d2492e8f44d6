"""Locks by experiment: the wrong ones show their weak outcomes, the mended ones none."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudiy.devices.opening import list_devices
from gpudiy.devices.runner import run_tests
from gpudiy.devices.settings import RunSettings
from gpudiy.litmus import Test
from gpudiy.locks.generation import build_lock_test
from gpudiy.locks.question import Question
from gpudiy.locks.source import read_lock
from gpudiy.logs.decision import Sighting, decide_record
from locks.known import known, needs_compiler, plain_cases

pytestmark = needs_compiler
OPENER = "gpudiy.devices.opening:open_device"
DATA = Path(__file__).parent / "data"
MENDED = (
    """ld.volatile.s32 r0, [lock]
    setp.ne.s32 p, r0, 0
    @p bra retry
    st.volatile.s32 [lock], 1""",
    """atom.exch.b32 r0, [lock], 1
    setp.ne.s32 p, r0, 0
    @p bra retry""",
)
PAIRS = [("he-yu-spinlock", "he-yu-spinlock-fixed"), ("he-yu-counter", "he-yu-counter-fixed"),
         ("cuda-by-example", "cuda-by-example-fixed"), ("exchange", "exchange-fixed")]  # fmt: skip


def seen(name: str, device: str, iterations: int) -> dict[Question, int]:
    """Sightings of every question put to two threads.

    Every run must be evidence, but where the second thread of a good lock looked once, and always before its turn.
    """
    asked = [case for case in plain_cases(known(name)) if case.threads == 2]
    made = [found for case in asked if (found := build_lock_test(case)) is not None]
    records = run_tests([found.test for found in made], device, RunSettings(iterations=iterations, seed=1), OPENER)
    counts: dict[Question, int] = {}
    for found, record in zip(made, records, strict=True):
        decision = decide_record(record)
        assert decision.sighting.is_evidence or "in the order P1, P0" in decision.reason, decision.reason
        counts[found.case.question] = counts.get(found.case.question, 0) + record.positive
    return counts


@pytest.mark.parametrize(
    ("wrong", "mended"), [*PAIRS[:2], *(pytest.param(*pair, marks=pytest.mark.heavy) for pair in PAIRS[2:])]
)
def test_on_a_simulated_kepler(wrong: str, mended: str) -> None:
    counts = seen(wrong, "sim:kepler", 3000)
    assert counts[Question.STALE_VALUE] and counts[Question.FUTURE_VALUE] and counts[Question.LOST_UPDATE]
    assert not any(seen(mended, "sim:kepler", 3000).values())


@pytest.mark.heavy
def test_on_this_processor() -> None:
    """What x86 can show of a wrong lock is that looking and setting are two steps; the mended one takes one."""
    if not any(listing.there and listing.name.startswith("opencl") for listing in list_devices()):
        pytest.skip("no OpenCL device is there")
    text = (DATA / "look-then-set.lock").read_text()
    for source, expected in ((text, True), (text.replace(*MENDED), False)):
        lock = read_lock(source, "look-then-set.lock")
        asked = [c for c in plain_cases(lock) if c.question is Question.MUTUAL_EXCLUSION and c.threads == 2]
        made = [found.test for case in asked if (found := build_lock_test(case)) is not None]
        seen = any(_observed(made, seed) for seed in range(8))  # on a busy machine threads seldom meet
        assert seen == expected


def _observed(tests: list[Test], seed: int) -> bool:
    records = run_tests(tests, "opencl", RunSettings(iterations=200_000, seed=seed), OPENER)
    return any(decide_record(record).sighting is Sighting.OBSERVED for record in records)
