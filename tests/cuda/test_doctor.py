"""`gpudiy doctor` on a machine whose driver is the stand-in."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from cuda_standin import Machine
from kit_samples import build_identified_driver

pytestmark = pytest.mark.cuda
Make = Callable[..., Machine]


def examine(here: Machine, *more: str) -> tuple[int, dict[str, dict[str, str]], dict[str, object]]:
    """The exit code, the checks by name, and the last line."""
    found = here.run("-m", "gpudiy", "doctor", "--json", *more)
    *checks, device = [json.loads(line) for line in found.stdout.splitlines()]
    return found.returncode, {check["what"]: check for check in checks}, device


def test_a_machine_with_gpus(machine: Make) -> None:
    code, checks, device = examine(machine("small80,small90"))
    assert (code, device) == (0, {"device": "cuda:0", "usable": True})
    assert "2 GPUs, by " in checks["NVIDIA driver"]["found"]
    assert checks["cuda:1"]["found"] == "Stand-in 90, sm_90"
    assert checks["cuda:1 tools"]["health"] == "ok"
    assert "compiles for sm_" in checks["NVRTC"]["found"]


def test_a_gpu_that_does_not_open(machine: Make) -> None:
    code, checks, device = examine(machine(faults="cuCtxCreate=46"))
    assert (code, device["usable"]) == (3, False)
    assert "busy or unavailable" in checks["cuda:0"]["found"]


def test_a_gpu_that_drives_a_display(machine: Make) -> None:
    code, checks, _ = examine(machine(STANDIN_WATCHDOG="1"))
    assert code == 0
    assert checks["cuda:0 watchdog"]["health"] == "warning"


def test_an_old_driver_needs_old_tools(machine: Make) -> None:
    """One that is older than the tools of CUDA 12, too, which may be installed here."""
    code, checks, _ = examine(machine(STANDIN_CUDA="11040"))
    assert code == 3
    assert "gpudiy[cuda12]" in checks["cuda:0 tools"]["advice"]


def test_a_gpu_that_is_not_there(machine: Make) -> None:
    code, checks, _ = examine(machine(), "--device", "cuda:4")
    assert code == 3
    assert "there is no device 'cuda:4'" in checks["cuda:4"]["found"]


def test_the_gpus_of_nvidia_smi_are_found_by_their_places(machine: Make, tmp_path: Path) -> None:
    """GPU 0 of CUDA is at bus 60, where nvidia-smi has its number 1. Before, numbers were taken to be the same."""
    smi = tmp_path / "bin" / "nvidia-smi"
    smi.parent.mkdir()
    rows = "0, 00000000:61:00.0, B, 580, Enabled, 1410, 1410, Default, Disabled, Disabled\\n"
    rows += "1, 00000000:60:00.0, A, 580, Enabled, 210, 1410, Default, Disabled, Disabled\\n"
    smi.write_text(f"#!/bin/sh\ncase \"$1\" in --query-gpu*) printf '{rows}';; esac\n")
    smi.chmod(0o755)
    driver = str(build_identified_driver(tmp_path / "identified"))
    here = machine("small80,small80", LD_LIBRARY_PATH=driver, PATH=f"{smi.parent}:/usr/bin:/bin", IDENTIFIED_UUIDS="ab")
    code, checks, _ = examine(here)
    assert code == 0
    assert "cuda:0 is its number 1, cuda:1 is its number 0" in checks["nvidia-smi"]["found"]
    assert "-i 1 --lock-gpu-clocks" in checks["cuda:0 clocks"]["advice"]
    assert checks["cuda:1 clocks"]["health"] == "ok"


def test_gpus_whose_places_the_driver_does_not_tell(machine: Make, tmp_path: Path) -> None:
    smi = tmp_path / "bin" / "nvidia-smi"
    smi.parent.mkdir()
    row = ", 00000000:61:00.0, B, 580, Enabled, 210, 1410, Default, Disabled, Disabled\\n"
    smi.write_text(f"#!/bin/sh\ncase \"$1\" in --query-gpu*) printf '0{row}1{row}';; esac\n")
    smi.chmod(0o755)
    code, checks, _ = examine(machine("small80,small80", PATH=f"{smi.parent}:/usr/bin:/bin"))
    assert code == 0
    assert checks["nvidia-smi"]["health"] == "unknown"
    assert "cuda:0 clocks" not in checks
