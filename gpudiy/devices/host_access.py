"""What a GPU must offer for locations that lie elsewhere, and for threads on the host that use the same memory."""

from __future__ import annotations

from collections.abc import Sequence

from gpudiy.devices.cuda_gpu import Gpu
from gpudiy.errors import MissingTool
from gpudiy.harness.host_build import host_compiler
from gpudiy.harness.launch_plan import Impossible
from gpudiy.harness.shape import Shape
from gpudiy.litmus import Test
from gpudiy.litmus.instruction import Atomic, Reduce
from gpudiy.logs.memory_place import MemoryPlace

NATIVE_ATOMICS, CONCURRENT = "HOST_NATIVE_ATOMIC_SUPPORTED", "CONCURRENT_MANAGED_ACCESS"


def check_memory(gpus: Sequence[Gpu], place: MemoryPlace) -> None:
    """Raise `Impossible` unless all these GPUs, each with kernels beside those of the others, can use such memory."""
    needed = {
        MemoryPlace.DEVICE: {},
        MemoryPlace.MANAGED: {"MANAGED_MEMORY": "managed memory"},
        MemoryPlace.HOST: {"CAN_MAP_HOST_MEMORY": "mapped host memory"},
    }[place]
    if place is MemoryPlace.MANAGED and len(set(gpus)) > 1:
        needed["CONCURRENT_MANAGED_ACCESS"] = "concurrent managed access"
    for gpu in gpus:
        for attribute, what in needed.items():
            if not gpu.attribute(attribute):
                raise Impossible(f"cuda:{gpu.ordinal} cannot have its locations in {place} memory: no {what}")


def check_host_access(test: Test, gpu: Gpu, place: MemoryPlace) -> None:
    """Raise `Impossible` unless threads of the host can use the locations of the test beside this GPU."""
    if test.scope_tree.host is None:
        return
    if place is MemoryPlace.DEVICE:
        raise Impossible("one of its threads runs on the host, which has no access to memory of the GPU (see --memory)")
    if place is MemoryPlace.MANAGED and not gpu.attribute(CONCURRENT):
        raise Impossible(f"cuda:{gpu.ordinal} and the host cannot use managed memory at the same time")
    if not gpu.attribute(NATIVE_ATOMICS):
        if not gpu.attribute(CONCURRENT):
            raise Impossible(f"the host and cuda:{gpu.ordinal} have no memory in which threads of both can meet")
        if place is MemoryPlace.HOST and has_atomics(test):
            raise Impossible(f"atomics of cuda:{gpu.ordinal} on host memory are not atomic to the host")
    try:
        host_compiler()
    except MissingTool as problem:
        raise Impossible(f"one of its threads runs on the host: {problem}") from None


def find_host_place(shape: Shape, gpu: Gpu) -> MemoryPlace:
    """Where what the threads on the host use lies, besides locations: both sides must change it by atomics."""
    if not shape.host_kernels:
        return MemoryPlace.DEVICE
    return MemoryPlace.HOST if gpu.attribute(NATIVE_ATOMICS) else MemoryPlace.MANAGED


def has_atomics(test: Test) -> bool:
    """Whether threads change locations by atomics."""
    return any(isinstance(instruction, (Atomic, Reduce)) for thread in test.threads for instruction in thread)
