"""`PyCudaDriver`: the driver over PyCUDA, which owns its objects and frees them when nobody refers to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import Any

from gpudiy.devices.cuda_driver import (
    INSTALL_PYCUDA,
    Allocation,
    CudaError,
    CudaMemoryError,
    LaunchShape,
    NoBinding,
    NoCuda,
)
from gpudiy.logs.memory_place import MemoryPlace


def load_pycuda() -> PyCudaDriver:
    """The driver over PyCUDA, initialised."""
    try:
        driver = import_module("pycuda.driver")
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("pycuda"):
            raise
        raise NoBinding("PyCUDA is not installed", INSTALL_PYCUDA) from None
    except ImportError as error:  # the extension does not load: there is no libcuda, or an older one
        raise NoCuda(f"NVIDIA's driver does not load: {error}", "install NVIDIA's driver for this machine") from None
    try:
        driver.init()
    except driver.Error as error:
        raise NoCuda(f"NVIDIA's driver does not start: {error}", "nvidia-smi (says what is wrong)") from None
    return PyCudaDriver(driver)


class PyCudaDriver:
    """PyCUDA offers neither the driver's occupancy nor launch attributes: both are left to the caller."""

    def __init__(self, driver: ModuleType) -> None:
        self._driver = driver

    @property
    def binding(self) -> str:
        try:
            return f"PyCUDA {version('pycuda')}"
        except PackageNotFoundError:
            return "PyCUDA"

    def version(self) -> int:
        return int(self._driver.get_driver_version())

    def count(self) -> int:
        with self._errors():
            return int(self._driver.Device.count())

    def name(self, ordinal: int) -> str:
        with self._errors():
            return str(self._driver.Device(ordinal).name())

    def capability(self, ordinal: int) -> tuple[int, int]:
        with self._errors():
            major, minor = self._driver.Device(ordinal).compute_capability()
        return major, minor

    def attribute(self, ordinal: int, name: str) -> int | None:
        key = getattr(self._driver.device_attribute, name, None)
        if key is None:  # PyCUDA was built with headers that do not have it
            return None
        with self._errors():
            return int(self._driver.Device(ordinal).get_attribute(key))

    def can_access_peer(self, ordinal: int, other: int) -> bool:
        with self._errors():
            return bool(self._driver.Device(ordinal).can_access_peer(self._driver.Device(other)))

    def peer_atomics(self, ordinal: int, other: int) -> bool | None:
        return None

    def make_context(self, ordinal: int) -> Any:
        with self._errors():
            return self._driver.Device(ordinal).make_context()

    def push(self, context: Any) -> None:
        with self._errors():
            context.push()

    def pop(self) -> None:
        with self._errors():
            self._driver.Context.pop()

    def end_context(self, context: Any) -> None:
        with self._errors():
            context.detach()

    def enable_peer_access(self, context: Any) -> None:
        with self._errors():
            self._driver.Context.enable_peer_access(context)

    def free_bytes(self) -> int:
        with self._errors():
            free, _ = self._driver.mem_get_info()
        return int(free)

    def load_module(self, cubin: bytes) -> Any:
        with self._errors():
            return self._driver.module_from_buffer(cubin)

    def unload_module(self, module: Any) -> None:
        pass  # PyCUDA does it when the last function of the module is gone

    def find_function(self, module: Any, name: str) -> Any:
        with self._errors():
            return module.get_function(name)

    def find_variable(self, module: Any, name: str) -> Allocation:
        with self._errors():
            address, _ = module.get_global(name)
        return Allocation(int(address), 0, MemoryPlace.DEVICE, None)

    def function_attribute(self, function: Any, name: str) -> int:
        with self._errors():
            return int(function.get_attribute(getattr(self._driver.function_attribute, name)))

    def resident_groups(self, function: Any, shape: LaunchShape, multiprocessors: int) -> int | None:
        return None

    def make_stream(self) -> Any:
        with self._errors():
            return self._driver.Stream()

    def end_stream(self, stream: Any) -> None:
        pass  # PyCUDA does it when the stream is gone

    def synchronize(self, stream: Any) -> None:
        with self._errors():
            stream.synchronize()

    def allocate(self, size: int, place: MemoryPlace) -> Allocation:
        with self._errors():
            match place:
                case MemoryPlace.DEVICE:
                    memory = self._driver.mem_alloc(size)
                    return Allocation(int(memory), 0, place, memory)
                case MemoryPlace.MANAGED:
                    words = self._driver.managed_empty(size, "u1", mem_flags=self._driver.mem_attach_flags.GLOBAL)
                    return Allocation(words.ctypes.data, words.ctypes.data, place, words.base)
                case MemoryPlace.HOST:
                    flags = self._driver.host_alloc_flags
                    words = self._driver.pagelocked_empty(size, "u1", mem_flags=flags.DEVICEMAP | flags.PORTABLE)
                    address = words.base.get_device_pointer()
                    return Allocation(int(address), words.ctypes.data, place, words.base)

    def free(self, allocation: Allocation) -> None:
        with self._errors():
            allocation.owner.free()

    def copy_to_device(self, allocation: Allocation, content: bytes, stream: Any) -> None:
        with self._errors():
            self._driver.memcpy_htod_async(allocation.address, content, stream)

    def copy_to_host(self, content: bytearray, allocation: Allocation, stream: Any) -> None:
        with self._errors():
            self._driver.memcpy_dtoh_async(content, allocation.address, stream)

    def fill_with_zeros(self, allocation: Allocation, words: int, stream: Any) -> None:
        with self._errors():
            self._driver.memset_d32_async(allocation.address, 0, words, stream)

    def launch(self, function: Any, arguments: Sequence[Any], shape: LaunchShape, stream: Any) -> None:
        grid, block = (shape.groups, 1, 1), (shape.group_size, 1, 1)
        with self._errors():
            function(*arguments, grid=grid, block=block, shared=shape.shared_bytes, stream=stream)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except self._driver.MemoryError as error:
            raise CudaMemoryError(str(error)) from None
        except self._driver.Error as error:
            raise CudaError(str(error)) from None
