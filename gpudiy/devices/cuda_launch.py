"""Launches of a test on one or more GPUs: its buffers, its kernels, and what they counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpudiy.devices.cuda_gpu import Gpu, Kernel
from gpudiy.harness.host_side import BUFFERS
from gpudiy.harness.launch_data import helper_shared_bytes
from gpudiy.harness.launch_plan import LaunchPlan


class Buffers:
    """The buffers of the harness on one GPU; they grow and are kept from launch to launch."""

    def __init__(self, gpu: Gpu) -> None:
        self._gpu = gpu
        self._allocations: dict[str, Any] = {}
        self._sizes: dict[str, int] = {}

    def fit(self, sizes: Mapping[str, int]) -> None:
        """Make every buffer at least this large; its content is lost. To be called inside `enter`."""
        for name, size in sizes.items():
            if self._sizes.get(name, 0) < size:
                self._free(name)
                self._allocations[name] = self._gpu.driver.mem_alloc(size)
                self._sizes[name] = size

    def __getitem__(self, name: str) -> Any:
        return self._allocations[name]

    def arguments(self) -> list[Any]:
        """The buffers in the order of the parameters of every kernel."""
        return [self._allocations[buffer.name] for buffer in BUFFERS]

    def close(self) -> None:
        for name in list(self._allocations):
            self._free(name)

    def _free(self, name: str) -> None:
        if name in self._allocations:
            self._sizes.pop(name)
            self._allocations.pop(name).free()


@dataclass(frozen=True, slots=True)
class Kernels:
    """The kernels of a test, each on its GPU, the number of the test in each module, and the two helpers."""

    run: tuple[Kernel, ...]
    numbers: tuple[int, ...]
    reset: Kernel
    reduce: Kernel


def launch(
    kernels: Kernels, buffers: Buffers, plan: LaunchPlan, parameters: bytes, sizes: Mapping[str, int]
) -> tuple[bytes, bytes]:
    """Run the instances of a plan once, each kernel on its GPU; returns the bytes of the table and the counters."""
    home = kernels.reset.gpu
    driver = home.driver
    arguments = buffers.arguments()
    with home.enter():
        stream = home.stream(0)
        driver.memcpy_htod_async(buffers["launch"], parameters, stream)
        driver.memset_d32_async(buffers["scratchpad"], 0, sizes["scratchpad"] // 4, stream)
        _launch_helper(kernels.reset, plan, arguments, stream)
        if len(kernels.run) > 1:
            stream.synchronize()  # the other streams start when memory is ready
    others = _launch_run(kernels, plan, arguments)
    for gpu, other in others:
        with gpu.enter():
            other.synchronize()
    table, counters = bytearray(sizes["table"]), bytearray(sizes["counters"])
    with home.enter():
        _launch_helper(kernels.reduce, plan, arguments, stream)
        driver.memcpy_dtoh_async(table, buffers["table"], stream)
        driver.memcpy_dtoh_async(counters, buffers["counters"], stream)
        stream.synchronize()
    return bytes(table), bytes(counters)


def _launch_run(kernels: Kernels, plan: LaunchPlan, arguments: Sequence[Any]) -> list[tuple[Gpu, Any]]:
    """Start every kernel on its own stream; returns the streams of all but the first."""
    import numpy

    others = []
    for kernel_number, (kernel, number) in enumerate(zip(kernels.run, kernels.numbers, strict=True)):
        with kernel.gpu.enter():
            stream = kernel.gpu.stream(kernel_number)
            kernel.function(
                *arguments,
                numpy.uint32(kernel_number),
                numpy.uint32(number),
                numpy.uint64(0),  # no address for the specification: optcheck reads its code, a launch does not run it
                grid=(plan.groups, 1, 1),
                block=(plan.group_size, 1, 1),
                shared=plan.shared_bytes,
                stream=stream,
            )
            if kernel_number:
                others.append((kernel.gpu, stream))
    return others


def _launch_helper(kernel: Kernel, plan: LaunchPlan, arguments: Sequence[Any], stream: Any) -> None:
    """Launch `reset` or `reduce`. Any grid works; it is fastest when all its CTAs are resident."""
    import numpy

    shared = helper_shared_bytes()
    size = min(plan.helper_size, kernel.most_threads)
    groups = max(1, min(plan.helper_groups, kernel.resident(size, shared)))
    kernel.function(*arguments, numpy.uint32(0), grid=(groups, 1, 1), block=(size, 1, 1), shared=shared, stream=stream)
