"""What OpenCL devices say of themselves, from devices that are made up: no machine has them all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from gpudiy.devices.opencl_abilities import EVERYTHING, Abilities, abilities_of, sub_group_of_kernel
from gpudiy.devices.opencl_platform import limits_of
from gpudiy.litmus import read_test

pyopencl = pytest.importorskip("pyopencl")
RELAXED, ACQ_REL, SEQ_CST, GROUP, DEVICE = 1, 2, 4, 16, 32
WIDE = "cl_khr_int64_base_atomics cl_khr_int64_extended_atomics"

TEST = """GPU_PTX two
{{0:.reg .{type} r0; 1:.reg .{type} r0;}}
 P0 | P1 ;
 {first} | {second} ;
(device (kernel (cta (warp P0)) (cta (warp P1))))
x: global
exists (0:r0=0 /\\ 1:r0=0)
"""


@dataclass
class MadeUpDevice:
    """A GPU that answers what it is given, and fails at everything else."""

    answers: dict[str, Any]
    version: str = "OpenCL 3.0 made up"
    extensions: str = WIDE

    def __getattr__(self, name: str) -> Any:
        if name in self.answers:
            return self.answers[name]
        raise pyopencl.LogicError(f"no {name}")


def gpu(version: str = "OpenCL 3.0 made up", extensions: str = WIDE, **answers: int) -> MadeUpDevice:
    common = {
        "type": pyopencl.device_type.GPU,
        "max_compute_units": 8,
        "max_work_group_size": 256,
        "local_mem_size": 1 << 15,
        "max_mem_alloc_size": 1 << 28,
        "global_mem_size": 1 << 30,
    }
    return MadeUpDevice({**common, **answers}, version, extensions)


def obstacle(abilities: Abilities, first: str, second: str = "ld.relaxed.gpu.{type} r0,[x]", type: str = "s32") -> Any:
    text = TEST.format(type=type, first=first.format(type=type), second=second.format(type=type))
    return abilities.obstacle(read_test(text))


@pytest.mark.parametrize(
    ("bits", "first", "reason"),
    [
        (RELAXED | GROUP | DEVICE, "ld.relaxed.gpu.s32 r0,[x]", None),
        (RELAXED | GROUP | DEVICE, "ld.acquire.gpu.s32 r0,[x]", "P0: atomics of this device have no order acquire"),
        (RELAXED | ACQ_REL | DEVICE, "ld.acquire.gpu.s32 r0,[x]", None),
        (RELAXED | DEVICE, "ld.relaxed.cta.s32 r0,[x]", "P0: atomics of this device have no work-group scope"),
        (RELAXED | GROUP, "ld.relaxed.gpu.s32 r0,[x]", "atomics of this device reach only their own work-group"),
    ],
)
def test_orders_and_scopes_of_accesses(bits: int, first: str, reason: str | None) -> None:
    found = obstacle(Abilities(accesses=bits), first)
    assert found is None if reason is None else reason in found


def test_orders_of_fences() -> None:
    abilities = Abilities(fences=RELAXED | ACQ_REL | GROUP | DEVICE)
    assert obstacle(abilities, "fence.acq_rel.gpu") is None
    assert obstacle(abilities, "membar.gl") == "P0: fences of this device have no order seq_cst"


def test_atomics_of_64_bits() -> None:
    narrow = Abilities(wide=False)
    assert obstacle(narrow, "ld.relaxed.gpu.s32 r0,[x]") is None
    assert obstacle(narrow, "ld.relaxed.gpu.{type} r0,[x]", type="s64") == "this device has no atomics of 64 bits"


def test_a_device_is_asked_what_is_optional() -> None:
    asked = abilities_of(gpu(atomic_memory_capabilities=RELAXED | GROUP, atomic_fence_capabilities=RELAXED), (3, 0))
    assert (asked.accesses, asked.fences, asked.wide) == (RELAXED | GROUP, RELAXED, True)
    before = abilities_of(gpu(atomic_memory_capabilities=RELAXED), (2, 0))
    assert before.accesses == before.fences == EVERYTHING
    assert not abilities_of(gpu(extensions="cl_khr_fp64"), (3, 0)).wide


@pytest.mark.parametrize(
    ("extensions", "answers", "size"),
    [
        ("cl_amd_device_attribute_query", {"wavefront_width_amd": 64, "preferred_work_group_size_multiple": 256}, 64),
        ("cl_nv_device_attribute_query", {"warp_size_nv": 32}, 32),
        ("", {"wavefront_width_amd": 64, "preferred_work_group_size_multiple": 16}, 16),
        ("", {}, None),
    ],
)
def test_the_size_of_a_sub_group(extensions: str, answers: dict[str, int], size: int | None) -> None:
    device = gpu(extensions=extensions, **answers)
    assert abilities_of(device, (3, 0)).sub_group == size
    assert limits_of(device).warp_size == (size or 32)


class MadeUpKernel:
    """A kernel whose compiler has chosen a sub-group size, or does not tell."""

    def __init__(self, size: int | None) -> None:
        self.size = size

    def get_sub_group_info(self, device: object, what: int, size: list[int]) -> int:
        if self.size is None:
            raise pyopencl.LogicError("not here")
        return self.size


@pytest.mark.parametrize("size", [8, 64, None])
def test_the_kernel_knows_best(size: int | None) -> None:
    assert sub_group_of_kernel(MadeUpKernel(size), gpu(), 128) == size
