"""Runs a host build: the harness logic itself, executed by threads of this machine."""

from __future__ import annotations

import ctypes
import threading
from dataclasses import replace
from pathlib import Path

from gpudiy.harness.host_side import BUFFERS, Counted, decode
from gpudiy.harness.incantation import Incantation
from gpudiy.harness.launch_data import buffer_bytes, helper_shared_bytes, launch_bytes
from gpudiy.harness.launch_plan import DeviceLimits, LaunchPlan, plan_launch
from gpudiy.harness.source import RenderedTest

SMALL = DeviceLimits(
    groups=8,
    group_size=64,
    warp_size=4,
    cluster_groups=4,
    kernels=2,
    devices=2,
    shared_bytes=4096,
    memory_bytes=1 << 20,
)


class HostModule:
    def __init__(self, library: Path, tests: list[RenderedTest]) -> None:
        self.library = ctypes.CDLL(str(library))
        self.tests = tests

    def run(
        self,
        number: int,
        incantation: Incantation,
        seed: int = 1,
        limits: DeviceLimits = SMALL,
        kernels: int | None = None,
        **changes: int,
    ) -> tuple[Counted, LaunchPlan]:
        """One launch of a test, of its first `kernels` kernels only if given; `changes` replace fields of the plan."""
        rendered = self.tests[number]
        plan = replace(plan_launch(rendered.shape, incantation, limits), helper_groups=2, helper_size=2, **changes)
        sizes = buffer_bytes(rendered.shape, plan, incantation)
        memory = {name: ctypes.create_string_buffer(b"\xaa" * size, size) for name, size in sizes.items()}
        memory["launch"].raw = launch_bytes(rendered.test, rendered.shape, plan, incantation, seed, rendered.constants)
        self._launch("reset", plan.helper_groups, plan.helper_size, helper_shared_bytes(), memory)
        started = [
            threading.Thread(
                target=self._launch,
                args=("run", plan.groups, plan.group_size, plan.shared_bytes, memory, kernel_number, number),
            )
            for kernel_number in range(kernels or rendered.shape.kernels)
        ]
        for thread in started:
            thread.start()
        for thread in started:
            thread.join()
        self._launch("reduce", plan.helper_groups, plan.helper_size, helper_shared_bytes(), memory)
        return decode(rendered.shape, plan.table_slots, memory["table"].raw, memory["counters"].raw), plan

    def _launch(
        self, kernel: str, groups: int, size: int, shared: int, memory: dict[str, ctypes.Array[ctypes.c_char]],
        kernel_number: int = 0, test: int = 0,
    ) -> None:  # fmt: skip
        values = [ctypes.c_void_p(ctypes.addressof(memory[buffer.name])) for buffer in BUFFERS]
        scalars = [ctypes.c_uint32(kernel_number), ctypes.c_uint32(test)]
        pointers = [ctypes.addressof(value) for value in (*values, *scalars)]
        arguments = (ctypes.c_void_p * len(pointers))(*pointers)
        getattr(self.library, f"run_{kernel}")(groups, size, shared, arguments)
