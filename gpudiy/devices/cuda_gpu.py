"""`Gpu`: one GPU, its context and its loaded modules. The context is current only inside `enter`.

PyCUDA aborts a process that exits while a context is current, so none stays current between two calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from gpudiy.devices.cuda_occupancy import Multiprocessor, Needs, resident_groups
from gpudiy.devices.device import DeviceError
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

    def resident(self, group_size: int, dynamic_bytes: int) -> int:
        """The CTAs of it that this GPU runs at the same time."""
        return resident_groups(self.gpu.multiprocessor, self.needs, group_size, dynamic_bytes)


class Gpu:
    """GPU number `ordinal` of the machine."""

    def __init__(self, driver: ModuleType, ordinal: int) -> None:
        self.driver = driver
        self.ordinal = ordinal
        self.handle = driver.Device(ordinal)
        self.name: str = self.handle.name()
        major, minor = self.handle.compute_capability()
        self.number = 10 * major + minor  # 80 for sm_80
        self.multiprocessor = self._multiprocessor()
        self.most_threads: int = self._attribute("MAX_THREADS_PER_BLOCK")
        self.shared_bytes: int = self._attribute("MAX_SHARED_MEMORY_PER_BLOCK")
        self.kernels_at_once = bool(self._attribute("CONCURRENT_KERNELS"))
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
            self._context = self.handle.make_context()
        else:
            self._context.push()
        try:
            yield
        finally:
            self.driver.Context.pop()

    def reach(self, other: Gpu) -> None:
        """Let kernels of this GPU use memory of the other one."""
        with other.enter():
            pass
        with self.enter():
            self.driver.Context.enable_peer_access(other._context)

    def kernel(self, cubin: bytes, key: str, name: str, cluster_groups: int = 1) -> Kernel:
        """The kernel of a cubin, loaded; `key` names the cubin. To be called inside `enter`."""
        if key not in self._modules:
            while len(self._modules) >= MOST_MODULES:
                del self._modules[next(iter(self._modules))]
            self._modules[key] = self._load(cubin)
        function = self._modules[key].get_function(name)
        attribute = self.driver.function_attribute
        needs = Needs(
            function.get_attribute(attribute.NUM_REGS),
            function.get_attribute(attribute.SHARED_SIZE_BYTES),
            cluster_groups,
        )
        return Kernel(self, function, needs, function.get_attribute(attribute.MAX_THREADS_PER_BLOCK))

    def stream(self, number: int) -> Any:
        """The stream of a number. To be called inside `enter`."""
        while len(self._streams) <= number:
            self._streams.append(self.driver.Stream())
        return self._streams[number]

    def free_bytes(self) -> int:
        """The free memory of the GPU. To be called inside `enter`."""
        free, _ = self.driver.mem_get_info()
        return int(free)

    def close(self) -> None:
        """Free everything; other allocations in this context must be freed before."""
        if self._context is None:
            return
        with self.enter():
            self._modules.clear()
            self._streams.clear()
        self._context.detach()
        self._context = None

    def _load(self, cubin: bytes) -> Any:
        try:
            return self.driver.module_from_buffer(cubin)
        except self.driver.Error as error:
            if "no kernel image" not in str(error):
                raise
            built = cubin_architecture(cubin)
            message = f"the cubin was built for {built}, but {self.name} needs {self.architecture}"
            raise DeviceError(message, Ending.BUILD_FAILED) from None

    def _multiprocessor(self) -> Multiprocessor:
        return Multiprocessor(
            self._attribute("MULTIPROCESSOR_COUNT"),
            self._attribute("MAX_THREADS_PER_MULTIPROCESSOR"),
            self._attribute("MAX_BLOCKS_PER_MULTIPROCESSOR", FEWEST_GROUPS),
            self._attribute("MAX_REGISTERS_PER_MULTIPROCESSOR"),
            self._attribute("MAX_SHARED_MEMORY_PER_MULTIPROCESSOR"),
            self._attribute("RESERVED_SHARED_MEMORY_PER_BLOCK", RESERVED_BYTES),
        )

    def _attribute(self, name: str, otherwise: int = 0) -> int:
        """An attribute of the device; `otherwise` if PyCUDA was built with headers that do not have the attribute."""
        key = getattr(self.driver.device_attribute, name, None)
        return otherwise if key is None else int(self.handle.get_attribute(key))


def cubin_architecture(cubin: bytes) -> str:
    """The architecture a cubin is built for, from its ELF header: `sm_80`; empty if it is not a cubin."""
    if len(cubin) < 64 or cubin[:4] != b"\x7fELF" or int.from_bytes(cubin[18:20], "little") != 190:
        return ""
    flags = int.from_bytes(cubin[48:52], "little")
    return f"sm_{(flags >> 8 if cubin[8] >= 8 else flags) & 0xFF}"


def driver_version(driver: ModuleType) -> str:
    """The version of NVIDIA's driver, where the system says it, and of the CUDA that it supports."""
    number = driver.get_driver_version()
    offered = f"CUDA {number // 1000}.{number % 1000 // 10}"
    try:
        words = KERNEL_VERSION.read_text().split()
    except OSError:
        return offered
    found = next((word for word in words if word[:1].isdecimal() and "." in word), "")
    return f"{found} ({offered})" if found else offered
