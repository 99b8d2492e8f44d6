"""PyCUDA and its errors: how a failure of the driver ends a test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType

from gpudiy.devices.device import DeviceError
from gpudiy.errors import MissingTool
from gpudiy.harness.cuda_library import INSTALL_OLDER
from gpudiy.logs.record import Ending

NOT_LOADED = ("kernel image is invalid", "invalid image", "unsupported toolchain")  # of errors 200 and 222
INSTALL_PYCUDA = "pip install 'gpudiy[cuda]'"

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


class NoPyCuda(MissingTool):
    """PyCUDA cannot be used; `command` installs what is missing."""

    def __init__(self, message: str, command: str) -> None:
        super().__init__(message)
        self.command = command


def load_driver() -> ModuleType:
    """`pycuda.driver`, initialised."""
    try:
        driver = import_module("pycuda.driver")
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("pycuda"):
            raise
        raise NoPyCuda("PyCUDA is not installed", INSTALL_PYCUDA) from None
    except ImportError as error:  # the extension does not load: there is no libcuda, or an older one
        raise NoPyCuda(f"NVIDIA's driver does not load: {error}", "install NVIDIA's driver for this machine") from None
    try:
        driver.init()
    except driver.Error as error:
        raise NoPyCuda(f"NVIDIA's driver does not start: {error}", "nvidia-smi (says what is wrong)") from None
    return driver


@contextmanager
def driver_errors(driver: ModuleType) -> Iterator[None]:
    """Turn errors of the driver into `DeviceError`s with their ending."""
    try:
        yield
    except driver.MemoryError as error:
        raise DeviceError(f"the device does not have enough memory: {error}", Ending.OUT_OF_MEMORY) from None
    except driver.Error as error:
        raise DeviceError(str(error), ending_of(str(error))) from None


@contextmanager
def image_errors(driver: ModuleType, version: str, toolkit: str) -> Iterator[None]:
    """Say of a cubin that the driver does not load (error 200 or 222) what made it, and what to do."""
    try:
        yield
    except driver.Error as error:
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
