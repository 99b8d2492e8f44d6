"""`gpudiy doctor` on machines that are made up: an nvidia-smi of our own on PATH, device files in a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import pytest

from gpudiy.cli import main
from gpudiy.devices.cuda_driver import INSTALL_BINDINGS, BrokenBinding, Driver, NoBinding, NoCuda, load_driver
from gpudiy.devices.doctor import nvidia, nvidia_smi
from gpudiy.devices.doctor.diagnosis import Diagnosis, Health
from gpudiy.devices.doctor.examination import Examination, check_disk

FIELDS = ",".join(nvidia_smi.FIELDS)
WELL = "0, 00000000:65:00.0, NVIDIA A100, 580.65, Enabled, 1410, 1410, Default, Disabled, Disabled"


class FakeDriver:
    """GPUs at these places on the bus, in the order of CUDA; None: the driver does not tell it."""

    def __init__(self, *buses: int | None) -> None:
        self.buses = buses

    def count(self) -> int:
        return len(self.buses)

    def attribute(self, ordinal: int, name: str) -> int | None:
        assert name in ("PCI_DOMAIN_ID", "PCI_BUS_ID", "PCI_DEVICE_ID")
        return self.buses[ordinal] if name == "PCI_BUS_ID" else 0


def check_smi(*buses: int | None) -> list[Diagnosis]:
    """What nvidia-smi says of the GPUs of CUDA at these places."""
    return nvidia_smi.check_gpus(cast(Driver, FakeDriver(*(buses or (0x65,)))))


def put_nvidia_smi(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    gpus: str,
    apps: str = "",
    unknown: str = "no such field",
    complaint: bytes = b"",
) -> None:
    """An nvidia-smi that answers the query of all fields and single ones by columns, but not of the unknown field."""
    script = folder / "nvidia-smi"
    script.write_text(f"""#!/usr/bin/env python3
import sys
query = next((word for word in sys.argv if word.startswith("--query-")), "")
what, _, asked = query.removeprefix("--query-").partition("=")
if "{unknown}" in asked.split(","):
    sys.exit('Field "{unknown}" is not a valid field to query.')
if {complaint!r}:
    sys.stdout.buffer.write({complaint!r} + b"\\n")
    sys.stdout.flush()
rows = {gpus!r} if what == "gpu" else {apps!r}
names = {FIELDS!r}.split(",") if what == "gpu" else ["pid", "process_name"]
for row in rows.splitlines():
    answers = dict(zip(names, row.split(", ")))
    print(", ".join(answers[name] for name in asked.split(",")))
sys.exit(15 if {complaint!r} else 0)
""")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def find(diagnoses: list[Diagnosis], what: str) -> list[tuple[Health, str]]:
    return [(found.health, found.advice) for found in diagnoses if found.what == what]


def test_a_gpu_that_is_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_nvidia_smi(tmp_path, monkeypatch, WELL)
    assert {found.health for found in check_smi()} == {Health.OK}


@pytest.mark.parametrize(
    ("wrong", "right", "what", "health", "advice"),
    [
        ("580.65, Disabled", "580.65, Enabled", "cuda:0 clocks", Health.WARNING, "sudo nvidia-smi -i 0 -pm 1"),
        ("210, 1410", "1410, 1410", "cuda:0 clocks", Health.WARNING, "--lock-gpu-clocks=1410"),
        ("[N/A], 1410", "1410, 1410", "cuda:0 clocks", Health.UNKNOWN, ""),
        ("Exclusive_Process", "Default", "cuda:0 compute mode", Health.WARNING, "-c DEFAULT"),
        ("Prohibited", "Default", "cuda:0 compute mode", Health.MISSING, "-c DEFAULT"),
        ("Default, Enabled", "Default, Disabled", "cuda:0 MIG", Health.WARNING, "-mig 0"),
        ("Default, Disabled, Enabled", "Default, Disabled, Disabled", "cuda:0 display", Health.WARNING, "systemctl"),
    ],
)
def test_what_is_wrong_with_a_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str, right: str, what: str, health: Health, advice: str
) -> None:
    assert right in WELL
    put_nvidia_smi(tmp_path, monkeypatch, WELL.replace(right, wrong))
    found = check_smi()
    assert any(state is health and advice in todo for state, todo in find(found, what)), found


def test_a_driver_that_does_not_know_a_field(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_nvidia_smi(tmp_path, monkeypatch, WELL.replace("1410, 1410", "300, 1410"), unknown="mig.mode.current")
    found = check_smi()
    assert find(found, "cuda:0 clocks")[0][0] is Health.WARNING
    assert find(found, "cuda:0 MIG") == []


def test_others_on_the_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_nvidia_smi(tmp_path, monkeypatch, WELL, apps="4711, /opt/train")
    (found,) = nvidia_smi.check_processes()
    assert found.health is Health.WARNING and "/opt/train (4711)" in found.found


def test_no_nvidia_smi_is_not_said_to_be_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (found,) = check_smi()
    assert found.health is Health.UNKNOWN
    put_nvidia_smi(tmp_path, monkeypatch, "")
    (found,) = check_smi()
    assert found.health is Health.WARNING and "lists no GPU" in found.found


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without GPUs; `dev` and `proc` are its folders."""
    for name, folder in (("DEVICE_FILES", "dev"), ("PROCESSES", "proc")):
        (tmp_path / folder).mkdir()
        monkeypatch.setattr(nvidia, name, tmp_path / folder)
    return tmp_path


def add_files(machine: Path, *names: str) -> Diagnosis:
    """What is said of device files with these, too."""
    for name in names:
        (machine / "dev" / name).touch()
    (found,) = nvidia.check_permissions()
    return found


def test_device_files(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "modprobe -a nvidia" in add_files(machine).advice
    assert "no GPU" in add_files(machine, "nvidiactl").found or "nvidia0" in add_files(machine).found
    assert "nvidia-uvm" in add_files(machine, "nvidia0").found
    assert add_files(machine, "nvidia-uvm").health is Health.OK
    monkeypatch.setattr("os.access", lambda path, mode: Path(path).name != "nvidiactl")
    (closed,) = nvidia.check_permissions()
    assert closed.health is Health.MISSING and "usermod -aG video" in closed.advice and "nvidiactl" in closed.found


def test_a_container_with_some_of_the_gpus(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before, /dev/nvidia0 was said to be missing, and to be made."""
    for number in range(4):
        (machine / "proc" / nvidia.GPUS_OF_MACHINE / f"0000:6{number}:00.0").mkdir(parents=True)
    found = add_files(machine, "nvidia2", "nvidia10", "nvidiactl", "nvidia-uvm")
    assert (found.health, found.advice) == (Health.OK, "")
    assert "nvidia2" in found.found and "2 of the 4 GPUs of the machine are here" in found.found
    monkeypatch.setattr("os.access", lambda path, mode: Path(path).name != "nvidia10")
    found = add_files(machine)
    assert found.health is Health.WARNING and found.found.endswith(f"and not {machine / 'dev' / 'nvidia10'}")


def test_wsl(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In WSL2 there is /dev/dxg instead. Before, a kernel module was to be loaded, which WSL does not have."""
    (machine / "proc" / "version").write_text("Linux version 5.15.90.1-microsoft-standard-WSL2")
    found = add_files(machine)
    assert found.health is Health.WARNING and "wsl --update" in found.advice and "modprobe" not in found.advice
    found = add_files(machine, "dxg")
    assert found.health is Health.OK and "WSL2" in found.found
    monkeypatch.setattr("os.access", lambda path, mode: False)
    assert add_files(machine).health is Health.MISSING


IDLE = WELL.replace("1410, 1410", "210, 1410")
SECOND = WELL.replace("0, 00000000:65", "1, 00000000:b3")


def test_numbers_of_cuda_and_of_nvidia_smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CUDA counts the fastest first. Before, the clocks of the other card were told, and it was to be changed."""
    put_nvidia_smi(tmp_path, monkeypatch, f"{IDLE}\n{SECOND}")
    found = check_smi(0xB3, 0x65)
    assert [state for state, _ in find(found, "cuda:0 clocks")] == [Health.OK]
    ((state, advice),) = find(found, "cuda:1 clocks")
    assert state is Health.WARNING and "nvidia-smi -i 0 " in advice
    assert any("cuda:0 is its number 1, cuda:1 is its number 0" in one.found for one in found)


def test_a_gpu_that_cuda_does_not_see_is_not_spoken_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    put_nvidia_smi(tmp_path, monkeypatch, f"{WELL.replace('Default', 'Prohibited')}\n{SECOND}")
    found = check_smi(0xB3)
    assert {one.health for one in found} == {Health.OK}
    assert any("CUDA sees 1 of them (CUDA_VISIBLE_DEVICES=1)" in one.found for one in found)
    prohibited = check_smi(0x65)
    ((state, advice),) = find(prohibited, "cuda:0 compute mode")
    assert state is Health.MISSING and "-i 0 " in advice


def test_gpus_whose_place_is_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_nvidia_smi(tmp_path, monkeypatch, f"{IDLE}\n{SECOND}")
    found = check_smi(None, None)
    assert {one.health for one in found if one.what == "nvidia-smi"} == {Health.UNKNOWN}
    assert not any("clocks" in one.what for one in found)
    put_nvidia_smi(tmp_path, monkeypatch, IDLE)
    assert find(check_smi(None), "cuda:0 clocks")[0][0] is Health.WARNING


def test_a_gpu_that_must_be_reset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = "1, 00000000:65:00.0, NVIDIA A100, 580.65, Enabled" + ", [GPU requires reset]" * 5
    put_nvidia_smi(tmp_path, monkeypatch, row)
    (found,) = [one for one in check_smi() if one.what == "cuda:0 state"]
    assert (found.health, found.device) == (Health.MISSING, "cuda:0")
    assert "--gpu-reset" in found.advice and "-i 1 " in found.advice


LOST = b"Unable to determine the device handle for GPU0000:b3:00.0: GPU is lost.  Reboot the system to recover this GPU"


def test_a_gpu_that_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """nvidia-smi answers for the others, and ends with an error. Before, no GPU was listed at all."""
    put_nvidia_smi(tmp_path, monkeypatch, WELL, complaint=LOST)
    found = check_smi(0x65, 0xB3)
    assert find(found, "cuda:0 clocks") == [(Health.OK, "")]
    (lost,) = [one for one in found if one.what == "cuda:1 state"]
    assert (lost.health, lost.device) == (Health.MISSING, "cuda:1")
    assert "GPU is lost" in lost.found and "restart the machine" in lost.advice
    without = nvidia_smi.check_gpus(None)  # a lost GPU often keeps CUDA from starting
    assert [one.health for one in without] == [Health.MISSING]


def test_output_that_is_no_utf_8(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before, this was a bug in gpudiy."""
    put_nvidia_smi(tmp_path, monkeypatch, WELL, complaint=b"\xff\xfe broken: GPU is lost")
    assert find(check_smi(), "cuda:0 clocks") == [(Health.OK, "")]


def test_a_process_with_a_comma_in_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_nvidia_smi(tmp_path, monkeypatch, WELL)
    monkeypatch.setattr(nvidia_smi, "_run", lambda command: (0, "4711, /opt/train,v2\n"))
    (found,) = nvidia_smi.check_processes()
    assert "/opt/train,v2 (4711)" in found.found


CURAND = "NVIDIA's driver does not load: libcurand.so.10: cannot open shared object file: No such file or directory"


def break_bindings(monkeypatch: pytest.MonkeyPatch, pycuda: object, bindings: object) -> None:
    """What the bindings raise, or are."""

    def load(what: object) -> object:
        if isinstance(what, Exception):
            raise what
        return what

    monkeypatch.delenv("GPUDIY_CUDA", raising=False)
    monkeypatch.setattr("gpudiy.devices.cuda_pycuda.load_pycuda", lambda: load(pycuda))
    monkeypatch.setattr("gpudiy.devices.cuda_bindings.load_bindings", lambda: load(bindings))


@pytest.mark.parametrize(
    "broken",
    [NoCuda(CURAND, "install it"), ModuleNotFoundError("No module named 'pytools'"), ValueError("numpy.dtype")],
)
def test_a_pycuda_that_is_broken_does_not_stop_cuda_bindings(
    monkeypatch: pytest.MonkeyPatch, broken: Exception
) -> None:
    works = FakeDriver(1)
    break_bindings(monkeypatch, broken, works)
    assert load_driver() is works
    break_bindings(monkeypatch, broken, NoBinding("cuda-bindings is not installed", INSTALL_BINDINGS))
    with pytest.raises(BrokenBinding, match=r"PyCUDA cannot be imported: .*; cuda-bindings is not installed") as raised:
        load_driver()
    assert INSTALL_BINDINGS in raised.value.command and "install NVIDIA's driver" not in raised.value.command


def test_what_is_wrong_with_both_bindings(monkeypatch: pytest.MonkeyPatch) -> None:
    started = NoCuda("NVIDIA's driver does not start: cuInit failed: unknown error", "nvidia-smi")
    break_bindings(monkeypatch, NoCuda(CURAND, "install it"), started)
    with pytest.raises(NoCuda, match=r"PyCUDA cannot be imported: libcurand.*; NVIDIA's driver does not start"):
        load_driver()
    break_bindings(monkeypatch, started, NoBinding("cuda-bindings is not installed", INSTALL_BINDINGS))
    with pytest.raises(NoCuda, match=r"cuInit failed: unknown error\Z"):  # another binding would not help
        load_driver()
    absent = NoBinding("not installed", "pip")
    break_bindings(monkeypatch, absent, absent)
    with pytest.raises(NoBinding, match="neither PyCUDA nor cuda-bindings is installed"):
        load_driver()


def test_mps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvidia, "PROCESSES", tmp_path)
    assert nvidia.check_mps()[0].health is Health.OK
    (tmp_path / "12").mkdir()
    (tmp_path / "12" / "cmdline").write_bytes(b"/usr/bin/nvidia-cuda-mps-server\0")
    (found,) = nvidia.check_mps()
    assert found.health is Health.WARNING and "echo quit" in found.advice


def test_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_disk(tmp_path / "not" / "there")[0].health is Health.OK
    monkeypatch.setattr("gpudiy.devices.doctor.examination.LEAST_FREE", 1 << 60)
    assert "XDG_CACHE_HOME" in check_disk(tmp_path)[0].advice


def test_what_is_missing_counts_for_its_own_device_only() -> None:
    missing = Diagnosis("compute mode", Health.MISSING, "prohibited", device="cuda:1")
    assert Examination("cuda:0", (missing,)).usable
    assert not Examination("cuda:1", (missing,)).usable
    assert not Examination("cuda:1", (Diagnosis("driver", Health.MISSING, "", device="cuda"),)).usable
    assert Examination("opencl", (Diagnosis("driver", Health.MISSING, "", device="cuda"),)).usable


def test_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--device", "sim:kepler", "--json"]) == 0
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert last == {"device": "sim:kepler", "usable": True}
    assert main(["doctor", "--device", "sim:nobody"]) == 3
    assert "sim:nobody cannot be used" in capsys.readouterr().out
    assert main(["doctor", "--device", "abacus"]) == 2
