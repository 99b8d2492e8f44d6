"""Devices `cuda:N`: NVIDIA's GPUs through PyCUDA or cuda-bindings."""

from __future__ import annotations

from gpudiy.devices.cuda_driver import NoCuda, driver_errors, load_driver
from gpudiy.devices.device import Device, DeviceError
from gpudiy.devices.opening import Listing, UnknownDevice
from gpudiy.logs.record import Ending


def list_devices() -> list[Listing]:
    """The GPUs of this machine; or what is missing, with the command that installs it."""
    try:
        driver = load_driver()
    except NoCuda as problem:
        return [Listing("cuda:0", f"missing: {problem}", problem.command)]
    from gpudiy.devices.cuda_gpu import Gpu, driver_version

    with driver_errors():
        gpus = [Gpu(driver, ordinal) for ordinal in range(driver.count())]
        version = driver_version(driver)
    return [
        Listing(
            f"cuda:{gpu.ordinal}",
            f"{gpu.name}, {gpu.architecture}, {gpu.multiprocessor.count} SMs, driver {version}, by {driver.binding}",
        )
        for gpu in gpus
    ]


def open_device(rest: str) -> Device:
    """GPU number `rest`; the first one when it is empty."""
    if rest and not rest.isdecimal():
        numbers = "GPUs are named by numbers: there are names such as cuda:0 and cuda:1"
        raise UnknownDevice(f"there is no device 'cuda:{rest}'", hint=numbers)
    try:
        driver = load_driver()
    except NoCuda as problem:
        raise DeviceError(f"{problem}; to get it: {problem.command}", Ending.DEVICE_LOST) from None
    from gpudiy.devices.cuda_device import CudaDevice

    ordinal = int(rest or "0")
    with driver_errors():
        count = driver.count()
        if ordinal >= count:
            there = "there is 1 GPU: cuda:0" if count == 1 else f"there are {count} GPUs: cuda:0 to cuda:{count - 1}"
            raise UnknownDevice(f"there is no device 'cuda:{rest}'", hint=there)
        return CudaDevice(driver, ordinal)
