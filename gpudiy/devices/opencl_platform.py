"""OpenCL devices by name: `opencl` is the first, `opencl:N` the one of a number, `opencl:NAME` the one of a name.

GPUs are numbered before CPUs. Without a GPU, PoCL runs OpenCL on the CPU; it needs no driver and no root.
"""

from __future__ import annotations

from typing import Any

from gpudiy.devices.device import Chip, DeviceError
from gpudiy.devices.opencl_abilities import DEFAULT_SUB_GROUP, abilities_of
from gpudiy.devices.opencl_workers import ask_for_workers, bind_workers, core_count, list_tasks
from gpudiy.devices.opening import Listing, UnknownDevice
from gpudiy.harness.launch_plan import DeviceLimits
from gpudiy.logs.record import Ending

KIND = "opencl"
POCL = "Portable Computing Language"
INSTALL = "pip install 'gpudiy[opencl]'"
LEAST_VERSION = (2, 0)  # the first with scoped atomics
MEMORY_SHARE = 4  # a harness takes at most this part of the memory of a device: one in 4
MOST_MEMORY = 256 << 20  # bytes


def find_devices() -> list[Any]:
    """The devices of all platforms that can run a harness, GPUs first; raises `ImportError` without PyOpenCL."""
    ask_for_workers()
    import pyopencl

    before = list_tasks()
    try:
        platforms = pyopencl.get_platforms()
    except pyopencl.LogicError:  # there is none
        return []
    found = []
    for platform in platforms:
        try:
            found += platform.get_devices()
        except pyopencl.Error:
            continue  # a platform without devices, or whose driver is broken
        if POCL in platform.name:
            bind_workers(before)
        before = list_tasks()
    usable = [device for device in found if device.available and version_of(device) >= LEAST_VERSION]
    return sorted(usable, key=_runs_in_sequence)


def choose(rest: str) -> tuple[int, Any]:
    """The device of the name after the colon, and its number."""
    try:
        devices = find_devices()
    except ImportError:
        raise DeviceError(f"PyOpenCL is not installed; to get it: {INSTALL}", Ending.DEVICE_LOST) from None
    if not devices:
        raise DeviceError(f"there is no OpenCL device; PoCL is one on the CPU: {INSTALL}", Ending.DEVICE_LOST)
    number = int(rest[:9]) if rest.isdecimal() else _find_by_name(rest, devices)
    if number is None or number >= len(devices):
        there = ", ".join(f"{KIND}:{place} ({device.name.strip()})" for place, device in enumerate(devices))
        raise UnknownDevice(f"there is no device '{KIND}:{rest}'", hint=f"there are {there}")
    return number, devices[number]


def list_devices() -> list[Listing]:
    """The OpenCL devices of this machine; if there are none, what is missing."""
    try:
        devices = find_devices()
    except ImportError:
        return [Listing(KIND, "missing: PyOpenCL is not installed; with PoCL it also runs on the CPU", INSTALL)]
    if not devices:
        return [Listing(KIND, "missing: there is no OpenCL driver; PoCL runs on the CPU", INSTALL)]
    return [Listing(f"{KIND}:{number}", _describe_device(device)) for number, device in enumerate(devices)]


def chip_of(number: int, device: Any) -> Chip:
    """The description of OpenCL device `number`."""
    limits = limits_of(device)
    return Chip(
        device=f"{KIND}:{number}",
        chip=device.name.strip(),
        architecture=device.version.strip(),
        driver=f"{device.platform.name.strip()} {device.driver_version.strip()}",
        toolkit=device.platform.version.strip(),
        groups=limits.groups,
        group_size=1 if limits.in_sequence else limits.group_size,
        launches=True,
        gpu=not limits.in_sequence,
    )


def limits_of(device: Any) -> DeviceLimits:
    """The limits of a device: one group per compute unit runs at once, on a CPU one per core, threads in sequence."""
    in_sequence = _runs_in_sequence(device)
    units = device.max_compute_units
    sub_group = abilities_of(device, version_of(device)).sub_group
    return DeviceLimits(
        groups=min(units, core_count()) if in_sequence else units,
        group_size=device.max_work_group_size,
        warp_size=1 if in_sequence else sub_group or DEFAULT_SUB_GROUP,
        shared_bytes=device.local_mem_size,
        memory_bytes=min(MOST_MEMORY, device.max_mem_alloc_size, device.global_mem_size // MEMORY_SHARE),
        in_sequence=in_sequence,
    )


def _describe_device(device: Any) -> str:
    limits = limits_of(device)
    threads = "their threads in sequence" if limits.in_sequence else f"of up to {limits.group_size:,} threads"
    crowd = device.max_compute_units
    turns = f"; up to {crowd} groups in turns" if crowd > limits.groups else ""
    groups = f"{limits.groups} group{'' if limits.groups == 1 else 's'} at once"
    return f"{device.name.strip()}, {device.platform.name.strip()}; {groups}, {threads}{turns}"


def _find_by_name(name: str, devices: list[Any]) -> int | None:
    """The first device whose name, or that of its platform, contains the text; the first device for an empty text."""
    for number, device in enumerate(devices):
        if name.lower() in f"{device.name} {device.platform.name}".lower():
            return number
    return None


def _runs_in_sequence(device: Any) -> bool:
    import pyopencl

    return bool(device.type & pyopencl.device_type.CPU)


def version_of(device: Any) -> tuple[int, int]:
    """Of `OpenCL 3.0 PoCL`, 3 and 0. The version of the language does not help: 3.0 calls its language 1.2."""
    try:
        major, minor = device.version.split()[1].split(".")[:2]
        return int(major), int(minor)
    except (IndexError, ValueError):
        return 0, 0
