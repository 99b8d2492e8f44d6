"""`Driver`: what the device asks of NVIDIA's driver, by any Python binding; and how a failure of it ends a test.

There are two thin drivers, over PyCUDA (`cuda_pycuda.py`) and over NVIDIA's cuda-bindings (`cuda_bindings.py`). PyCUDA
is taken where both work; `GPUDIY_CUDA=pycuda` or `GPUDIY_CUDA=bindings` takes one of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from gpudiy.devices.device import DeviceError
from gpudiy.errors import MissingTool, UsageError
from gpudiy.harness.cuda_library import INSTALL_OLDER
from gpudiy.logs.memory_place import MemoryPlace
from gpudiy.logs.record import Ending

CHOICE = "GPUDIY_CUDA"
LIBRARY, LIBRARY_MISSING = "libcuda.so", "NVIDIA's driver does not load: "
NAMES = {"pycuda": "PyCUDA", "bindings": "cuda-bindings"}
INSTALL_PYCUDA = "pip install 'gpudiy[cuda]'"
INSTALL_BINDINGS = "pip install 'gpudiy[cuda-bindings]'"
NOT_LOADED = ("kernel image is invalid", "invalid image", "unsupported toolchain")  # of errors 200 and 222

# Messages of the driver after which no launch can work; PyCUDA passes on the message and not the number.
LOST = (
    "busy or unavailable",
    "no CUDA-capable device",
    "invalid device ordinal",
    "ECC error",
    "hardware stack error",
    "unknown error",
    "device is lost",
    "contained error",
    "context is destroyed",
)


@dataclass(frozen=True, slots=True)
class Allocation:
    """Memory that kernels can use: its address on the GPU and on the host (0: none), and what the binding keeps."""

    address: int
    host_address: int
    place: MemoryPlace
    owner: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchShape:
    """The extents of a launch. `alone` says that no other kernel runs beside it."""

    groups: int
    group_size: int
    shared_bytes: int = 0
    cluster_groups: int = 1
    alone: bool = False


class CudaError(Exception):
    """An error of NVIDIA's driver, worded as PyCUDA does: `cuLaunchKernel failed: unspecified launch failure`."""


class CudaMemoryError(CudaError):
    """There is not enough memory."""


class Driver(Protocol):
    """NVIDIA's driver. GPUs are numbers; contexts, modules, functions and streams are what the binding has for them.

    Every method raises `CudaError` where the driver fails. A context is made current by `make_context` or `push`.
    """

    @property
    def binding(self) -> str:
        """The Python package and its version."""
        ...

    def version(self) -> int:
        """The version of CUDA that the driver supports, as 12040 for 12.4."""
        ...

    def count(self) -> int: ...

    def name(self, ordinal: int) -> str: ...

    def capability(self, ordinal: int) -> tuple[int, int]: ...

    def attribute(self, ordinal: int, name: str) -> int | None:
        """An attribute of a GPU, such as MULTIPROCESSOR_COUNT; None if the binding or the driver does not know it."""
        ...

    def can_access_peer(self, ordinal: int, other: int) -> bool: ...

    def peer_atomics(self, ordinal: int, other: int) -> bool | None:
        """Whether the link makes atomics on memory of the other GPU atomic to it; None if the binding cannot ask."""
        ...

    def make_context(self, ordinal: int) -> Any: ...

    def push(self, context: Any) -> None: ...

    def pop(self) -> None: ...

    def end_context(self, context: Any) -> None: ...

    def enable_peer_access(self, context: Any) -> None: ...

    def free_bytes(self) -> int: ...

    def load_module(self, cubin: bytes) -> Any: ...

    def unload_module(self, module: Any) -> None: ...

    def find_function(self, module: Any, name: str) -> Any: ...

    def find_variable(self, module: Any, name: str) -> Allocation:
        """A variable of a module, which belongs to the module: it is not to be freed."""
        ...

    def function_attribute(self, function: Any, name: str) -> int: ...

    def resident_groups(self, function: Any, shape: LaunchShape, multiprocessors: int) -> int | None:
        """The CTAs of this size that the whole GPU holds at once; None if the binding does not offer the answer."""
        ...

    def make_stream(self) -> Any: ...

    def end_stream(self, stream: Any) -> None: ...

    def synchronize(self, stream: Any) -> None: ...

    def allocate(self, size: int, place: MemoryPlace) -> Allocation: ...

    def free(self, allocation: Allocation) -> None: ...

    def copy_to_device(self, allocation: Allocation, content: bytes, stream: Any) -> None: ...

    def copy_to_host(self, content: bytearray, allocation: Allocation, stream: Any) -> None: ...

    def fill_with_zeros(self, allocation: Allocation, words: int, stream: Any) -> None: ...

    def launch(self, function: Any, arguments: Sequence[Any], shape: LaunchShape, stream: Any) -> None:
        """Launch a kernel; its arguments are numbers of numpy, as wide as the parameters."""
        ...


class NoCuda(MissingTool):
    """NVIDIA's driver cannot be used; `command` installs what is missing."""

    def __init__(self, message: str, command: str) -> None:
        super().__init__(message)
        self.command = command


class NoBinding(NoCuda):
    """A Python binding is not installed."""


class BrokenBinding(NoCuda):
    """A Python binding is installed, but cannot be imported."""


def load_driver() -> Driver:
    """The driver, initialised, over the first binding that works; raises `NoCuda` with what is wrong with each."""
    from gpudiy.devices.cuda_bindings import load_bindings
    from gpudiy.devices.cuda_pycuda import load_pycuda

    loaders: dict[str, Callable[[], Driver]] = {"pycuda": load_pycuda, "bindings": load_bindings}
    chosen = os.environ.get(CHOICE)
    if chosen and chosen not in loaders:
        raise UsageError(f"{CHOICE} is {chosen!r}, but there are {' and '.join(loaders)}")
    problems: list[NoCuda] = []
    for name, load in loaders.items():
        if chosen in (None, "", name):
            try:
                return load()
            except Exception as problem:  # also whatever a package raises that was built for another machine
                problems.append(describe_problem(name, problem))
    raise _join_problems(problems)


def describe_problem(binding: str, problem: Exception) -> NoCuda:
    """What is wrong: with the driver, or with a binding that cannot be imported, such as a PyCUDA without libcurand."""
    another_library = binding == "pycuda" and LIBRARY_MISSING in str(problem) and LIBRARY not in str(problem)
    if isinstance(problem, NoCuda) and not another_library:
        return problem
    what = str(problem).removeprefix(LIBRARY_MISSING)
    other = INSTALL_BINDINGS if binding == "pycuda" else INSTALL_PYCUDA
    return BrokenBinding(f"{NAMES[binding]} cannot be imported: {what}", other)


def _join_problems(problems: Sequence[NoCuda]) -> NoCuda:
    """One error for what is wrong with all bindings; one that is not installed matters where the other is broken."""
    if all(isinstance(problem, NoBinding) for problem in problems) and len(problems) > 1:
        return NoBinding("neither PyCUDA nor cuda-bindings is installed", INSTALL_BINDINGS)
    broken = any(isinstance(problem, BrokenBinding) for problem in problems)
    told = [problem for problem in problems if broken or len(problems) == 1 or not isinstance(problem, NoBinding)]
    commands = dict.fromkeys(problem.command for problem in told)
    return type(told[0])("; ".join(dict.fromkeys(map(str, told))), ", or ".join(commands))


@contextmanager
def driver_errors() -> Iterator[None]:
    """Turn errors of the driver into `DeviceError`s with their ending."""
    try:
        yield
    except CudaMemoryError as error:
        raise DeviceError(f"the device does not have enough memory: {error}", Ending.OUT_OF_MEMORY) from None
    except CudaError as error:
        raise DeviceError(str(error), ending_of(str(error))) from None


@contextmanager
def image_errors(version: str, toolkit: str) -> Iterator[None]:
    """Say of a cubin that the driver does not load (error 200 or 222) what made it, and what to do."""
    try:
        yield
    except CudaError as error:
        if not any(words in str(error) for words in NOT_LOADED):
            raise
        message = f"the driver, {version}, does not load the cubin that {toolkit} made ({error})"
        hint = f"update the driver, or build with an older CUDA: {INSTALL_OLDER}"
        raise DeviceError(f"{message}: {hint}", Ending.BUILD_FAILED) from None


def ending_of(message: str) -> Ending:
    """The ending of a run whose driver gave this message."""
    if any(words in message for words in LOST):
        return Ending.DEVICE_LOST
    if "launch timed out" in message:
        return Ending.TIMEOUT
    return Ending.CRASHED
