"""`gpudiy run --device cuda:0` on a machine whose GPU fails: what happened is recorded, and the other tests run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from cuda_standin import SHORT, Machine, sb_test

from gpudiy.litmus import print_test, read_test
from gpudiy.logs import load_log
from gpudiy.logs.decision import decide_record

pytestmark = pytest.mark.cuda
Make = Callable[..., Machine]
NAMES = ("first", "second", "third")
TESTS = [
    read_test(print_test(sb_test(name=name)).replace("],1", f"],{value}"))
    for value, name in zip((11, 12, 13), NAMES, strict=True)
]


def run(here: Machine, *more: str) -> tuple[dict[str, dict[str, object]], int]:
    """The records by test, and the exit code."""
    here.add_tests(TESTS)
    folder = here.directory / "tests"
    folder.mkdir()
    for test in TESTS:
        (folder / f"{test.name}.litmus").write_text(print_test(test))
    log = here.directory / "log.jsonl"
    paths = [str(folder / f"{name}.litmus") for name in NAMES]
    found = here.run(
        "-m", "gpudiy", "run", *paths, "-d", "cuda:0", "-s", "500", *SHORT, "--seed", "1", "-o", str(log), "-q", *more
    )
    assert log.exists(), found.stderr
    records = [json.loads(line) for line in log.read_text().splitlines()]
    return {record["test"]: record for record in records if "test" in record}, found.returncode


def once(tmp_path: Path) -> str:
    """A file whose removal is a fault that strikes once."""
    (tmp_path / "once").touch()
    return str(tmp_path / "once")


def test_a_run_without_faults(machine: Make) -> None:
    here = machine()
    records, code = run(here)
    decided = [decide_record(record) for record in load_log(here.directory / "log.jsonl").columns.records()]
    overlapped = all(decision.sighting.is_evidence for decision in decided)  # as chance has it, on a processor
    assert len(decided) == len(TESTS) and code == (0 if overlapped else 3)
    assert all("run at the same time" in found.reason for found in decided if not found.sighting.is_evidence)
    assert here.journal.violations == []
    for record in records.values():
        assert record["ending"] == "finished"
        assert record["device"] == "cuda:0"
        assert record["chip"] == "Stand-in 80"
        assert record["architecture"] == "sm_80"
        assert str(record["driver"]).startswith("CUDA ")
        assert str(record["toolkit"]).startswith("NVRTC")
        assert record["optcheck"] == "unchanged"
        assert record["iterations"] == sum(entry["count"] for entry in record["histogram"]) >= 500  # type: ignore[attr-defined]
        assert record["liveness"]["timed"] == record["iterations"]  # type: ignore[index]
        assert record["liveness"]["stress_accesses"] > 0  # type: ignore[index]


def test_a_gpu_is_warmed_up_and_runs_many_launches(machine: Make, tmp_path: Path) -> None:
    here = machine()
    test = sb_test()
    here.add_tests([test])
    path = tmp_path / "sb.litmus"
    path.write_text(print_test(test))
    words = ("-s", "3000", "--seconds", "0.2", "--json", "-q", "--limit", "300")
    found = here.run("-m", "gpudiy", "run", str(path), "-d", "cuda:0", *words)
    record = json.loads(found.stdout)
    assert record["liveness"]["launches"] >= 32 and record["seconds"] >= 0.2
    assert "launches in" in record["options"]["warm-up"]
    launched = [launch for launch in here.journal.entries("launch") if launch["kernel"].startswith("run")]
    assert len(launched) >= record["liveness"]["launches"] + 3  # those of the warm-up do not count


FAULTS = {
    "launch error": (
        "cuLaunchKernel#2=719@{once}",
        "first",
        "crashed",
        "failed: unspecified launch failure",
    ),
    "kernel error": ("kernel/run:0:1:=700", "second", "crashed", "an illegal memory access was encountered"),
    "hang": ("kernel/run:0:1:=hang", "second", "timeout", "no answer for"),
    "device lost": ("kernel/run:0:1:=999", "second", "device lost", "unknown error"),
    "out of memory": ("cuModuleLoadDataEx=2@{once}", "first", "out of memory", "out of memory"),
    "wrong count": ("copy#1=miscount@{once}", "first", "crashed", "instances gave"),
    "wrong end": ("copy#2=miscount@{once}", "first", "crashed", "threads finished"),
    "death": ("kernel/run:0:1:=abort", "second", "crashed", "was killed by SIGABRT"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_survived_and_recorded(machine: Make, tmp_path: Path, fault: str) -> None:
    plan, struck, ending, reason = FAULTS[fault]
    here = machine(faults=plan.format(once=once(tmp_path)))
    records, code = run(here, *(("--limit", "30") if fault == "hang" else ()))
    assert code == 3
    assert list(records) == list(NAMES)
    assert records[struck]["ending"] == ending
    assert reason in str(records[struck]["reason"])
    assert records[struck]["iterations"] == 0
    for name in NAMES:
        if name != struck:
            assert records[name]["ending"] == "finished"
            assert records[name]["iterations"] >= 500  # type: ignore[operator]
    assert here.journal.violations == []


def test_a_gpu_that_does_not_open(machine: Make, tmp_path: Path) -> None:
    path = tmp_path / "sb.litmus"
    path.write_text(print_test(TESTS[0]))
    found = machine(faults="cuCtxCreate=46").run(
        "-m", "gpudiy", "run", str(path), "-d", "cuda:0", "-s", "100", *SHORT, "-q"
    )
    assert found.returncode == 3
    assert "busy or unavailable" in found.stderr + found.stdout


def test_what_optcheck_refuses_is_not_run(machine: Make, tmp_path: Path) -> None:
    """The compiler swaps weak accesses to global and shared memory, and the record says so."""
    text = print_test(read_test(MIXED))
    path = tmp_path / "mixed.litmus"
    path.write_text(text)
    here = machine()
    found = here.run("-m", "gpudiy", "run", str(path), "-d", "cuda:0", "-s", "100", *SHORT, "-q", "--json")
    record = json.loads(found.stdout.splitlines()[0])
    assert record["ending"] == "refused"
    assert record["reason"].startswith("optcheck: ")
    assert here.journal.entries("launch") == []


MIXED = """GPU_PTX SB
P0                     : P1
st.s32 [x], 1          : st.shared.s32 [y], 1
ld.shared.s32 r0, [y]  : ld.s32 r0, [x]
(device (kernel (cta (warp P0) (warp P1))))
x: global, y: shared
0:r0=0 /\\ 1:r0=0
"""


def test_the_list_of_devices(machine: Make) -> None:
    found = machine("a100,h100").run("-m", "gpudiy", "devices")
    assert "cuda:0" in found.stdout
    assert "NVIDIA A100-SXM4-40GB, sm_80, 108 SMs, driver CUDA " in found.stdout
    assert "NVIDIA H100 80GB HBM3, sm_90, 132 SMs, driver CUDA " in found.stdout


def test_gpus_that_are_not_there(machine: Make, tmp_path: Path) -> None:
    path = tmp_path / "sb.litmus"
    path.write_text(print_test(TESTS[0]))
    here = machine("small80,small80")
    found = here.run("-m", "gpudiy", "run", str(path), "-d", "cuda:2", "-s", "100", *SHORT, "-q")
    assert found.returncode == 2
    assert "there are 2 GPUs: cuda:0 to cuda:1" in found.stderr
    found = here.run("-m", "gpudiy", "run", str(path), "-d", "cuda:first", "-s", "100", *SHORT, "-q")
    assert found.returncode == 2
    assert "GPUs are named by numbers" in found.stderr


@pytest.mark.parametrize(
    ("missing", "message", "command"),
    [
        ("PYTHONPATH", "neither PyCUDA nor cuda-bindings is installed", "pip install 'gpudiy[cuda-bindings]'"),
        ("LD_LIBRARY_PATH", "NVIDIA's driver does not load", "install NVIDIA's driver"),
        ("STANDIN_CHIPS", "no CUDA-capable device is detected", "nvidia-smi"),
    ],
)
def test_what_is_missing_is_named_with_the_command(
    machine: Make, tmp_path: Path, missing: str, message: str, command: str
) -> None:
    here = machine(**{missing: "none" if missing == "STANDIN_CHIPS" else ""})
    listed = here.run("-m", "gpudiy", "devices")
    assert listed.returncode == 0
    assert message in listed.stdout
    assert command in listed.stdout
    path = tmp_path / "sb.litmus"
    path.write_text(print_test(TESTS[0]))
    found = here.run("-m", "gpudiy", "run", str(path), "-d", "cuda:0", "-s", "100", *SHORT, "-q")
    assert found.returncode == 3
    assert message in found.stderr
    assert command in found.stderr
