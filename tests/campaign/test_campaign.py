"""Campaigns: the same records whatever interrupts them, rounds by evidence, CI results."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from campaign_plans import essence, plan_file

from gpudiy.campaign.campaign import Campaign
from gpudiy.campaign.plan import read_plan
from gpudiy.campaign.records import load_records
from gpudiy.campaign.status import read_status
from gpudiy.campaign.unit import ROUND, Unit
from gpudiy.cli import main
from gpudiy.logs.memory_place import MemoryPlace, memory_of
from gpudiy.logs.record import Ending, Record


def killed_at_random(plan: Path, points: int, longest: float, seed: int) -> None:
    """Begin the campaign so many times, and kill it each time after a while."""
    dice = random.Random(seed)
    for _ in range(points):
        process = subprocess.Popen(
            [sys.executable, "-m", "gpudiy", "campaign", "run", str(plan), "-q"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        while not plan.with_suffix(".campaign").exists() and process.poll() is None:
            time.sleep(0.01)  # a busy machine needs a while to begin at all
        time.sleep(dice.uniform(0.0, longest))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def check_kills(tmp_path: Path, sample: int, points: int, longest: float) -> None:
    whole, broken = plan_file(tmp_path / "whole", sample), plan_file(tmp_path / "broken", sample)
    assert main(["campaign", "run", str(whole), "-q"]) == 0
    killed_at_random(broken, points, longest, seed=7)
    before = len(essence(broken))
    assert main(["campaign", "resume", str(broken), "-q"]) == 0
    assert len(essence(whole)) == 2 * sample
    assert before <= 2 * sample
    assert essence(broken) == essence(whole)
    parts = list((tmp_path / "broken/plan.campaign/records").glob("part-*"))
    from gpudiy.logs import read_log

    assert len(read_log(parts)) == 2 * sample  # no row stands in two parts


def test_kill_dash_nine_changes_nothing(tmp_path: Path) -> None:
    check_kills(tmp_path, sample=25, points=3, longest=1.5)


@pytest.mark.heavy
def test_kill_dash_nine_at_ten_points_of_a_large_campaign(tmp_path: Path) -> None:
    check_kills(tmp_path, sample=2000, points=10, longest=20)


def executed(weak: set[str]) -> object:
    """Stands for devices: tests whose name is in `weak` are seen once a run."""

    def execute(units: Sequence[Unit]) -> Iterator[tuple[Unit, Record]]:
        for unit in units:
            seen = int(unit.test.name in weak)
            record = Record(
                unit.test.name,
                hash=unit.test.hash,
                device=unit.group.device,
                condition="exists (true)",
                iterations=500,
                positive=seen,
                negative=500 - seen,
                ending=Ending.TIMEOUT if unit.test.name == "CoRR" else Ending.FINISHED,
            )
            yield unit, unit.stamp_record(record)

    return execute


def test_later_rounds_go_to_uncertain_tests(tmp_path: Path) -> None:
    plan = read_plan(plan_file(tmp_path, 0, ["sim:sc"], "rounds = 4\nsightings = 2\n"))
    plan = replace(plan, models=replace(plan.models, names=("sc",)))
    campaign = Campaign(plan)
    names = {test.name for test in campaign.tests}
    assert {"SB", "MP", "CoRR"} <= names
    from gpudiy.campaign.verdicts import decide_tests, load_verdicts

    list(decide_tests(plan, campaign.tests, 1))
    verdicts = load_verdicts(plan)
    possible = {test.name for test in campaign.tests if verdicts[test.hash]["sc"] == "allowed"}
    weak = set(sorted(possible - {"CoRR"})[:1])
    list(campaign.run(executed(weak)))  # type: ignore[arg-type]
    rounds: dict[int, set[str]] = {}
    for record in load_records(plan):
        rounds.setdefault(int(dict(record.options)[ROUND]), set()).add(record.test)
    assert rounds[1] == names
    assert rounds.get(2, set()) == possible - {"CoRR"}
    assert rounds.get(3, set()) == possible - weak - {"CoRR"}


def test_another_memory_is_another_campaign(tmp_path: Path) -> None:
    """What was seen with locations in the memory of the device says nothing of those in the memory of the host."""
    path = plan_file(tmp_path, 0, ["sim:sc"], "rounds = 2\nsightings = 1\n")
    device = read_plan(path)
    host = replace(device, run=replace(device.run, memory="host"))
    names = {test.name for test in Campaign(device).tests}
    list(Campaign(device).run(executed(names)))  # type: ignore[arg-type]
    list(Campaign(host).run(executed(set())))  # type: ignore[arg-type]
    again = [record for record in load_records(host) if dict(record.options)[ROUND] == "2"]
    assert {record.test for record in again} == names - {"CoRR"}
    assert {memory_of(record.options) for record in again} == {MemoryPlace.HOST}
    (before,), (after,) = (read_status(Campaign(plan)).devices for plan in (device, host))
    assert (before.done, before.observed) == (len(names), len(names) - 1)
    assert (after.done, after.observed) == (2 * len(names) - 1, 0)


def test_interrupted_runs_are_made_again(tmp_path: Path) -> None:
    campaign = Campaign(read_plan(plan_file(tmp_path, 3, ["sim:sc"])))

    def cut(units: Sequence[Unit]) -> Iterator[tuple[Unit, Record]]:
        for unit in units:
            yield (
                unit,
                unit.stamp_record(Record(unit.test.name, unit.test.hash, ending=Ending.STOPPED, reason="interrupted")),
            )

    assert list(campaign.run(cut)) == []
    assert load_records(campaign.plan) == []


def test_ci_tells_what_is_forbidden(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = plan_file(tmp_path, 20, ["sim:kepler"])
    plan.write_text(plan.read_text().replace("names = []", 'names = ["sc"]').replace("500", "20000"))
    junit = tmp_path / "result.xml"
    assert main(["campaign", "run", str(plan), "-q", "--ci", "--junit", str(junit)]) == 1
    (suite,) = ElementTree.parse(junit).getroot()
    assert suite.get("tests") == "20"
    failed = [case.get("name") for case in suite if case.find("failure") is not None]
    assert failed and suite.get("failures") == str(len(failed))
    assert all(f"{name} on" in capsys.readouterr().out for name in failed[:1])


def test_ci_passes_where_the_model_fits(tmp_path: Path) -> None:
    plan = plan_file(tmp_path, 20, ["sim:sc"])
    plan.write_text(plan.read_text().replace("names = []", 'names = ["sc"]'))
    assert main(["campaign", "run", str(plan), "-q", "--ci"]) == 0


def test_a_device_that_is_gone_and_a_directory_that_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = plan_file(tmp_path, 2, ["cuda:77"])
    assert main(["campaign", "run", str(plan), "-q"]) == 3
    assert "continues" in capsys.readouterr().err
    plan.write_text('directory = "/proc/nothing"\n' + plan.read_text())
    assert main(["campaign", "run", str(plan), "-q"]) == 2
    assert "continues" in capsys.readouterr().err


def test_status_and_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = plan_file(tmp_path, 5, ["sim:sc"])
    assert main(["campaign", "status", str(plan)]) == 2
    assert main(["campaign", "resume", str(plan)]) == 2
    assert main(["campaign", "plan", str(plan)]) == 0
    assert not (tmp_path / "plan.campaign").exists()
    assert main(["campaign", "run", str(plan), "-q"]) == 0
    capsys.readouterr()
    assert main(["campaign", "status", str(plan)]) == 0
    told = capsys.readouterr().out
    assert "5 of 5 runs (100 %)" in told
    assert told.endswith("done\n")


def test_status_counts_only_tests_of_the_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A plan that has lost tests since keeps their records, but says nothing about them."""
    plan = plan_file(tmp_path, 6, ["sim:kepler"])
    assert main(["campaign", "run", str(plan), "-q"]) == 0
    plan_file(tmp_path, 2, ["sim:kepler"])
    capsys.readouterr()
    assert main(["campaign", "run", str(plan), "-q"]) == 0
    printed = capsys.readouterr().out
    assert "2 tests on sim:kepler" in printed
    assert re.search(r"2 runs, 1,000 iterations, [012] of 2 tests observed", printed), printed
    assert len(load_records(read_plan(plan))) == 6
