"""Launches of a test on one or more GPUs: buffers, the kernels of its parts side by side, what they counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpudiy.devices.cuda_gpu import Gpu, Kernel
from gpudiy.harness.geometry import Plan, helper_shared_bytes
from gpudiy.harness.host_side import BUFFERS


class Buffers:
    """The buffers of the harness on one GPU; they grow and are kept from launch to launch."""

    def __init__(self, gpu: Gpu) -> None:
        self._gpu = gpu
        self._allocations: dict[str, Any] = {}
        self._sizes: dict[str, int] = {}

    def fit(self, sizes: Mapping[str, int]) -> None:
        """Make every buffer at least as large; what was in it is gone. To be called inside `entered`."""
        for name, size in sizes.items():
            if self._sizes.get(name, 0) < size:
                self._free(name)
                self._allocations[name] = self._gpu.driver.mem_alloc(size)
                self._sizes[name] = size

    def __getitem__(self, name: str) -> Any:
        return self._allocations[name]

    def arguments(self) -> list[Any]:
        """In the order in which every kernel takes them."""
        return [self._allocations[buffer.name] for buffer in BUFFERS]

    def close(self) -> None:
        for name in list(self._allocations):
            self._free(name)

    def _free(self, name: str) -> None:
        if name in self._allocations:
            self._sizes.pop(name)
            self._allocations.pop(name).free()


def launch(
    parts: Sequence[Kernel],
    reset: Kernel,
    reduce: Kernel,
    buffers: Buffers,
    plan: Plan,
    told: bytes,
    constants: Sequence[int],
    sizes: Mapping[str, int],
) -> tuple[bytes, bytes]:
    """Run the instances of a plan once, each part on its GPU; the table and the counters.

    `told` is the struct `Launch`; `constants` are handed to the kernel of the test after `part`, all else being the same
    for every kernel.
    """
    import numpy

    home = parts[0].gpu
    driver = home.driver
    arguments = buffers.arguments()
    with home.entered():
        stream = home.stream(0)
        driver.memcpy_htod_async(buffers["launch"], told, stream)
        driver.memset_d32_async(buffers["scratchpad"], 0, sizes["scratchpad"] // 4, stream)
        _launch_helper(reset, plan, arguments, stream)
        if len(parts) > 1:
            stream.synchronize()  # the other streams start when memory is ready
    streams = []
    for number, kernel in enumerate(parts):
        with kernel.gpu.entered():
            streams.append(kernel.gpu.stream(number))
            kernel.function(
                *arguments,
                numpy.uint32(number),
                numpy.uint64(0),  # no place for the specification: it is there to be checked, not to be run
                *(numpy.uint64(value) for value in constants),
                grid=(plan.groups, 1, 1),
                block=(plan.group_size, 1, 1),
                shared=plan.shared_bytes,
                stream=streams[-1],
            )
    for kernel, other in zip(parts[1:], streams[1:], strict=True):
        with kernel.gpu.entered():
            other.synchronize()
    table, counters = bytearray(sizes["table"]), bytearray(sizes["counters"])
    with home.entered():
        _launch_helper(reduce, plan, arguments, stream)
        driver.memcpy_dtoh_async(table, buffers["table"], stream)
        driver.memcpy_dtoh_async(counters, buffers["counters"], stream)
        stream.synchronize()
    return bytes(table), bytes(counters)


def _launch_helper(kernel: Kernel, plan: Plan, arguments: Sequence[Any], stream: Any) -> None:
    """`reset` and `reduce` do their work with any grid; no larger than what is resident, it is quickest."""
    import numpy

    shared = helper_shared_bytes()
    size = min(plan.helper_size, kernel.most_threads)
    groups = max(1, min(plan.helper_groups, kernel.resident(size, shared)))
    kernel.function(
        *arguments, numpy.uint32(0), grid=(groups, 1, 1), block=(size, 1, 1), shared=shared, stream=stream
    )
