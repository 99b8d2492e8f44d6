"""Adapters of Vulkan and Metal by name: `vulkan` is the first, `vulkan:N` the one of a number, `vulkan:NAME` of a name.

Discrete GPUs are numbered before integrated ones, and those before adapters that are software, such as Mesa's lavapipe.
"""

from __future__ import annotations

import os
import tempfile
from functools import cache
from typing import Any

from gpudiy.devices.device import Chip, DeviceError
from gpudiy.devices.opencl_workers import core_count
from gpudiy.devices.opening import Listing, UnknownDevice
from gpudiy.harness.launch_plan import DeviceLimits
from gpudiy.logs.record import Ending

KIND = "vulkan"
INSTALL = "pip install 'gpudiy[vulkan]'"
LAVAPIPE = "apt-get install mesa-vulkan-drivers"  # of Debian; every driver of a GPU is one too
LAVAPIPE_SETTINGS, UNOPTIMISED = "GALLIVM_PERF", "nopt"  # the variable of the environment, and what it must contain
BACKENDS = ("Vulkan", "Metal")  # translations of WGSL in which an atomic is one; that to DirectX loads without
KINDS_OF_ADAPTER = ("DiscreteGPU", "IntegratedGPU", "Unknown", "CPU")  # in the order of their numbers
SOFTWARE = "CPU"
GROUPS = {"DiscreteGPU": 64, "IntegratedGPU": 16, "Unknown": 8}  # that surely run at once: no adapter says how many
SUBGROUP = 32  # threads, where an adapter does not say
MOST_MEMORY = 256 << 20  # bytes


def find_adapters() -> list[Any]:
    """The adapters that can run a harness, GPUs first; raises `ImportError` without wgpu."""
    _set_up_drivers()
    import wgpu

    usable = [found for found in wgpu.gpu.enumerate_adapters_sync() if found.info["backend_type"] in BACKENDS]
    return sorted(usable, key=lambda found: KINDS_OF_ADAPTER.index(_kind_of(found)))


@cache
def _set_up_drivers() -> None:
    """What must be said before the first driver is loaded; raises `ImportError` without wgpu.

    Lavapipe makes atomic loads plain ones, and its compiler moves them out of loops, if it may.
    """
    from wgpu.backends.wgpu_native.extras import set_instance_extras

    set_instance_extras(backends=list(BACKENDS))
    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.gettempdir())  # without it drivers print that it is missing
    settings = os.environ.get(LAVAPIPE_SETTINGS, "").split(",")
    os.environ[LAVAPIPE_SETTINGS] = ",".join(dict.fromkeys((*filter(None, settings), UNOPTIMISED)))


def choose(rest: str) -> tuple[int, Any]:
    """The adapter of the name after the colon, and its number."""
    try:
        adapters = find_adapters()
    except ImportError:
        raise DeviceError(f"wgpu is not installed; to get it: {INSTALL}", Ending.DEVICE_LOST) from None
    if not adapters:
        raise DeviceError(f"there is no driver of Vulkan; lavapipe is one on the CPU: {LAVAPIPE}", Ending.DEVICE_LOST)
    number = int(rest[:9]) if rest.isdecimal() else _find_by_name(rest, adapters)
    if number is None or number >= len(adapters):
        there = ", ".join(f"{KIND}:{place} ({name_of(adapter)})" for place, adapter in enumerate(adapters))
        raise UnknownDevice(f"there is no device '{KIND}:{rest}'", hint=f"there are {there}")
    return number, adapters[number]


def list_devices() -> list[Listing]:
    """The adapters of this machine; if there are none, what is missing."""
    try:
        adapters = find_adapters()
    except ImportError:
        return [Listing(KIND, "missing: wgpu is not installed; it brings Vulkan and Metal", INSTALL)]
    if not adapters:
        return [Listing(KIND, "missing: there is no driver of Vulkan; lavapipe runs on the CPU", LAVAPIPE)]
    return [Listing(f"{KIND}:{number}", _describe(adapter)) for number, adapter in enumerate(adapters)]


def chip_of(number: int, adapter: Any) -> Chip:
    """The description of adapter `number`."""
    import wgpu
    from wgpu.backends.wgpu_native import __version__ as native_version

    limits = limits_of(adapter)
    software = _kind_of(adapter) == SOFTWARE
    return Chip(
        device=f"{KIND}:{number}",
        chip=name_of(adapter),
        architecture=" ".join(filter(None, (adapter.info["backend_type"], adapter.info["architecture"]))),
        driver=adapter.info["description"],
        toolkit=f"wgpu {wgpu.__version__}, wgpu-native {native_version}"
        + (f", {LAVAPIPE_SETTINGS}={os.environ[LAVAPIPE_SETTINGS]}" if software else ""),
        groups=limits.groups if software else 0,
        group_size=1 if software else limits.group_size,
        launches=True,
        gpu=not software,
    )


def name_of(adapter: Any) -> str:
    """The name of a chip; that of an adapter that is software says so."""
    name = str(adapter.info["device"]).strip()
    return f"{name}, software on the CPU" if _kind_of(adapter) == SOFTWARE else name


def limits_of(adapter: Any, groups: int = 0) -> DeviceLimits:
    """The limits of an adapter; `groups` is how many workgroups are asked for, which counts if nobody knows better.

    Lavapipe runs one workgroup per thread of its pool, and the threads of a workgroup in sequence.
    """
    limits = adapter.limits
    memory = min(MOST_MEMORY, limits["max-storage-buffer-binding-size"], limits["max-buffer-size"])
    shared = limits["max-compute-workgroup-storage-size"]
    if _kind_of(adapter) == SOFTWARE:
        return DeviceLimits(
            groups=_count_pool_threads(), group_size=1, warp_size=1, shared_bytes=shared, memory_bytes=memory,
            in_sequence=True,
        )  # fmt: skip
    return DeviceLimits(
        groups=max(groups, GROUPS[_kind_of(adapter)]),
        group_size=min(limits["max-compute-invocations-per-workgroup"], limits["max-compute-workgroup-size-x"]),
        warp_size=_subgroup_size(adapter),
        shared_bytes=shared,
        memory_bytes=memory,
    )


def _count_pool_threads() -> int:
    """The threads of lavapipe: as many as it is told, or as the process has processors."""
    told = os.environ.get("LP_NUM_THREADS", "")
    return int(told) if told.isdecimal() and 0 < int(told) <= 32 else core_count()


def _subgroup_size(adapter: Any) -> int:
    """The largest subgroup: two threads so far apart are in different ones."""
    sizes = [int(value) for name, value in adapter.info.items() if name.endswith("group_max_size")]
    return max(sizes, default=0) or SUBGROUP


def _kind_of(adapter: Any) -> str:
    kind = str(adapter.info["adapter_type"])
    return kind if kind in KINDS_OF_ADAPTER else "Unknown"


def _describe(adapter: Any) -> str:
    limits = limits_of(adapter)
    if limits.in_sequence:
        width = f"{limits.groups} groups at once, their threads in sequence"
    else:
        width = f"groups of up to {limits.group_size:,} threads"
    return f"{name_of(adapter)}, {adapter.info['backend_type']}, {adapter.info['description']}; {width}"


def _find_by_name(name: str, adapters: list[Any]) -> int | None:
    """The first adapter whose name or driver contains the text; the first adapter for an empty text."""
    for number, adapter in enumerate(adapters):
        if name.lower() in f"{name_of(adapter)} {adapter.info['description']} {adapter.info['backend_type']}".lower():
            return number
    return None
