"""Kits on a machine with a GPU and without gpudiy: both programs, on a stand-in for NVIDIA's driver."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cuda_standin import ROOT, sb_test
from kit_machine import LAUNCHES, PLACES, PROGRAMS, KitMachine, Make, finishes, place
from kit_samples import SHORT_READS, build_preload

from gpudiy.kits.kit_log import read_kit_log
from gpudiy.logs.comparison import compare
from gpudiy.logs.decision import decide_record
from gpudiy.logs.record import Ending

pytestmark = pytest.mark.cuda


def test_both_programs_run_the_same_launches(kit_machines: Make) -> None:
    """Tests in CTAs, in a warp and in two kernels; the driver finds nothing to complain of."""
    tests = [place(name) for name in PLACES]
    kit = KitMachine(kit_machines(), tests, ["sm_80"])
    launches = []
    for program in PROGRAMS:
        found = kit.run(program, "--log", f"{program}.jsonl")
        assert found.returncode == 0, found.stderr
        assert "done; send back" in found.stderr
        assert kit.here.journal.violations == []
        launches.append([launch["arguments"] for launch in kit.here.journal.entries("launch")])
        (kit.here.directory / "journal").unlink()
    assert launches[0] == launches[1]
    by_c, by_python = (kit.records(f"{program}.jsonl") for program in PROGRAMS)
    for test in tests:
        first, second = by_c[test.name], by_python[test.name]
        assert finishes(first) and finishes(second)
        assert first.iterations == second.iterations
        for name in ("options", "seed", "hash", "text", "toolkit", "driver"):
            assert getattr(first, name) == getattr(second, name)
        assert first.optcheck == second.optcheck == "unchanged"
        assert (first.chip, first.architecture) == ("Stand-in 80", "sm_80")
        assert first.liveness is not None and second.liveness is not None
        assert first.liveness.launches == second.liveness.launches >= LAUNCHES
        assert first.liveness.meetings + first.liveness.timeouts == second.liveness.meetings + second.liveness.timeouts
        assert first.liveness.stress_accesses > 0
        assert first.liveness.near == second.liveness.near
        assert "x" in dict(first.options)["layouts"]


def test_the_records_go_through_compare(kit_machines: Make) -> None:
    kit = KitMachine(kit_machines(), [place("cta")], ["sm_80"])
    assert kit.run("program").returncode == 0
    here = kit.here
    log, output = str(kit.folder / "log.jsonl"), str(kit.folder / "records.txt")
    assert here.run("-m", "gpudiy", "run", "--import", log, "-o", output, "-q").returncode in (0, 3)
    assert here.run("-m", "gpudiy", "table", output).returncode == 0
    report = here.run("-m", "gpudiy", "report", output, "-o", str(kit.folder / "report.html"))
    assert report.returncode == 0, report.stderr
    assert compare([output, str(ROOT / "logs" / "asplos15.jsonl")]) is not None


def test_clusters(kit_machines: Make) -> None:
    test = sb_test("(device (kernel (cluster (cta (warp P0)) (cta (warp P1)))))", name="cluster")
    kit = KitMachine(kit_machines("small90"), [test, place("cta")], ["sm_90"])
    for program in PROGRAMS:
        found = kit.run(program, "--log", f"{program}.jsonl")
        assert found.returncode == 0, found.stderr
        assert finishes(kit.records(f"{program}.jsonl")["cluster"])
    assert kit.here.journal.violations == []
    launches = kit.here.journal.entries("launch")
    assert {launch["cluster"] for launch in launches if launch["kernel"] == "run_cluster_2"} == {"2"}


FAULTS = {
    "launch error": ("cuLaunchKernel#4=719@{once}", 0, Ending.CRASHED, "unspecified launch failure (error 719)"),
    "kernel error": ("kernel/run:0:1:=700", 1, Ending.CRASHED, "an illegal memory access was encountered"),
    "device lost": ("kernel/run:0:1:=999", 1, Ending.DEVICE_LOST, "unknown error"),
    "hang": ("kernel/run:0:1:=hang", 1, Ending.TIMEOUT, "no answer for 2 s"),
    "death": ("kernel/run:0:1:=abort", 1, Ending.CRASHED, "killed by signal 6"),
    "out of memory": ("cuMemAlloc#1=2@{once}", 0, Ending.OUT_OF_MEMORY, "out of memory"),
    "old driver": ("cuModuleLoadDataEx=222@{once}", 0, Ending.BUILD_FAILED, "cuModuleLoadDataEx failed"),
    "wrong count": ("copy#1=miscount@{once}", 0, Ending.CRASHED, "instances gave"),
    "wrong end": ("copy#2=miscount@{once}", 0, Ending.CRASHED, "threads finished"),
}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_survived_and_recorded(kit_machines: Make, tmp_path: Path, fault: str, program: str) -> None:
    plan, struck, ending, reason = FAULTS[fault]
    (tmp_path / "once").touch()
    here = kit_machines(faults=plan.format(once=tmp_path / "once"))
    tests = [place("cta", value) for value in (11, 12, 13)]
    kit = KitMachine(here, tests, ["sm_80"])
    if fault == "hang":
        kit.shorten_silence()
    found = kit.run(program)
    assert found.returncode == (0 if fault.startswith("wrong") else 3), found.stderr
    records = kit.records()
    for number, test in enumerate(tests):
        record = records[test.name]
        if number == struck:
            assert (record.ending, decide_record(record).sighting.is_evidence) == (ending, False)
            assert reason in record.reason
        else:
            assert finishes(record)
    if fault == "old driver":
        assert "does not load what NVRTC" in found.stderr
        assert "ask for a kit that is built with an older CUDA" in found.stderr


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_gpu_that_does_not_open_is_given_up_and_the_log_continued(kit_machines: Make, program: str) -> None:
    here = kit_machines()
    kit = KitMachine(here, [place("cta")], ["sm_80"])
    found = kit.run(program, STANDIN_FAULTS="cuCtxCreate=46")
    assert found.returncode == 3
    assert "another program has the GPU for itself" in found.stderr
    assert found.stderr.count("the GPU cannot be used") == found.stderr.count("cuDevicePrimaryCtxRetain: error 46") == 1
    assert "done" not in found.stderr
    assert kit.records() == {}
    assert kit.run(program).returncode == 0
    assert finishes(kit.records()["SB.cta1"])


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_limit_stops_a_test(kit_machines: Make, program: str) -> None:
    kit = KitMachine(kit_machines(), [place("cta")], ["sm_80"], limit=0.001)
    assert kit.run(program).returncode == 0
    record = kit.records()["SB.cta1"]
    assert (record.ending, record.reason) == (Ending.STOPPED, "time was up")


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_gpu_that_is_too_small(kit_machines: Make, program: str) -> None:
    """One SM with one CTA cannot run two CTAs at the same time."""
    kit = KitMachine(kit_machines("tiny80"), [place("cta")], ["sm_80"])
    assert kit.run(program).returncode == 0
    record = kit.records()["SB.cta1"]
    assert record.ending is Ending.NOT_RUNNABLE
    assert "there is room for 1" in record.reason
    assert kit.here.journal.entries("launch") == []


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_large_gpu_is_filled(kit_machines: Make, program: str) -> None:
    """The CTAs of a launch are nearly all that an A100 runs at the same time; its kernels do nothing here."""
    here = kit_machines("a100", STANDIN_IDLE="1")
    kit = KitMachine(here, [place("cta")], ["sm_80"], iterations=1 << 30, limit=0.001)
    kit.run(program)
    log = [json.loads(line) for line in (kit.folder / "log.jsonl").read_text().splitlines()]
    loaded = next(line for line in log if "loaded" in line)
    grids = {int(launch["grid"]) for launch in here.journal.entries("launch") if launch["kernel"] == "run"}
    assert len(grids) == 1
    assert 15 / 16 * loaded["resident"] < grids.pop() <= loaded["resident"]
    assert here.journal.violations == []


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_gpu_that_is_not_there(kit_machines: Make, program: str) -> None:
    kit = KitMachine(kit_machines(), [place("cta")], ["sm_80"])
    found = kit.run(program, "--device", "3")
    assert found.returncode == 3
    assert found.stderr.count("there is no GPU 3: there are 1, counted from 0") == 1
    assert "done" not in found.stderr and not (kit.folder / "log.jsonl").exists()


@pytest.mark.parametrize("program", PROGRAMS)
def test_launches_at_low_clocks_do_not_count(kit_machines: Make, monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    """The first launches are slow; before, they counted."""
    monkeypatch.setattr("gpudiy.kits.export.SECONDS", 0.001)
    kit = KitMachine(kit_machines(), [place("cta", value) for value in (11, 12)], ["sm_80"])
    kit.edit("warm", lambda words: [*words[:3], "100000", *words[4:]])  # far apart: some are as slow as others here
    assert kit.run(program, **kit.identify("a", SLOW_COPIES="20")).returncode == 0
    log = read_kit_log(str(kit.folder / "log.jsonl"))
    first, second = log.tests
    assert first.loaded["cold"] and not second.loaded["cold"]
    assert sum(launch["microseconds"] for launch in first.warm_up) >= 250_000  # the GPU was just opened
    assert len(second.warm_up) == 3
    assert [launch["number"] for launch in first.launches] == [*range(len(first.launches))]
    records = kit.records()
    assert all(finishes(record) for record in records.values())
    assert "launches in" in dict(records["SB.cta11"].options)["warm-up"]
    assert records["SB.cta11"].liveness is not None
    assert records["SB.cta11"].liveness.launches == len(first.launches)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_driver_that_takes_long_to_load_has_not_hung(kit_machines: Make, program: str) -> None:
    """Before, only a driver that was slow to open had more time."""
    kit = KitMachine(kit_machines(), [place("cta")], ["sm_80"])
    kit.shorten_silence()
    found = kit.run(program, **kit.identify("a", SLOW_LOAD="4"))
    assert found.returncode == 0, found.stderr
    assert finishes(kit.records()["SB.cta1"])


def test_messages_that_come_in_parts(kit_machines: Make, tmp_path: Path) -> None:
    """Before, a message that was cut was two, and the number of a test another one."""
    kit = KitMachine(kit_machines(), [place("cta", value) for value in range(11, 23)], ["sm_80"], iterations=32)
    found = kit.run("program", LD_PRELOAD=build_preload(tmp_path, "reads", SHORT_READS))
    assert found.returncode == 0, found.stderr
    shown = [line for line in found.stderr.splitlines() if " of 12: " in line]
    assert shown == [f"run: {number} of 12: SB.cta{number + 10}" for number in range(1, 13)]
    assert all(record.ending is Ending.FINISHED for record in kit.records().values())


def test_a_child_that_cannot_be_started_later(kit_machines: Make, tmp_path: Path) -> None:
    kit = KitMachine(kit_machines(), [place("cta")], ["sm_80"])
    fork_once = """
    #include <errno.h>
    #include <unistd.h>
    #include <sys/syscall.h>
    pid_t fork(void) { static int forks; if (forks++ == 0) return (pid_t)syscall(SYS_fork); errno = EAGAIN; return -1; }
    """
    found = kit.run("program", LD_PRELOAD=build_preload(tmp_path, "fork", fork_once))
    assert (found.returncode, "done" in found.stderr) == (3, False)
    assert "no child can be started" in found.stderr
