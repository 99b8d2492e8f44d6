"""`Gpu`: one GPU, its context and its loaded modules. The context is current only inside `enter`.

PyCUDA aborts a process that exits while a context is current, so none stays current between two calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpudiy.devices.cuda_driver import Allocation, CudaError, Driver, LaunchShape
from gpudiy.devices.cuda_occupancy import Multiprocessor, Needs, resident_groups
from gpudiy.devices.device import DeviceError
from gpudiy.harness.host_side import CONSTANT_MEMORY
from gpudiy.harness.module import CLUSTER_ARCHITECTURE, CLUSTERS
from gpudiy.logs.record import Ending

MOST_MODULES = 8  # modules that stay loaded
FEWEST_GROUPS, RESERVED_BYTES = 16, 1024  # of an SM, and of a CTA, where the device does not say
KERNEL_VERSION = Path("/proc/driver/nvidia/version")


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel that is loaded on one GPU, and the resources it needs there."""

    gpu: Gpu
    function: Any
    needs: Needs
    most_threads: int
    constants: Allocation  # the constant memory of its module

    def resident(self, group_size: int, dynamic_bytes: int) -> int:
        """The CTAs of it that this GPU runs at the same time: the driver's answer, or the computed one without it."""
        clusters = self.needs.cluster_groups
        shape = LaunchShape(groups=clusters, group_size=group_size, shared_bytes=dynamic_bytes, cluster_groups=clusters)
        told = self.gpu.resident_groups(self.function, shape)
        return resident_groups(self.gpu.multiprocessor, self.needs, group_size, dynamic_bytes) if told is None else told

    def launch(self, arguments: Sequence[Any], shape: LaunchShape, stream: Any) -> None:
        """Launch it. To be called inside `enter` of its GPU."""
        self.gpu.driver.launch(self.function, arguments, shape, stream)


class Gpu:
    """GPU number `ordinal` of the machine."""

    def __init__(self, driver: Driver, ordinal: int) -> None:
        self.driver = driver
        self.ordinal = ordinal
        self.name = driver.name(ordinal)
        major, minor = driver.capability(ordinal)
        self.number = 10 * major + minor  # 80 for sm_80
        self.multiprocessor = self._multiprocessor()
        self.most_threads: int = self.attribute("MAX_THREADS_PER_BLOCK")
        self.shared_bytes: int = self.attribute("MAX_SHARED_MEMORY_PER_BLOCK")
        self.cooperative = bool(self.attribute("COOPERATIVE_LAUNCH"))
        self.kernels_at_once = bool(self.attribute("CONCURRENT_KERNELS"))
        self._context: Any = None
        self._modules: dict[str, Any] = {}
        self._streams: list[Any] = []

    @property
    def architecture(self) -> str:
        return f"sm_{self.number}"

    @property
    def cluster_groups(self) -> int:
        """The CTAs a cluster may have here; 1: there are no clusters."""
        return max(CLUSTERS) if self.number >= CLUSTER_ARCHITECTURE else 1

    @contextmanager
    def enter(self) -> Iterator[None]:
        """Make the context current inside a `with` block."""
        if self._context is None:
            self._context = self.driver.make_context(self.ordinal)
        else:
            self.driver.push(self._context)
        try:
            yield
        finally:
            self.driver.pop()

    def reach(self, other: Gpu) -> None:
        """Let kernels of this GPU use memory of the other one."""
        with other.enter():
            pass
        with self.enter():
            self.driver.enable_peer_access(other._context)

    def kernel(self, cubin: bytes, key: str, name: str, cluster_groups: int = 1) -> Kernel:
        """The kernel of a cubin, loaded; `key` names the cubin. To be called inside `enter`."""
        if key not in self._modules:
            while len(self._modules) >= MOST_MODULES:
                self.driver.unload_module(self._modules.pop(next(iter(self._modules))))
            self._modules[key] = self._load(cubin)
        function = self.driver.find_function(self._modules[key], name)
        registers, shared, most_threads = (
            self.driver.function_attribute(function, attribute)
            for attribute in ("NUM_REGS", "SHARED_SIZE_BYTES", "MAX_THREADS_PER_BLOCK")
        )
        constants = self.driver.find_variable(self._modules[key], CONSTANT_MEMORY)
        return Kernel(self, function, Needs(registers, shared, cluster_groups), most_threads, constants)

    def resident_groups(self, function: Any, shape: LaunchShape) -> int | None:
        """The driver's own answer how many CTAs are resident; None if the binding does not offer it."""
        with self.enter():
            return self.driver.resident_groups(function, shape, self.multiprocessor.count)

    def stream(self, number: int) -> Any:
        """The stream of a number. To be called inside `enter`."""
        while len(self._streams) <= number:
            self._streams.append(self.driver.make_stream())
        return self._streams[number]

    def free_bytes(self) -> int:
        """The free memory of the GPU. To be called inside `enter`."""
        return self.driver.free_bytes()

    def close(self) -> None:
        """Free everything; other allocations in this context must be freed before."""
        if self._context is None:
            return
        with self.enter():
            while self._modules:  # no name refers to a module or a stream here: PyCUDA would keep it
                self.driver.unload_module(self._modules.popitem()[1])
            while self._streams:
                self.driver.end_stream(self._streams.pop())
        self.driver.end_context(self._context)
        self._context = None

    def _load(self, cubin: bytes) -> Any:
        try:
            return self.driver.load_module(cubin)
        except CudaError as error:
            if "no kernel image" not in str(error):
                raise
            built = cubin_architecture(cubin)
            message = f"the cubin was built for {built}, but {self.name} needs {self.architecture}"
            raise DeviceError(message, Ending.BUILD_FAILED) from None

    def _multiprocessor(self) -> Multiprocessor:
        return Multiprocessor(
            self.attribute("MULTIPROCESSOR_COUNT"),
            self.attribute("MAX_THREADS_PER_MULTIPROCESSOR"),
            self.attribute("MAX_BLOCKS_PER_MULTIPROCESSOR", FEWEST_GROUPS),
            self.attribute("MAX_REGISTERS_PER_MULTIPROCESSOR"),
            self.attribute("MAX_SHARED_MEMORY_PER_MULTIPROCESSOR"),
            self.attribute("RESERVED_SHARED_MEMORY_PER_BLOCK", RESERVED_BYTES),
        )

    def attribute(self, name: str, otherwise: int = 0) -> int:
        """An attribute of the device; `otherwise` if the binding or the driver does not know it."""
        found = self.driver.attribute(self.ordinal, name)
        return otherwise if found is None else found


def cubin_architecture(cubin: bytes) -> str:
    """The architecture a cubin is built for, from its ELF header: `sm_80`; empty if it is not a cubin."""
    if len(cubin) < 64 or cubin[:4] != b"\x7fELF" or int.from_bytes(cubin[18:20], "little") != 190:
        return ""
    flags = int.from_bytes(cubin[48:52], "little")
    return f"sm_{(flags >> 8 if cubin[8] >= 8 else flags) & 0xFF}"


def driver_version(driver: Driver) -> str:
    """The version of NVIDIA's driver, where the system says it, and of the CUDA that it supports."""
    try:
        module = KERNEL_VERSION.read_text()
    except OSError:
        module = ""
    return describe_driver(driver.version(), module)


def describe_driver(number: int, module: str) -> str:
    """The version of a driver from its number, as 13000 for CUDA 13.0, and from what its kernel module says."""
    offered = f"CUDA {number // 1000}.{number % 1000 // 10}"
    found = next((word for word in module.split() if word[:1].isdecimal() and "." in word), "")
    return f"{found} ({offered})" if found else offered
