"""`BindingsDriver`: the driver over NVIDIA's own package cuda-bindings, which is a wheel and needs no compiler."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import Any

from gpudiy.devices.cuda_driver import (
    INSTALL_BINDINGS,
    Allocation,
    CudaError,
    CudaMemoryError,
    LaunchShape,
    NoBinding,
    NoCuda,
)
from gpudiy.logs.memory_place import MemoryPlace

NAME_BYTES = 256
BUFFER_POINTER, BUFFER_SIZE, END = 1, 2, 0  # CU_LAUNCH_PARAM_…: arguments as one buffer, whose size the driver checks


def load_bindings() -> BindingsDriver:
    """The driver over cuda-bindings, initialised."""
    try:
        driver = import_module("cuda.bindings.driver")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "cuda":
            raise
        raise NoBinding("cuda-bindings is not installed", INSTALL_BINDINGS) from None
    made = BindingsDriver(driver)
    try:
        made.call("cuInit", 0)
    except CudaError as error:
        raise NoCuda(f"NVIDIA's driver does not start: {error}", "nvidia-smi (says what is wrong)") from None
    except RuntimeError as error:  # there is no libcuda, or one without this function
        raise NoCuda(f"NVIDIA's driver does not load: {error}", "install NVIDIA's driver for this machine") from None
    return made


class BindingsDriver:
    """Contexts are the primary ones of their GPUs. A function that an old driver lacks is an error of the driver."""

    def __init__(self, driver: ModuleType) -> None:
        self._driver = driver

    def call(self, function: str, *arguments: Any) -> Any:
        """What a function of the driver gives; raises `CudaError` in the words of PyCUDA if it fails."""
        result, *given = getattr(self._driver, function)(*arguments)
        if result != self._driver.CUresult.CUDA_SUCCESS:
            _, text = self._driver.cuGetErrorString(result)
            message = f"{function} failed: {text.decode() if text else result.name}"
            lacking = result == self._driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY
            raise CudaMemoryError(message) if lacking else CudaError(message)
        return given[0] if len(given) == 1 else tuple(given)

    def clean_up(self, function: str, *arguments: Any) -> None:
        """Give something back. That fails in a context that a kernel has broken, where there is nothing left to do."""
        with suppress(CudaError):
            self.call(function, *arguments)

    @property
    def binding(self) -> str:
        try:
            return f"cuda-bindings {version('cuda-bindings')}"
        except PackageNotFoundError:
            return "cuda-bindings"

    def version(self) -> int:
        return int(self.call("cuDriverGetVersion"))

    def count(self) -> int:
        return int(self.call("cuDeviceGetCount"))

    def name(self, ordinal: int) -> str:
        text: bytes = self.call("cuDeviceGetName", NAME_BYTES, self._device(ordinal))
        return text.split(b"\0")[0].decode(errors="replace")

    def capability(self, ordinal: int) -> tuple[int, int]:
        major, minor = (self._require_attribute(ordinal, f"COMPUTE_CAPABILITY_{part}") for part in ("MAJOR", "MINOR"))
        return major, minor

    def attribute(self, ordinal: int, name: str) -> int | None:
        key = getattr(self._driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}", None)
        if key is None:
            return None
        result, value = self._driver.cuDeviceGetAttribute(key, self._device(ordinal))
        return int(value) if result == self._driver.CUresult.CUDA_SUCCESS else None

    def can_access_peer(self, ordinal: int, other: int) -> bool:
        return bool(self.call("cuDeviceCanAccessPeer", self._device(ordinal), self._device(other)))

    def peer_atomics(self, ordinal: int, other: int) -> bool | None:
        key = self._driver.CUdevice_P2PAttribute.CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED
        return bool(self.call("cuDeviceGetP2PAttribute", key, self._device(ordinal), self._device(other)))

    def make_context(self, ordinal: int) -> Any:
        context = self.call("cuDevicePrimaryCtxRetain", self._device(ordinal))
        self.call("cuCtxPushCurrent", context)
        return context

    def push(self, context: Any) -> None:
        self.call("cuCtxPushCurrent", context)

    def pop(self) -> None:
        self.call("cuCtxPopCurrent")

    def end_context(self, context: Any) -> None:
        self.call("cuCtxPushCurrent", context)
        device = self.call("cuCtxGetDevice")
        self.call("cuCtxPopCurrent")
        self.call("cuDevicePrimaryCtxRelease", device)

    def enable_peer_access(self, context: Any) -> None:
        self.call("cuCtxEnablePeerAccess", context, 0)

    def free_bytes(self) -> int:
        free, _ = self.call("cuMemGetInfo")
        return int(free)

    def load_module(self, cubin: bytes) -> Any:
        return self.call("cuModuleLoadDataEx", cubin, 0, [], [])

    def unload_module(self, module: Any) -> None:
        self.clean_up("cuModuleUnload", module)

    def find_function(self, module: Any, name: str) -> Any:
        return self.call("cuModuleGetFunction", module, name.encode())

    def find_variable(self, module: Any, name: str) -> Allocation:
        address, _ = self.call("cuModuleGetGlobal", module, name.encode())
        return Allocation(int(address), 0, MemoryPlace.DEVICE, None)

    def function_attribute(self, function: Any, name: str) -> int:
        key = getattr(self._driver.CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}")
        return int(self.call("cuFuncGetAttribute", key, function))

    def resident_groups(self, function: Any, shape: LaunchShape, multiprocessors: int) -> int | None:
        if shape.cluster_groups == 1:
            sizes = shape.group_size, shape.shared_bytes
            on_one = self.call("cuOccupancyMaxActiveBlocksPerMultiprocessor", function, *sizes)
            return int(on_one) * multiprocessors
        clusters = self.call("cuOccupancyMaxActiveClusters", function, self._configuration(shape, None))
        return int(clusters) * shape.cluster_groups

    def make_stream(self) -> Any:
        return self.call("cuStreamCreate", 0)

    def end_stream(self, stream: Any) -> None:
        self.clean_up("cuStreamDestroy", stream)

    def synchronize(self, stream: Any) -> None:
        self.call("cuStreamSynchronize", stream)

    def allocate(self, size: int, place: MemoryPlace) -> Allocation:
        match place:
            case MemoryPlace.DEVICE:
                return Allocation(int(self.call("cuMemAlloc", size)), 0, place, None)
            case MemoryPlace.MANAGED:
                attached = self._driver.CUmemAttach_flags.CU_MEM_ATTACH_GLOBAL
                address = int(self.call("cuMemAllocManaged", size, int(attached)))
                return Allocation(address, address, place, None)
            case MemoryPlace.HOST:
                flags = self._driver.CU_MEMHOSTALLOC_DEVICEMAP | self._driver.CU_MEMHOSTALLOC_PORTABLE
                host = int(self.call("cuMemHostAlloc", size, flags))
                return Allocation(int(self.call("cuMemHostGetDevicePointer", host, 0)), host, place, None)

    def free(self, allocation: Allocation) -> None:
        if allocation.place is MemoryPlace.HOST:
            self.clean_up("cuMemFreeHost", allocation.host_address)
        else:
            self.clean_up("cuMemFree", allocation.address)

    def copy_to_device(self, allocation: Allocation, content: bytes, stream: Any) -> None:
        self.call("cuMemcpyHtoDAsync", allocation.address, content, len(content), stream)

    def copy_to_host(self, content: bytearray, allocation: Allocation, stream: Any) -> None:
        place = ctypes.addressof((ctypes.c_char * len(content)).from_buffer(content))
        self.call("cuMemcpyDtoHAsync", place, allocation.address, len(content), stream)

    def fill_with_zeros(self, allocation: Allocation, words: int, stream: Any) -> None:
        self.call("cuMemsetD32Async", allocation.address, 0, words, stream)

    def launch(self, function: Any, arguments: Sequence[Any], shape: LaunchShape, stream: Any) -> None:
        packed = ctypes.create_string_buffer(pack_arguments(arguments))
        size = ctypes.c_size_t(len(packed) - 1)  # without the end of a text
        extra = (ctypes.c_void_p * 5)(
            BUFFER_POINTER, ctypes.addressof(packed), BUFFER_SIZE, ctypes.addressof(size), END
        )
        self.call("cuLaunchKernelEx", self._configuration(shape, stream), function, 0, ctypes.addressof(extra))

    def _configuration(self, shape: LaunchShape, stream: Any) -> Any:
        """The size of a cluster is an attribute, and of a kernel that runs alone that all its CTAs must be resident."""
        driver = self._driver
        made = driver.CUlaunchConfig()
        made.gridDimX, made.gridDimY, made.gridDimZ = shape.groups, 1, 1
        made.blockDimX, made.blockDimY, made.blockDimZ = shape.group_size, 1, 1
        made.sharedMemBytes = shape.shared_bytes
        if stream is not None:
            made.hStream = stream
        attributes = []
        if shape.cluster_groups > 1:
            cluster = driver.CUlaunchAttribute()
            cluster.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
            cluster.value.clusterDim.x = shape.cluster_groups
            cluster.value.clusterDim.y = cluster.value.clusterDim.z = 1
            attributes.append(cluster)
        if shape.alone:
            together = driver.CUlaunchAttribute()
            together.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_COOPERATIVE
            together.value.cooperative = 1
            attributes.append(together)
        made.attrs, made.numAttrs = attributes, len(attributes)
        return made

    def _device(self, ordinal: int) -> Any:
        return self.call("cuDeviceGet", ordinal)

    def _require_attribute(self, ordinal: int, name: str) -> int:
        found = self.attribute(ordinal, name)
        if found is None:
            raise CudaError(f"cuDeviceGetAttribute failed: the driver does not know {name}")
        return found


def pack_arguments(arguments: Sequence[Any]) -> bytes:
    """The arguments of a kernel as its parameters lie in memory: each aligned to its own size."""
    packed = bytearray()
    for argument in arguments:
        packed += bytes(-len(packed) % argument.itemsize)
        packed += argument.tobytes()
    return bytes(packed)
