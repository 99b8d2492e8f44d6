"""`examine_machine`: all checks, and whether a device can be used."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gpudiy.devices.doctor import nvidia, nvidia_smi, tools
from gpudiy.devices.doctor.diagnosis import Diagnosis, Health
from gpudiy.devices.opening import Listing, check_kind, list_devices
from gpudiy.devices.worker import OPENER, Worker, WorkerFailure
from gpudiy.errors import InputError
from gpudiy.harness.cache import default_folder

LEAST_FREE = 1 << 30  # bytes of disk
CUDA, SIMULATED = "cuda", "sim"


@dataclass(frozen=True, slots=True)
class Examination:
    """All diagnoses, and whether the device that was asked about can be used."""

    device: str
    diagnoses: tuple[Diagnosis, ...]

    @property
    def usable(self) -> bool:
        """Nothing that the device needs is missing."""
        kind = self.device.partition(":")[0]
        missing = {found.device for found in self.diagnoses if found.health is Health.MISSING}
        return not missing & {self.device, kind}


def examine_machine(*, device: str | None = None, opener: str = OPENER) -> Examination:
    """Check everything; the device is the named one, or the first GPU, or what there is instead of one."""
    if device is not None:
        check_kind(device)
    found, driver = nvidia.check_driver()
    found += nvidia.check_permissions()
    architectures: list[str] = []
    if driver is None:
        found += nvidia_smi.check_gpus(None)
    else:
        found += [*nvidia.check_gpus(driver), *nvidia_smi.check_gpus(driver), *nvidia.check_mps()]
        architectures = [
            f"sm_{major}{minor}" for major, minor in (driver.capability(number) for number in range(driver.count()))
        ]
    found += tools.check_tools(architectures, driver.version() // 1000 if driver is not None else None)
    listings = list_devices()
    found += _check_other_kinds(listings)
    found += check_disk(default_folder())
    chosen = device or _choose_device(listings)
    found.append(check_device(chosen, opener))
    return Examination(chosen, tuple(found))


def check_device(device: str, opener: str = OPENER) -> Diagnosis:
    """Whether a device opens, in a process of its own as for a run."""
    worker = Worker(device, opener)
    try:
        chip = worker.start()
    except (WorkerFailure, InputError) as problem:
        hint = getattr(problem, "hint", None) or "gpudiy devices (lists what is there, and what to install)"
        return Diagnosis(device, Health.MISSING, f"it cannot be opened: {problem}", hint, device)
    worker.close()
    return Diagnosis(device, Health.OK, f"it opens: {chip.chip}")


def check_disk(folder: Path) -> list[Diagnosis]:
    """The folder of the cache of binaries: whether it can be written, and how much room there is."""
    what = "cache folder"
    existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
    advice = "export XDG_CACHE_HOME=/a/folder/with/room"
    if not os.access(existing, os.W_OK):
        return [Diagnosis(what, Health.WARNING, f"{folder} cannot be written: every test is built anew", advice)]
    free = shutil.disk_usage(existing).free
    text = f"{folder}, {free / (1 << 30):.1f} GiB free"
    return [Diagnosis(what, Health.OK, text) if free >= LEAST_FREE else Diagnosis(what, Health.WARNING, text, advice)]


def _check_other_kinds(listings: Sequence[Listing]) -> list[Diagnosis]:
    """OpenCL, Vulkan and what else there is; one kind of device is enough, so none of them must be there."""
    found = []
    for listing in listings:
        kind = listing.name.partition(":")[0]
        if kind not in (CUDA, SIMULATED):
            health = Health.OK if listing.there else Health.WARNING
            found.append(Diagnosis(listing.name, health, listing.what, listing.command))
    return found


def _choose_device(listings: Sequence[Listing]) -> str:
    """The first GPU of NVIDIA; without one the first device that is not simulated; else the GPU that is not there."""
    real = [listing.name for listing in listings if listing.there and not listing.name.startswith(SIMULATED)]
    return next(iter(real), "cuda:0")
