"""Kits on a machine with a GPU and without gpudiy: both programs, on a stand-in for NVIDIA's driver."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from cuda_standin import CACHE, INTER_CTA, ROOT, Machine, image_hash, make_machines, sb_test
from kit_samples import SHORT_READS, ExportedKit, build_identified_driver, build_preload

from gpudiy.devices.settings import RunSettings
from gpudiy.harness.incantation import Incantation
from gpudiy.harness.incantation_text import IncantationBook
from gpudiy.harness.module import REGISTERS, assembler_for
from gpudiy.kits.export import export_kit
from gpudiy.kits.importing import read_records
from gpudiy.kits.kit_log import read_kit_log
from gpudiy.litmus import Test, print_test, read_test
from gpudiy.logs.comparison import compare
from gpudiy.logs.decision import decide_record
from gpudiy.logs.record import Ending, Record

pytestmark = pytest.mark.cuda
Make = Callable[..., Machine]
PROGRAMS = ("program", "run.py")
ITERATIONS, LAUNCHES = 700, 4
CHEAP = IncantationBook("cheap", Incantation(group_size=32, stress_iterations=8))
PLACES = {
    "cta": INTER_CTA,
    "warp": "(device (kernel (cta (warp P0 P1))))",
    "kernel": "(device (kernel (cta (warp P0))) (kernel (cta (warp P1))))",
}


def place(name: str, value: int = 1) -> Test:
    """Store buffering in a place; the value makes another test of it."""
    text = print_test(sb_test(PLACES[name], name=f"SB.{name}{value}"))
    return read_test(text.replace("],1", f"],{value}"))


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """The programs of a kit use no binding of Python. A test has few launches here, one of them after the last draw."""
    monkeypatch.setattr("gpudiy.kits.export.LAUNCHES", LAUNCHES)
    monkeypatch.setattr("gpudiy.kits.export.SECONDS", 0.0)
    monkeypatch.setattr("gpudiy.kits.launch_rows.DRAWS", LAUNCHES - 1)
    return make_machines(tmp_path, ())


class KitMachine:
    """A kit on a machine."""

    def __init__(self, here: Machine, tests: Sequence[Test], architectures: Sequence[str], **needs: object) -> None:
        self.here = here
        self.folder = here.directory / "kit"
        before = os.environ.get("XDG_CACHE_HOME")
        os.environ["XDG_CACHE_HOME"] = str(CACHE)
        try:
            for architecture in architectures:
                here.add_tests(tests, architecture)
            chosen: dict[str, Any] = {"iterations": ITERATIONS, **needs}
            settings = RunSettings(seed=5, incantations=CHEAP, **chosen)
            export_kit(tests, architectures, self.folder, settings, jobs=1)
        finally:
            os.environ.pop("XDG_CACHE_HOME")
            if before is not None:
                os.environ["XDG_CACHE_HOME"] = before
        subprocess.run(["make", "-s", "program"], cwd=self.folder, check=True)

    def edit(self, line: str, change: Callable[[list[str]], list[str]]) -> None:
        """Change the words of a line of kit.txt."""

        def change_line(text: str) -> str:
            lines = text.splitlines(keepends=True)
            at = next(number for number, one in enumerate(lines) if one.startswith(f"{line} "))
            lines[at] = " ".join(change(lines[at].split())) + "\n"
            return "".join(lines)

        ExportedKit(self.folder).edit("kit.txt", change_line)

    def shorten_silence(self) -> None:
        """Let a hang be found after two seconds."""
        self.edit("need", lambda words: [*words[:-1], "2"])

    def identify(self, uuids: str, **more: str) -> dict[str, str]:
        """The environment of a machine whose GPUs have UUIDs of these letters."""
        folder = self.here.directory / "identified"
        if not folder.exists():
            build_identified_driver(folder)
        return {"LD_LIBRARY_PATH": str(folder), "IDENTIFIED_UUIDS": uuids, **more}

    def command(self, program: str, *words: str) -> list[str]:
        start = ["./program"] if program == "program" else [sys.executable, "-B", "run.py"]
        return [*start, *words]

    @property
    def environment(self) -> dict[str, str]:
        return {name: value for name, value in self.here.environment.items() if name not in ("PYTHONPATH", "HOME")}

    def run(self, program: str, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(program, *words),
            cwd=self.folder,
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )

    def records(self, log: str = "log.jsonl") -> dict[str, Record]:
        found = read_kit_log(str(self.folder / log))
        assert found.problems == ()
        return {record.test: record for record in read_records(found)}


def finishes(record: Record) -> bool:
    return record.ending is Ending.FINISHED and record.iterations >= ITERATIONS


def test_both_programs_run_the_same_launches(machine: Make) -> None:
    """Tests in CTAs, in a warp and in two kernels; the driver finds nothing to complain of."""
    tests = [place(name) for name in PLACES]
    kit = KitMachine(machine(), tests, ["sm_80"])
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


def test_the_records_go_through_compare(machine: Make) -> None:
    kit = KitMachine(machine(), [place("cta")], ["sm_80"])
    assert kit.run("program").returncode == 0
    here = kit.here
    log, output = str(kit.folder / "log.jsonl"), str(kit.folder / "records.txt")
    assert here.run("-m", "gpudiy", "run", "--import", log, "-o", output, "-q").returncode in (0, 3)
    assert here.run("-m", "gpudiy", "table", output).returncode == 0
    report = here.run("-m", "gpudiy", "report", output, "-o", str(kit.folder / "report.html"))
    assert report.returncode == 0, report.stderr
    assert compare([output, str(ROOT / "logs" / "asplos15.jsonl")]) is not None


def test_clusters(machine: Make) -> None:
    test = sb_test("(device (kernel (cluster (cta (warp P0)) (cta (warp P1)))))", name="cluster")
    kit = KitMachine(machine("small90"), [test, place("cta")], ["sm_90"])
    for program in PROGRAMS:
        found = kit.run(program, "--log", f"{program}.jsonl")
        assert found.returncode == 0, found.stderr
        assert finishes(kit.records(f"{program}.jsonl")["cluster"])
    assert kit.here.journal.violations == []
    launches = kit.here.journal.entries("launch")
    assert {launch["cluster"] for launch in launches if launch["kernel"] == "run_cluster_2"} == {"2"}


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_cubin_serves_later_chips_of_its_family(machine: Make, program: str) -> None:
    """A kit for sm_75 and sm_80 on a chip of sm_80: the better one is taken."""
    kit = KitMachine(machine(), [place("cta")], ["sm_75", "sm_80"])
    assert kit.run(program).returncode == 0
    assert {entry["architecture"] for entry in kit.here.journal.entries("module")} == {"80"}


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_chip_that_the_kit_has_nothing_for(machine: Make, program: str) -> None:
    kit = KitMachine(machine("small75"), [place("cta")], ["sm_80"])
    found = kit.run(program)
    assert found.returncode == 0
    record = kit.records()["SB.cta1"]
    assert record.ending is Ending.BUILD_FAILED
    assert record.reason == "the kit has no binary for sm_75, only for sm_80"
    assert kit.here.journal.entries("launch") == []


@pytest.mark.parametrize("program", PROGRAMS)
def test_ptx_is_compiled_for_later_chips_and_then_checked(machine: Make, program: str) -> None:
    """The driver compiles it; optcheck says what that is worth when the cubin came back with the log."""
    here = machine("small90")
    test = place("cta")
    kit = KitMachine(here, [test], ["sm_80"])
    cubin = add_compiled(kit)
    found = kit.run(program)
    assert found.returncode == 0, found.stderr
    assert here.journal.violations == []
    assert [entry["level"] for entry in here.journal.entries("link")] == ["1"]
    (compiled,) = kit.folder.glob("compiled-*.cubin")
    assert compiled.read_bytes() == cubin
    record = kit.records()["SB.cta1"]
    assert (record.optcheck, record.optcheck_text) == ("unchanged", "")
    assert record.iterations >= ITERATIONS
    compiled.unlink()
    record = kit.records()["SB.cta1"]
    assert record.optcheck == "unverifiable"
    assert not decide_record(record).sighting.is_evidence


@pytest.mark.parametrize("program", PROGRAMS)
def test_ptx_that_the_driver_refuses(machine: Make, program: str) -> None:
    kit = KitMachine(machine("small90"), [place("cta")], ["sm_80"])
    found = kit.run(program)
    assert found.returncode == 3
    record = kit.records()["SB.cta1"]
    assert record.ending is Ending.BUILD_FAILED
    assert "cuLinkComplete failed" in record.reason


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
def test_a_fault_is_survived_and_recorded(machine: Make, tmp_path: Path, fault: str, program: str) -> None:
    plan, struck, ending, reason = FAULTS[fault]
    (tmp_path / "once").touch()
    here = machine(faults=plan.format(once=tmp_path / "once"))
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
def test_a_gpu_that_does_not_open_is_given_up_and_the_log_continued(machine: Make, program: str) -> None:
    here = machine()
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
def test_a_lost_test_is_run_again_and_a_crashed_one_is_not(machine: Make, program: str) -> None:
    here = machine(faults="kernel/run:0:0:=719,kernel/run:0:1:=999")
    tests = [place("cta", value) for value in (11, 12)]
    kit = KitMachine(here, tests, ["sm_80"])
    assert kit.run(program).returncode == 3
    assert {record.ending for record in kit.records().values()} == {Ending.CRASHED, Ending.DEVICE_LOST}
    assert kit.run(program, STANDIN_FAULTS="").returncode == 0
    records = kit.records()
    assert records[tests[0].name].ending is Ending.CRASHED
    assert finishes(records[tests[1].name])


@pytest.mark.parametrize("program", PROGRAMS)
def test_an_interrupt_keeps_what_was_counted_and_the_next_run_goes_on(machine: Make, program: str) -> None:
    """The second test hangs, is interrupted, and is run again; the first is not."""
    here = machine(faults="kernel/run:0:1:#3=hang")
    tests = [place("cta", value) for value in (11, 12)]
    kit = KitMachine(here, tests, ["sm_80"])
    running = subprocess.Popen(
        kit.command(program), cwd=kit.folder, env=kit.environment, stderr=subprocess.PIPE, text=True
    )
    log = kit.folder / "log.jsonl"
    while '{"launch":1,"number":1,' not in (log.read_text() if log.exists() else ""):
        assert running.poll() is None
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    _, shown = running.communicate(timeout=300)
    assert running.returncode == 130
    assert "run it again to continue log.jsonl" in shown
    record = kit.records()[tests[1].name]
    assert (record.ending, record.reason) == (Ending.STOPPED, "interrupted")
    assert record.iterations > 0
    first = log.read_text().count('{"begin":0,')
    assert kit.run(program, STANDIN_FAULTS="").returncode == 0
    assert log.read_text().count('{"begin":0,') == first == 1
    assert all(finishes(record) for record in kit.records().values())


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_log_that_was_cut_is_continued(machine: Make, program: str) -> None:
    kit = KitMachine(machine(), [place("cta", value) for value in (11, 12)], ["sm_80"])
    assert kit.run(program).returncode == 0
    log = kit.folder / "log.jsonl"
    text = log.read_text()
    log.write_text(text[: text.rindex('{"launch":1,') + 25])
    assert kit.run(program).returncode == 0
    assert [path.name for path in kit.folder.glob("log*")].count("log.jsonl") == 1
    assert all(finishes(record) for record in kit.records().values())
    assert log.read_text().count('{"begin":0,') == 1
    assert log.read_text().count('{"begin":1,') == 2


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_limit_stops_a_test(machine: Make, program: str) -> None:
    kit = KitMachine(machine(), [place("cta")], ["sm_80"], limit=0.001)
    assert kit.run(program).returncode == 0
    record = kit.records()["SB.cta1"]
    assert (record.ending, record.reason) == (Ending.STOPPED, "time was up")


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_gpu_that_is_too_small(machine: Make, program: str) -> None:
    """One SM with one CTA cannot run two CTAs at the same time."""
    kit = KitMachine(machine("tiny80"), [place("cta")], ["sm_80"])
    assert kit.run(program).returncode == 0
    record = kit.records()["SB.cta1"]
    assert record.ending is Ending.NOT_RUNNABLE
    assert "there is room for 1" in record.reason
    assert kit.here.journal.entries("launch") == []


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_large_gpu_is_filled(machine: Make, program: str) -> None:
    """The CTAs of a launch are nearly all that an A100 runs at the same time; its kernels do nothing here."""
    here = machine("a100", STANDIN_IDLE="1")
    kit = KitMachine(here, [place("cta")], ["sm_80"], iterations=1 << 30, limit=0.001)
    kit.run(program)
    log = [json.loads(line) for line in (kit.folder / "log.jsonl").read_text().splitlines()]
    loaded = next(line for line in log if "loaded" in line)
    grids = {int(launch["grid"]) for launch in here.journal.entries("launch") if launch["kernel"] == "run"}
    assert len(grids) == 1
    assert 15 / 16 * loaded["resident"] < grids.pop() <= loaded["resident"]
    assert here.journal.violations == []


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_gpu_that_is_not_there(machine: Make, program: str) -> None:
    kit = KitMachine(machine(), [place("cta")], ["sm_80"])
    found = kit.run(program, "--device", "3")
    assert found.returncode == 3
    assert found.stderr.count("there is no GPU 3: there are 1, counted from 0") == 1
    assert "done" not in found.stderr and not (kit.folder / "log.jsonl").exists()


def names_of_logs(kit: KitMachine) -> list[str]:
    return sorted(path.name for path in kit.folder.glob("log*.jsonl"))


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_gpu_has_a_log_of_its_own(machine: Make, program: str) -> None:
    """Before, GPU 1 ran nothing after GPU 0, and all was said to be done."""
    kit = KitMachine(machine("small80,small80"), [place("cta")], ["sm_80"])
    here = kit.identify("ab")
    assert kit.run(program, **here).returncode == 0
    found = kit.run(program, "--device", "1", **here)
    assert found.returncode == 0
    assert "log.jsonl: this is the log of another GPU" in found.stderr
    assert "done; send back log-2.jsonl" in found.stderr
    assert names_of_logs(kit) == ["log-2.jsonl", "log.jsonl"]
    first, second = (kit.records(name)["SB.cta1"] for name in ("log.jsonl", "log-2.jsonl"))
    assert finishes(first) and finishes(second)
    assert (first.device, second.device) == ("cuda:0", "cuda:1")
    one, other = dict(first.device_info), dict(second.device_info)
    assert (one["uuid"], one["pci"]) == ("GPU-61616161-6161-6161-6161-616161616161", "00000000:60:00.0")
    assert (other["uuid"], other["pci"]) == ("GPU-62626262-6262-6262-6262-626262626262", "00000000:61:00.0")
    # once more, and the other one first: each finds its own, and nothing is run again
    sizes = [(kit.folder / name).stat().st_size for name in names_of_logs(kit)]
    assert kit.run(program, "--device", "1", **here).returncode == 0
    assert kit.run(program, "--device", "0", **kit.identify("ba")).returncode == 0  # the GPUs are counted otherwise
    assert sizes == [(kit.folder / name).stat().st_size for name in names_of_logs(kit)]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_kit_that_came_with_a_log_from_another_machine(machine: Make, program: str) -> None:
    kit = KitMachine(machine(), [place("cta")], ["sm_80"])
    assert kit.run(program, **kit.identify("a")).returncode == 0
    found = kit.run(program, **kit.identify("c"))
    assert found.returncode == 0 and "log-2.jsonl is written" in found.stderr
    assert finishes(kit.records("log-2.jsonl")["SB.cta1"])
    found = kit.run(program, "--log", "log.jsonl", **kit.identify("c"))
    assert found.returncode == 2
    assert "log.jsonl: this is the log of another GPU: name another with --log" in found.stderr


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_log_of_another_kit_or_that_was_changed_is_left_as_it_is(machine: Make, program: str) -> None:
    kit = KitMachine(machine(), [place("cta")], ["sm_80"])
    log = kit.folder / "log.jsonl"
    log.write_text('{"kit":1}\n')
    assert kit.run(program, "--log", "log.jsonl").returncode == 2
    found = kit.run(program)
    assert found.returncode == 0 and "log.jsonl: this is not the log of a kit" in found.stderr
    assert log.read_text() == '{"kit":1}\n'
    other = kit.folder / "log-2.jsonl"
    changed = other.read_text().replace('"number":1,', '"number":2,', 1)
    other.write_text(changed)
    found = kit.run(program)
    assert found.returncode == 0
    number = next(n for n, line in enumerate(changed.splitlines(), 1) if line.count('"number":2,'))
    assert f"log-2.jsonl: line {number} was changed or damaged" in found.stderr
    assert other.read_text() == changed and finishes(kit.records("log-3.jsonl")["SB.cta1"])
    kit.edit("again", lambda words: [*words, "12345"])  # another kit
    found = kit.run(program, "--log", "log-3.jsonl")
    assert found.returncode == 2 and "log-3.jsonl: this is not the log of this kit" in found.stderr


@pytest.mark.parametrize("program", PROGRAMS)
def test_gpus_are_counted_as_nvidia_smi_counts_them(machine: Make, program: str) -> None:
    kit = KitMachine(machine(), [place("cta")], ["sm_80"])
    assert kit.run(program, **kit.identify("a")).returncode == 0
    assert {entry["order"] for entry in kit.here.journal.entries("init")} == {"PCI_BUS_ID"}
    (kit.here.directory / "journal").unlink()
    assert kit.run(program, **kit.identify("b", CUDA_DEVICE_ORDER="FASTEST_FIRST")).returncode == 0
    assert {entry["order"] for entry in kit.here.journal.entries("init")} == {"FASTEST_FIRST"}


@pytest.mark.parametrize("program", PROGRAMS)
def test_one_program_continues_the_log_of_the_other(machine: Make, program: str) -> None:
    (other,) = {*PROGRAMS} - {program}
    tests = [place("cta", value) for value in (11, 12)]
    kit = KitMachine(machine(faults="kernel/run:0:1:=999"), tests, ["sm_80"])
    assert kit.run(other).returncode == 3
    assert kit.run(program, STANDIN_FAULTS="").returncode == 0
    records = kit.records()
    assert all(finishes(record) for record in records.values())
    names = {"program": "run.c", "run.py": "run.py"}
    assert records[tests[1].name].tool.endswith(names[program])
    assert records[tests[0].name].tool.endswith(names[other])


@pytest.mark.parametrize("program", PROGRAMS)
def test_launches_at_low_clocks_do_not_count(machine: Make, monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    """The first launches are slow; before, they counted."""
    monkeypatch.setattr("gpudiy.kits.export.SECONDS", 0.001)
    kit = KitMachine(machine(), [place("cta", value) for value in (11, 12)], ["sm_80"])
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
def test_a_driver_that_takes_long_to_load_has_not_hung(machine: Make, program: str) -> None:
    """Before, only a driver that was slow to open had more time."""
    kit = KitMachine(machine(), [place("cta")], ["sm_80"])
    kit.shorten_silence()
    found = kit.run(program, **kit.identify("a", SLOW_LOAD="4"))
    assert found.returncode == 0, found.stderr
    assert finishes(kit.records()["SB.cta1"])


def add_compiled(kit: KitMachine) -> bytes:
    """Let the driver compile the PTX of a kit for sm_80, as nvJitLink does it for sm_90."""
    texts = [(kit.folder / f"{name}-sm_80.ptx").read_bytes() for name in ("tests", "kernels")]
    cubin = assembler_for("sm_80").linker.link(texts, "sm_90", 1, REGISTERS)
    kernels = kit.here.directory / "kernels"
    name = image_hash(b"".join(text + b"\0" for text in texts))
    (kernels / f"{name:016x}.compiled").write_bytes(cubin)
    (host_build,) = {path.resolve() for path in kernels.glob("*.so")}
    (kernels / f"{image_hash(cubin):016x}.so").symlink_to(host_build)
    return cubin


@pytest.mark.parametrize("program", PROGRAMS)
def test_ptx_is_compiled_with_the_registers_of_the_cubins(machine: Make, program: str) -> None:
    kit = KitMachine(machine("small90"), [place("cta")], ["sm_80"])
    add_compiled(kit)
    assert kit.run(program, **kit.identify("a")).returncode == 0
    assert kit.here.journal.entries("linker") == [{"registers": str(REGISTERS)}]


@pytest.mark.parametrize("program", PROGRAMS)
def test_ptx_takes_the_place_of_a_cubin_that_the_driver_refuses(machine: Make, tmp_path: Path, program: str) -> None:
    """Error 209 for a cubin of the same family. Before, the test could not be run."""
    (tmp_path / "once").touch()
    tests = [place("cta", value) for value in (11, 12)]
    kit = KitMachine(
        machine("small90", faults=f"cuModuleLoadDataEx=209@{tmp_path / 'once'}"), tests, ["sm_80", "sm_90"]
    )
    texts = [(kit.folder / f"{name}-sm_90.ptx").read_bytes() for name in ("tests", "kernels")]
    cubin = assembler_for("sm_90").linker.link(texts, "sm_90", 1, REGISTERS)
    kernels = kit.here.directory / "kernels"
    (kernels / f"{image_hash(b''.join(text + bytes(1) for text in texts)):016x}.compiled").write_bytes(cubin)
    (kernels / f"{image_hash(cubin):016x}.so").symlink_to(next(path.resolve() for path in kernels.glob("*.so")))
    found = kit.run(program)
    assert found.returncode == 0, found.stderr
    assert "its PTX is compiled" in found.stderr
    for record in kit.records().values():
        assert finishes(record) and record.optcheck == "unchanged"
        assert "sm_90 ptx" in dict(record.device_info)["binary"]


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_the_linker_says_is_shown(machine: Make, program: str) -> None:
    """Before, the program in Python did not show it."""
    kit = KitMachine(machine("small90"), [place("cta")], ["sm_80"])
    found = kit.run(program, **kit.identify("a"))
    assert found.returncode == 3
    assert "run: the linker says why\nrun: cuLinkComplete: error 218" in found.stderr


def test_messages_that_come_in_parts(machine: Make, tmp_path: Path) -> None:
    """Before, a message that was cut was two, and the number of a test another one."""
    kit = KitMachine(machine(), [place("cta", value) for value in range(11, 23)], ["sm_80"], iterations=32)
    found = kit.run("program", LD_PRELOAD=build_preload(tmp_path, "reads", SHORT_READS))
    assert found.returncode == 0, found.stderr
    shown = [line for line in found.stderr.splitlines() if " of 12: " in line]
    assert shown == [f"run: {number} of 12: SB.cta{number + 10}" for number in range(1, 13)]
    assert all(record.ending is Ending.FINISHED for record in kit.records().values())


def test_a_child_that_cannot_be_started_later(machine: Make, tmp_path: Path) -> None:
    kit = KitMachine(machine(), [place("cta")], ["sm_80"])
    fork_once = """
    #include <errno.h>
    #include <unistd.h>
    #include <sys/syscall.h>
    pid_t fork(void) { static int forks; if (forks++ == 0) return (pid_t)syscall(SYS_fork); errno = EAGAIN; return -1; }
    """
    found = kit.run("program", LD_PRELOAD=build_preload(tmp_path, "fork", fork_once))
    assert (found.returncode, "done" in found.stderr) == (3, False)
    assert "no child can be started" in found.stderr
