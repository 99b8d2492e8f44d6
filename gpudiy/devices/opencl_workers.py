"""PoCL's workers: one thread per group that it runs at the same time, more of them than cores, each bound to a core.

A test with at most as many groups as there are cores runs on a part of the device with one worker per core, as if the
others were not there. A test with more groups runs on a part with one worker per group: they share cores, so that who
waits must yield.
"""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path
from typing import Any

MOST_WORKERS = 8  # the most threads of a test
COUNTS = ("POCL_MAX_PTHREAD_COUNT", "POCL_CPU_MAX_CU_COUNT")  # of PoCL to 3, and of later ones
AFFINITY = "POCL_AFFINITY"
TASKS = Path("/proc/self/task")
YIELDING = ("x86_64", "aarch64")  # processors for which the harness knows how a kernel gives its core away


def ask_for_workers() -> None:
    """Set what PoCL reads when it starts, unless the user has set it."""
    if sys.platform != "linux" or platform.machine() not in YIELDING or AFFINITY in os.environ:
        os.environ.setdefault(AFFINITY, "1")  # two groups on one core never overlap: bind each group to a core
        return
    for name in COUNTS:
        os.environ.setdefault(name, str(max(MOST_WORKERS, core_count())))


def list_tasks() -> set[int]:
    """The threads of this process; none where the system does not list them."""
    return {int(task.name) for task in TASKS.iterdir()} if TASKS.is_dir() else set()


def bind_workers(before: set[int]) -> None:
    """Bind every thread that was not there before to a core, in turn; nothing if PoCL does it itself."""
    if AFFINITY in os.environ:
        return
    cores = sorted(os.sched_getaffinity(0))
    for number, task in enumerate(sorted(list_tasks() - before)):
        os.sched_setaffinity(task, {cores[number % len(cores)]})


def core_count() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def part_of(device: Any, units: int) -> Any:
    """A part of the device with so many compute units; the device itself if it has no more."""
    import pyopencl

    if units == device.max_compute_units:
        return device
    partition = pyopencl.device_partition_property
    return device.create_sub_devices([partition.BY_COUNTS, units, partition.BY_COUNTS_LIST_END])[0]
