"""PyCUDA and its errors: how a failure of the driver ends a test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType

from gpudiy.devices.device import DeviceError
from gpudiy.errors import MissingTool
from gpudiy.logs.record import Ending

INSTALL_PYCUDA = "pip install 'gpudiy[cuda]'"

# Words of the driver for states that no new launch cures; PyCUDA hands on the words and not the number.
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
    """PyCUDA cannot be used; `command` says what would help."""

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
        raise NoPyCuda(f"NVIDIA's driver does not start: {error}", "nvidia-smi (tells what is wrong)") from None
    return driver


@contextmanager
def driver_errors(driver: ModuleType) -> Iterator[None]:
    """Errors of the driver become `DeviceError`s with the ending they mean."""
    try:
        yield
    except driver.MemoryError as error:
        raise DeviceError(f"the memory of the device does not suffice: {error}", Ending.OUT_OF_MEMORY) from None
    except driver.Error as error:
        raise DeviceError(str(error), ending_of(str(error))) from None


def ending_of(message: str) -> Ending:
    """How a run ended whose driver said this."""
    if any(words in message for words in LOST):
        return Ending.DEVICE_LOST
    if "launch timed out" in message:
        return Ending.TIMEOUT
    return Ending.CRASHED
