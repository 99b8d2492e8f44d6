"""What an OpenCL device says it can do: the orders and scopes of its atomics, 64 bits, the size of its sub-groups.

Before OpenCL 3.0 every device has all orders and scopes; since then most of them are optional. A test that needs more
than the device has is not runnable there. A warp of the scope tree is a sub-group, whose size differs by vendor.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gpudiy.harness.thread_c11 import order_and_scope
from gpudiy.litmus import instruction as isa
from gpudiy.litmus.test import Test

DEFAULT_SUB_GROUP = 32  # of a device that says nothing, which no test of one group then runs on
ORDER_BITS = {"relaxed": 1, "acquire": 2, "release": 2, "acq_rel": 2, "seq_cst": 4}  # CL_DEVICE_ATOMIC_ORDER_…
SCOPE_BITS = {"cta": 16, "gpu": 32, "sys": 32}  # CL_DEVICE_ATOMIC_SCOPE_…; a launch is on one device
EVERYTHING = 0xFFFF
WORDS = {"cta": "work-group", "gpu": "device", "sys": "device"}
WIDE_ATOMICS = ("cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics")


@dataclass(frozen=True, slots=True)
class Abilities:
    """The bits of CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES and …_FENCE_CAPABILITIES, and what else tests need."""

    accesses: int = EVERYTHING
    fences: int = EVERYTHING
    wide: bool = True  # atomics of 64 bits
    sub_group: int | None = None  # threads of a sub-group; None: the device does not say

    def obstacle(self, test: Test) -> str | None:
        """What the test, or its harness, needs and the device lacks; None if it has all."""
        if not self.accesses & SCOPE_BITS["gpu"]:
            return "atomics of this device reach only their own work-group, so its threads cannot meet"
        for thread, what, bits, order, scope in self._uses(test):
            if not bits & ORDER_BITS[order]:
                return f"P{thread}: {what} of this device have no order {order}"
            if not bits & SCOPE_BITS[scope]:
                return f"P{thread}: {what} of this device have no {WORDS[scope]} scope"
        if not self.wide and any(_is_wide_atomic(found) for thread in test.threads for found in thread):
            return "this device has no atomics of 64 bits"
        return None

    def _uses(self, test: Test) -> Iterator[tuple[int, str, int, str, str]]:
        for number, thread in enumerate(test.threads):
            for instruction in thread:
                if isinstance(instruction, isa.Fence):
                    order = "seq_cst" if instruction.kind.sequential else str(instruction.kind)
                    yield number, "fences", self.fences, order, instruction.scope.word
                elif isinstance(instruction, isa.MemoryInstruction):
                    strength = order_and_scope(instruction.access)
                    if strength is not None:
                        yield number, "atomics", self.accesses, *strength


def abilities_of(device: Any, version: tuple[int, int]) -> Abilities:
    """What a device says of itself; what it cannot be asked before OpenCL 3.0 it has."""
    optional = version >= (3, 0)
    return Abilities(
        accesses=_ask(device, "atomic_memory_capabilities", EVERYTHING) if optional else EVERYTHING,
        fences=_ask(device, "atomic_fence_capabilities", EVERYTHING) if optional else EVERYTHING,
        wide=all(name in device.extensions.split() for name in WIDE_ATOMICS),
        sub_group=_sub_group_size(device),
    )


def sub_group_of_kernel(kernel: Any, device: Any, group_size: int) -> int | None:
    """The sub-group size of a kernel in groups of this size, which some compilers choose; None if nobody says."""
    import pyopencl

    asked = pyopencl.kernel_sub_group_info.MAX_SUB_GROUP_SIZE_FOR_NDRANGE
    try:
        found = int(kernel.get_sub_group_info(device, asked, [group_size]))
    except (pyopencl.Error, AttributeError, TypeError):
        return None
    return found or None


def _sub_group_size(device: Any) -> int | None:
    """AMD and NVIDIA have names of their own for it; for others it is what work-groups should be a multiple of."""
    for extension, name in (
        ("cl_amd_device_attribute_query", "wavefront_width_amd"),
        ("cl_nv_device_attribute_query", "warp_size_nv"),
        ("", "preferred_work_group_size_multiple"),
    ):
        if not extension or extension in device.extensions.split():
            found = _ask(device, name, 0)
            if found:
                return found
    return None


def _ask(device: Any, name: str, otherwise: int) -> int:
    import pyopencl

    try:
        return int(getattr(device, name))
    except (pyopencl.Error, AttributeError, TypeError):
        return otherwise


def _is_wide_atomic(instruction: isa.Instruction) -> bool:
    if not isinstance(instruction, isa.MemoryInstruction):
        return False
    access = instruction.access
    return access.type.bits == 64 and order_and_scope(access) is not None
