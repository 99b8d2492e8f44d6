"""Runs survive whatever a device does, and record it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from itertools import count, groupby
from pathlib import Path
from types import SimpleNamespace

import fake_devices
import pytest
from conftest import ROOT
from fake_devices import OPENER, fake_test

from gpudiy.devices.device import Chip
from gpudiy.devices.run_length import RunLength, is_settled, run_length
from gpudiy.devices.runner import Runner, run_tests
from gpudiy.devices.settings import RunSettings, derived_seed, make_settings
from gpudiy.devices.stop_rule import StopRule, parse_stop_rule
from gpudiy.devices.worker import Worker, WorkerFailure
from gpudiy.errors import InputError, UsageError
from gpudiy.litmus import content_hash
from gpudiy.logs.clustering import Launches
from gpudiy.logs.decision import NoEvidence, Sighting, decide_record
from gpudiy.logs.memory_place import MemoryPlace
from gpudiy.logs.record import Ending, Record, add_launch_sums, sum_launch

SETTINGS = RunSettings(iterations=20_000)
HANGING = replace(SETTINGS, limit=2.0)
BACKSTOP = 600.0  # seconds: far more than a loaded machine needs


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process may take its time to end, however loaded the machine is."""
    monkeypatch.setattr("gpudiy.devices.worker.CLOSE_LIMIT", BACKSTOP)


def run(*names: str, settings: RunSettings = SETTINGS, device: str = "fake") -> list[Record]:
    """The records of tests on one device; a time limit holds only for the test that hangs."""
    with Runner(device, OPENER) as runner:
        return [
            record
            for hangs, together in groupby(names, "hang".__eq__)
            for record in runner.run([fake_test(name) for name in together], HANGING if hangs else settings)
        ]


def test_a_device_with_one_memory_does_not_run_tests_in_another() -> None:
    here, elsewhere = (replace(SETTINGS, memory=place) for place in (MemoryPlace.DEVICE, MemoryPlace.MANAGED))
    with Runner("fake", OPENER) as runner:
        endings = [next(runner.run([fake_test("SB")], settings)).ending for settings in (here, elsewhere, here)]
    assert endings == [Ending.FINISHED, Ending.NOT_RUNNABLE, Ending.FINISHED]


def test_the_place_of_memory_has_a_name() -> None:
    assert make_settings(memory="host").memory is MemoryPlace.HOST
    with pytest.raises(UsageError, match="no memory 'gpu': there are device, managed, host"):
        make_settings(memory="gpu")


def test_a_sound_run() -> None:
    (record,) = run("SB")
    assert record.ending is Ending.FINISHED
    assert record.iterations == 20_000 == sum(entry.count for entry in record.histogram)
    assert record.positive + record.negative == record.iterations
    assert 0 < record.positive < 100
    assert [entry.outcome for entry in record.histogram if entry.weak] == ["0:r2=0; 1:r2=0;"]
    assert record.hash == content_hash(fake_test("SB"))
    assert (record.device, record.chip, record.driver, record.seed) == ("fake", "fake chip", "1.0", 0)
    assert dict(record.options)["memory_stress"] == "true"
    assert decide_record(record).sighting is Sighting.OBSERVED


@pytest.mark.parametrize(
    ("fault", "ending", "reason"),
    [
        ("hang", Ending.TIMEOUT, "no answer for 3 s"),
        ("exit", Ending.CRASHED, "ended with exit code 7: something terrible"),
        ("segfault", Ending.CRASHED, "was killed by SIGSEGV"),
        ("lost", Ending.DEVICE_LOST, "the bus does not answer"),
        ("memory", Ending.OUT_OF_MEMORY, "memory"),
        ("error", Ending.CRASHED, "ZeroDivisionError: division by zero"),
        ("miscount", Ending.CRASHED, "16,383 outcomes of 16,384 iterations"),
        ("misshapen", Ending.CRASHED, "an outcome that is not one of this test"),
        ("impossible", Ending.NOT_RUNNABLE, "too many threads"),
        ("crash-in-build", Ending.CRASHED, "while building: the worker was killed by SIGSEGV"),
        ("bad-build", Ending.BUILD_FAILED, "line 3 does not compile"),
        ("crash-when-asked", Ending.CRASHED, "ended with exit code 5"),
    ],
)
def test_faults_are_survived_and_recorded(fault: str, ending: Ending, reason: str) -> None:
    before, faulty, after = run("strong", fault, "SB")
    assert (faulty.test, faulty.ending) == (fault, ending)
    assert reason in faulty.reason
    assert decide_record(faulty).kind in (NoEvidence.FAILED, NoEvidence.NOT_RUNNABLE)
    assert decide_record(before).sighting is Sighting.NOT_OBSERVED
    assert decide_record(after).sighting is Sighting.OBSERVED
    assert after.iterations == 20_000


def test_all_faults_in_one_run() -> None:
    names = ["exit", "SB.1", "segfault", "crash-in-build", "SB.2", "lost", "bad-build", "SB.3", "memory", "strong"]
    records = run(*names)
    assert [record.test for record in records] == names
    assert [record.test for record in records if record.ending is Ending.FINISHED] == ["SB.1", "SB.2", "SB.3", "strong"]


def test_a_device_that_does_not_come_back_is_given_up(tmp_path: Path) -> None:
    names = ["SB", "lost", *(f"SB.{number}" for number in range(5))]
    records = run(*names, device=f"fake:{tmp_path / 'opened'}")
    assert [record.ending for record in records] == [Ending.FINISHED] + 6 * [Ending.DEVICE_LOST]
    assert "did not come back: the card is gone" in records[2].reason
    assert "in 3 attempts" in records[-1].reason
    assert all(decide_record(record).kind is NoEvidence.FAILED for record in records[1:])


def test_a_device_that_is_gone_is_lost(tmp_path: Path) -> None:
    records = run("exit", "SB", device=f"fake:{tmp_path / 'unknown'}")
    assert [record.ending for record in records] == [Ending.CRASHED, Ending.DEVICE_LOST]
    assert "did not come back: there is no device" in records[1].reason


def test_a_device_that_does_not_open_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "opened").touch()
    with pytest.raises(WorkerFailure, match="the card is gone"):
        run("SB", device=f"fake:{tmp_path / 'opened'}")
    with pytest.raises(WorkerFailure, match="no answer"):
        Worker("fake:hang", OPENER).start(limit=1.0)


def test_the_same_seed_gives_the_same_record() -> None:
    one, other = run("SB", "SB.1"), run("SB.1", "SB")
    assert [entry.histogram for entry in one] == [entry.histogram for entry in reversed(other)]
    (changed,) = run("SB", settings=RunSettings(20_000, seed=1))
    assert changed.histogram != one[0].histogram


def test_seeds_follow_from_meaning_and_chunk() -> None:
    seeds = {derived_seed(seed, text, chunk) for seed in (0, 1) for text in ("a", "b") for chunk in range(100)}
    assert len(seeds) == 400
    assert all(0 <= seed < 1 << 63 for seed in seeds)


def test_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock on which every look takes 100 seconds, so that it does not matter how fast this machine is."""
    clock = count(0, 100)
    monkeypatch.setattr("gpudiy.devices.runner.time", SimpleNamespace(monotonic=lambda: float(next(clock))))
    (record,) = run("strong", settings=RunSettings(10**7, limit=BACKSTOP))
    assert record.ending is Ending.STOPPED
    assert "time was up" in record.reason
    assert 0 < record.iterations == sum(entry.count for entry in record.histogram) < 10**7
    assert decide_record(record).sighting is Sighting.NOT_OBSERVED


def test_a_run_that_saw_nothing_alive_is_dead() -> None:
    (record,) = run("strong-dead")
    assert decide_record(record).kind is NoEvidence.HARNESS


@pytest.mark.parametrize(("text", "sightings"), [("observed", 1), ("25", 25), ("confidence", 8)])
def test_stop_rules(text: str, sightings: int) -> None:
    (record,) = run("SB", settings=RunSettings(10**6, until=parse_stop_rule(text)))
    assert record.ending is Ending.STOPPED
    assert sightings <= record.positive
    assert record.iterations == sum(entry.count for entry in record.histogram) < 10**6
    (never,) = run("strong", settings=RunSettings(30_000, until=parse_stop_rule(text)))
    assert never.ending is Ending.FINISHED and never.iterations == 30_000


def test_confidence_is_what_it_says() -> None:
    rule = StopRule(confident=True)
    assert [bool(rule.find_reason(sightings, 10**6)) for sightings in (0, 1, 7, 8)] == [False, False, False, True]


@pytest.mark.parametrize("text", ["", "0", "-1", "often", "1.5"])
def test_bad_stop_rules(text: str) -> None:
    with pytest.raises(InputError):
        parse_stop_rule(text)


def test_what_is_not_a_run_is_refused() -> None:
    with pytest.raises(UsageError, match="at least 1 iteration"):
        RunSettings(iterations=0)
    with pytest.raises(UsageError, match="seconds above 0"):
        RunSettings(limit=0)


def test_a_worker_does_not_outlive_its_parent() -> None:
    code = """
from fake_devices import OPENER, Incantation, fake_test
from gpudiy.devices.worker import Worker
worker = Worker("fake", OPENER)
worker.start()
print(worker._process.pid, flush=True)
worker.ask("prepare", [fake_test("hang")], limit=60)
worker.ask("run", fake_test("hang"), Incantation(), 1, 1, limit=600)
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests")}
    parent = subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    worker = int(parent.stdout.readline())
    assert Path(f"/proc/{worker}").exists()
    parent.kill()
    parent.communicate()
    deadline = time.monotonic() + BACKSTOP
    while time.monotonic() < deadline:
        time.sleep(0.1)
        try:
            if "State:\tZ" in Path(f"/proc/{worker}/status").read_text():
                return
        except FileNotFoundError:
            return
    pytest.fail("the worker is still there")


def test_the_worker_is_gone_afterwards() -> None:
    runner = Runner("fake", OPENER)
    with runner:
        process = runner._worker._process
        assert process is not None and process.poll() is None
    assert process.poll() == 0


def test_a_slow_simulated_device_gives_the_same_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """How long chunks take decides how large the next one is, but never where a seed promises the same outcomes."""
    tests = [fake_test("SB")]
    quick = run_tests(tests, "sim:kepler", RunSettings(200_000, seed=3))
    monkeypatch.setattr("gpudiy.devices.runner.SLOW_CHUNK", 0.0)
    slow = run_tests(tests, "sim:kepler", RunSettings(200_000, seed=3))
    assert slow[0].histogram == quick[0].histogram


def run_on_gpu(name: str, **settings: object) -> Record:
    chosen = RunSettings(**{"iterations": 100_000, **settings})  # type: ignore[arg-type]
    (record,) = run_tests([fake_test(name)], "fake:gpu", chosen, OPENER)
    return record


def launch_count(record: Record) -> int:
    assert record.liveness is not None and record.liveness.launches is not None
    return record.liveness.launches


def test_a_gpu_runs_many_launches_for_a_second_when_its_clocks_have_settled() -> None:
    record = run_on_gpu("SB")
    assert record.positive == 0  # shown only while clocks rise: none of those launches counts
    assert record.seconds >= 1 and record.iterations >= 100_000
    assert launch_count(record) >= 32
    options = dict(record.options)
    assert options["warm-up"].endswith("settled") and "not" not in options["warm-up"]
    assert int(options["warm-up"].split()[0]) > len(fake_devices.RISING)  # low clocks are stable, too


def test_the_least_launches_and_seconds() -> None:
    fewer = run_on_gpu("SB", seconds=0.0)
    assert 32 <= launch_count(fewer) <= 34 and fewer.iterations < 110_000
    longer = run_on_gpu("SB", seconds=3.0)
    assert longer.seconds >= 3
    one = run_on_gpu("SB", seconds=0.0, launches=0)
    assert launch_count(one) < 5
    early = run_on_gpu("strong", until=StopRule(sightings=1), launches=64)
    assert launch_count(early) >= 64


def test_a_warm_up_is_bounded() -> None:
    record = run_on_gpu("restless")
    assert dict(record.options)["warm-up"].endswith("not settled")
    length = RunLength(1000, launches=10)
    assert [length.next_chunk(SimpleNamespace(iterations=done, launch_count=launches), 500)  # type: ignore[arg-type]
            for done, launches in ((0, 0), (950, 9), (950, 10), (1000, 10))] == [100, 50, 50, 500]  # fmt: skip


def test_times_that_have_settled() -> None:
    assert not is_settled([1.0, 1.0])
    assert is_settled([9.0, 1.0, 1.05, 1.09])
    assert not is_settled([1.0, 1.0, 1.2])


def test_neither_simulated_nor_other_devices_wait_for_clocks() -> None:
    (record,) = run("SB", settings=RunSettings(30_000))
    assert record.iterations == 30_000 and "warm-up" not in dict(record.options)
    settings = RunSettings(30_000, seconds=5.0)
    assert run_length(settings, Chip("sim:kepler", "x", simulated=True)) == RunLength(30_000)
    assert run_length(RunSettings(30_000), Chip("opencl:0", "x", launches=True)) == RunLength(30_000, 32, 0.0)


def test_confidence_is_that_of_launches() -> None:
    """Eight sightings are enough if they come in different launches; in one launch they are one event."""

    def launches(counts: list[int]) -> Launches:
        sums = add_launch_sums(sum_launch(31_250, sightings) for sightings in counts)
        assert sums is not None
        return Launches(len(counts), sums)

    rule = parse_stop_rule("confidence")
    assert rule.find_reason(16, 10**6, launches([1] * 16 + [0] * 16))
    assert rule.find_reason(16, 10**6)
    assert not rule.find_reason(16, 10**6, launches([16] + [0] * 31))
    assert not rule.find_reason(16_000, 31_250, launches([16_000]))  # one launch says nothing of the next
