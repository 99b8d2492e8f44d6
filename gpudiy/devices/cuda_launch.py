"""Launches of a test on one or more GPUs: its buffers, its kernels, and what they counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpudiy.devices.cuda_driver import Allocation, LaunchShape
from gpudiy.devices.cuda_gpu import Gpu, Kernel
from gpudiy.devices.host_threads import HostThreads, join_all
from gpudiy.harness.host_side import BUFFERS
from gpudiy.harness.launch_data import helper_shared_bytes
from gpudiy.harness.launch_plan import LaunchPlan
from gpudiy.logs.memory_place import MemoryPlace

SHARED_WITH_HOST = ("results", "meetings", "counters")  # what threads on the host use besides the locations
NO_SPECIFICATION = 0  # no address for the results of the specification: optcheck reads its code, no launch runs it


class Buffers:
    """The buffers of the harness of one GPU; they grow and are kept from launch to launch.

    The locations of tests lie where `place` says, everything else on the GPU; but what threads on the host use too
    lies in `host_place`, if there are such threads.
    """

    def __init__(self, gpu: Gpu, place: MemoryPlace = MemoryPlace.DEVICE) -> None:
        self.place = place
        self.host_place = MemoryPlace.DEVICE
        self._gpu = gpu
        self._allocations: dict[str, Allocation] = {}
        self._sizes: dict[str, int] = {}

    def fit(self, sizes: Mapping[str, int]) -> None:
        """Make every buffer at least this large; its content is lost. To be called inside `enter`."""
        for name, size in sizes.items():
            if self._sizes.get(name, 0) < size:
                self._free(name)
                self._allocations[name] = self._gpu.driver.allocate(size, self._place_of(name))
                self._sizes[name] = size

    def use_place(self, place: MemoryPlace) -> None:
        """Let the locations lie there from now on. To be called inside `enter`."""
        if place is not self.place:
            self._free("locations")
            self.place = place

    def use_host_place(self, place: MemoryPlace) -> None:
        """Let what threads on the host use lie there from now on. To be called inside `enter`."""
        if place is not self.host_place:
            for name in SHARED_WITH_HOST:
                self._free(name)
            self.host_place = place

    def host_addresses(self) -> dict[str, int]:
        """The addresses on the host of what threads there use."""
        return {name: self._allocations[name].host_address for name in ("locations", *SHARED_WITH_HOST)}

    def __getitem__(self, name: str) -> Allocation:
        return self._allocations[name]

    def arguments(self) -> list[Any]:
        """The addresses of the buffers in the order of the parameters of every kernel."""
        import numpy

        return [numpy.uint64(self._allocations[buffer.name].address) for buffer in BUFFERS]

    def close(self) -> None:
        for name in list(self._allocations):
            self._free(name)

    def _free(self, name: str) -> None:
        if name in self._allocations:
            self._sizes.pop(name)
            self._gpu.driver.free(self._allocations.pop(name))

    def _place_of(self, name: str) -> MemoryPlace:
        if name == "locations":
            return self.place
        return self.host_place if name in SHARED_WITH_HOST else MemoryPlace.DEVICE


@dataclass(frozen=True, slots=True)
class TestKernel:
    """A kernel of a test on its GPU, its number among the kernels of the test, and that of the test in its module."""

    kernel: Kernel
    kernel_number: int
    test_number: int


@dataclass(frozen=True, slots=True)
class Kernels:
    """The kernels of a test, each on its GPU, the two helpers, and the threads on the host."""

    run: tuple[TestKernel, ...]
    reset: Kernel
    reduce: Kernel
    host: HostThreads | None = None

    @property
    def alone(self) -> bool:
        """Whether one kernel is all that runs."""
        return len(self.run) == 1 and self.host is None


@dataclass(frozen=True, slots=True)
class Parameters:
    """The struct `Launch` of a launch for the kernels, and for the threads on the host."""

    gpu: bytes
    host: bytes = b""


def launch(
    kernels: Kernels, buffers: Buffers, plan: LaunchPlan, parameters: Parameters, sizes: Mapping[str, int]
) -> tuple[bytes, bytes]:
    """Run the instances of a plan once, each kernel on its GPU; returns the bytes of the table and the counters."""
    home = kernels.reset.gpu
    driver = home.driver
    arguments = buffers.arguments()
    _write_constants(kernels, parameters.gpu)
    with home.enter():
        stream = home.stream(0)
        driver.copy_to_device(buffers["launch"], parameters.gpu, stream)
        driver.fill_with_zeros(buffers["scratchpad"], sizes["scratchpad"] // 4, stream)
        _launch_helper(kernels.reset, plan, arguments, stream)
        if not kernels.alone:
            driver.synchronize(stream)  # other streams, and the host, start when memory is ready
    others = _launch_run(kernels, plan, arguments)
    if kernels.host is not None:
        join_all(kernels.host.start(plan, parameters.host, buffers.host_addresses()))
    for gpu, other in others:
        with gpu.enter():
            gpu.driver.synchronize(other)
    table, counters = bytearray(sizes["table"]), bytearray(sizes["counters"])
    with home.enter():
        _launch_helper(kernels.reduce, plan, arguments, stream)
        driver.copy_to_host(table, buffers["table"], stream)
        driver.copy_to_host(counters, buffers["counters"], stream)
        driver.synchronize(stream)
    return bytes(table), bytes(counters)


def _write_constants(kernels: Kernels, parameters: bytes) -> None:
    """Write the launch to the constant memory of each module, before any kernel of this launch runs.

    Kernels of one GPU share a module. What is written on the stream of the first GPU is there when its kernels start.
    """
    home = kernels.reset.gpu
    run = [one.kernel for one in kernels.run]
    modules = {(kernel.gpu.ordinal, kernel.constants.address): kernel for kernel in run}
    for kernel in modules.values():
        with kernel.gpu.enter():
            stream = kernel.gpu.stream(0)
            kernel.gpu.driver.copy_to_device(kernel.constants, parameters, stream)
            if kernel.gpu is not home:
                kernel.gpu.driver.synchronize(stream)


def _launch_run(kernels: Kernels, plan: LaunchPlan, arguments: Sequence[Any]) -> list[tuple[Gpu, Any]]:
    """Start every kernel on its own stream; returns the streams of all but the first."""
    import numpy

    others = []
    shape = LaunchShape(
        groups=plan.groups,
        group_size=plan.group_size,
        shared_bytes=plan.shared_bytes,
        cluster_groups=plan.cluster_groups,
        alone=len(kernels.run) == 1 and plan.cluster_groups == 1 and kernels.reset.gpu.cooperative,
    )
    for number, one in enumerate(kernels.run):
        gpu = one.kernel.gpu
        with gpu.enter():
            stream = gpu.stream(number)
            numbers = numpy.uint32(one.kernel_number), numpy.uint32(one.test_number)
            one.kernel.launch((*arguments, *numbers, numpy.uint64(NO_SPECIFICATION)), shape, stream)
            if number:
                others.append((gpu, stream))
    return others


def _launch_helper(kernel: Kernel, plan: LaunchPlan, arguments: Sequence[Any], stream: Any) -> None:
    """Launch `reset` or `reduce`. Any grid works; it is fastest when all its CTAs are resident."""
    import numpy

    shared = helper_shared_bytes()
    size = min(plan.helper_size, kernel.most_threads)
    groups = max(1, min(plan.helper_groups, kernel.resident(size, shared)))
    shape = LaunchShape(groups=groups, group_size=size, shared_bytes=shared)
    kernel.launch((*arguments, numpy.uint32(0)), shape, stream)
