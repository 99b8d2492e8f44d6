"""Error codes of NVIDIA's driver: how a test ends after each of them."""

from __future__ import annotations

from gpudiy.logs.growing_log import UNDONE
from gpudiy.logs.record import Ending

ENDINGS = {
    2: Ending.OUT_OF_MEMORY,
    3: Ending.DEVICE_LOST,  # not initialised
    4: Ending.DEVICE_LOST,  # shut down
    46: Ending.DEVICE_LOST,  # busy or unavailable
    100: Ending.DEVICE_LOST,  # no device
    101: Ending.DEVICE_LOST,  # invalid device
    200: Ending.BUILD_FAILED,  # invalid image
    209: Ending.BUILD_FAILED,  # no binary for this GPU
    214: Ending.DEVICE_LOST,  # ECC error
    218: Ending.BUILD_FAILED,  # invalid PTX
    220: Ending.DEVICE_LOST,  # NVLink
    221: Ending.BUILD_FAILED,  # the compiler of the driver is missing
    222: Ending.BUILD_FAILED,  # unsupported version of PTX
    226: Ending.DEVICE_LOST,  # contained error
    702: Ending.TIMEOUT,
    709: Ending.DEVICE_LOST,  # the context is destroyed
    714: Ending.DEVICE_LOST,  # hardware stack error
    999: Ending.DEVICE_LOST,  # unknown
}
RUN_AGAIN = tuple(code for code, ending in ENDINGS.items() if ending in UNDONE)


def ending_of_code(code: int) -> Ending:
    """The ending of a test at which the driver gave this code."""
    return ENDINGS.get(code, Ending.CRASHED)
