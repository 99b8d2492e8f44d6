"""NVIDIA's driver: whether it is there, whether it may be used, by which binding, and what each GPU is like."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from gpudiy.devices.cuda_driver import NAMES, CudaError, Driver, NoBinding, NoCuda, describe_problem, load_driver
from gpudiy.devices.doctor.diagnosis import Diagnosis, Health

DEVICE_FILES = Path("/dev")
PROCESSES = Path("/proc")
GPU_FILES, CONTROL_FILES = "nvidia[0-9]*", ("nvidiactl", "nvidia-uvm")
WINDOWS_FILE, WINDOWS = "dxg", "microsoft"  # in WSL2, where the driver is that of Windows
GPUS_OF_MACHINE = "driver/nvidia/gpus"  # in /proc: also those that a container does not have
MPS = "nvidia-cuda-mps"  # how its processes are called


def check_driver() -> tuple[list[Diagnosis], Driver | None]:
    """The driver, the bindings to it, and the GPUs it lists; and the driver itself, where it can be used."""
    found = list(_check_bindings())
    try:
        driver = load_driver()
        count = driver.count()
    except NoCuda as problem:
        return [*found, Diagnosis("NVIDIA driver", Health.MISSING, str(problem), problem.command, "cuda")], None
    except CudaError as problem:
        return [*found, Diagnosis("NVIDIA driver", Health.MISSING, str(problem), "nvidia-smi", "cuda")], None
    from gpudiy.devices.cuda_gpu import driver_version

    text = f"{driver_version(driver)}, {count} GPU{'' if count == 1 else 's'}, by {driver.binding}"
    return [*found, Diagnosis("NVIDIA driver", Health.OK, text)], driver


def _check_bindings() -> Iterator[Diagnosis]:
    from gpudiy.devices.cuda_bindings import load_bindings
    from gpudiy.devices.cuda_pycuda import load_pycuda

    loaders: dict[str, Callable[[], Driver]] = {"pycuda": load_pycuda, "bindings": load_bindings}
    absent: list[tuple[str, str]] = []
    for binding, load in loaders.items():
        name = NAMES[binding]
        try:
            yield Diagnosis(name, Health.OK, f"{load().binding} works")
        except NoBinding as problem:
            absent.append((name, problem.command))
        except Exception as problem:  # also whatever a package raises that was built for another machine
            what = describe_problem(binding, problem)
            yield Diagnosis(name, Health.WARNING, f"installed, but {what}", what.command)
    for name, command in absent:  # one of the two is enough
        if len(absent) == len(loaders):
            yield Diagnosis(name, Health.MISSING, "not installed", command)
        else:
            yield Diagnosis(name, Health.OK, "not installed, and not needed")


def check_gpus(driver: Driver) -> list[Diagnosis]:
    """What the driver itself says of each GPU."""
    found = []
    for ordinal in range(driver.count()):
        major, minor = driver.capability(ordinal)
        text = f"{driver.name(ordinal)}, sm_{major}{minor}"
        found.append(Diagnosis(f"cuda:{ordinal}", Health.OK, text))
        if driver.attribute(ordinal, "KERNEL_EXEC_TIMEOUT"):
            text = "a watchdog ends kernels that run for a few seconds, as on a GPU that drives a display"
            advice = "use another GPU, or no display: sudo systemctl isolate multi-user.target"
            found.append(Diagnosis(f"cuda:{ordinal} watchdog", Health.WARNING, text, advice))
    return found


def check_permissions() -> list[Diagnosis]:
    """The device files of the driver: whether they are there, and may be read and written."""
    gpus = sorted(DEVICE_FILES.glob(GPU_FILES), key=lambda path: (len(path.name), path.name))
    control = [DEVICE_FILES / name for name in CONTROL_FILES]
    there = [*gpus, *(path for path in control if path.exists())]
    if not there:
        return [_check_windows_driver()]
    if not gpus:
        text = (
            f"there is no {DEVICE_FILES}/nvidia0 or other GPU: the driver is loaded, but no GPU was given to this place"
        )
        return [
            _file_diagnosis(Health.WARNING, text, "in a container: start it with --gpus all; else: sudo nvidia-smi")
        ]
    closed = [path for path in there if not _is_open(path)]
    if closed and (set(gpus) <= set(closed) or set(control) & set(closed)):
        advice = "sudo usermod -aG video $USER, then log in again; or sudo chmod a+rw " + _join_paths(closed, " ")
        return [_file_diagnosis(Health.MISSING, f"this user may not use {_join_paths(closed)}", advice)]
    if closed:
        text = f"this user may use {_join_paths(sorted(set(gpus) - set(closed)))}, and not {_join_paths(closed)}"
        return [_file_diagnosis(Health.WARNING, text, "ask who runs this machine for the others")]
    absent = [path for path in control if path not in there]
    if absent:
        return [_file_diagnosis(Health.WARNING, f"there is no {_join_paths(absent)}", "sudo nvidia-modprobe -u -c 0")]
    return [_file_diagnosis(Health.OK, f"{_join_paths(there)} can be read and written{_describe_others(len(gpus))}")]


def _check_windows_driver() -> Diagnosis:
    """What there is without any file of NVIDIA: the driver of Windows in WSL2, or nothing."""
    windows = DEVICE_FILES / WINDOWS_FILE
    if windows.exists() and _is_open(windows):
        return _file_diagnosis(
            Health.OK, f"{windows} can be read and written: this is WSL2, with the driver of Windows"
        )
    if windows.exists():
        return _file_diagnosis(Health.MISSING, f"this user may not use {windows}", f"sudo chmod a+rw {windows}")
    if WINDOWS in _read_kernel_version():
        text = f"there is no {windows}: this WSL has no GPU"
        advice = (
            "in Windows: wsl --update, and install NVIDIA's driver for Windows (and none in WSL); WSL 1 has no GPUs"
        )
        return _file_diagnosis(Health.WARNING, text, advice)
    text = f"there are no {DEVICE_FILES}/nvidia*: the kernel module is not loaded, or this container has no GPU"
    advice = "sudo modprobe -a nvidia nvidia-uvm; in a container: start it with --gpus all"
    return _file_diagnosis(Health.WARNING, text, advice)


def _file_diagnosis(health: Health, text: str, advice: str = "") -> Diagnosis:
    return Diagnosis("device files", health, text, advice, "cuda" if health is Health.MISSING else "")


def _is_open(path: Path) -> bool:
    return os.access(path, os.R_OK | os.W_OK)


def _join_paths(paths: Sequence[Path], between: str = ", ") -> str:
    return between.join(map(str, paths))


def _describe_others(here: int) -> str:
    """The GPUs of the machine that are not here, as in a container that got some of them."""
    of_machine = len(list((PROCESSES / GPUS_OF_MACHINE).glob("*")))
    return f"; {here} of the {of_machine} GPUs of the machine are here" if of_machine > here else ""


def _read_kernel_version() -> str:
    try:
        return (PROCESSES / "version").read_text(errors="replace").lower()
    except OSError:
        return ""


def check_mps() -> list[Diagnosis]:
    """NVIDIA's multi-process service: with it kernels of several users share SMs."""
    running = sorted({name for name in _process_names() if name.startswith(MPS)})
    if not running:
        return [Diagnosis("MPS", Health.OK, "not running")]
    text = f"{', '.join(running)} runs: kernels of other processes may share the SMs"
    return [Diagnosis("MPS", Health.WARNING, text, "echo quit | nvidia-cuda-mps-control")]


def _process_names() -> Iterator[str]:
    for folder in PROCESSES.glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:  # it has just ended, or belongs to somebody else
            continue
        yield Path(words[0].decode(errors="replace")).name
