"""Places on the PCI bus, by which the GPUs of CUDA and those of nvidia-smi are known to be the same.

The numbers of the two differ: CUDA counts the fastest first, and only those that CUDA_VISIBLE_DEVICES names.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from gpudiy.devices.cuda_driver import CudaError, Driver

ADDRESS = re.compile(r"([0-9a-f]{4,8}):([0-9a-f]{2}):([0-9a-f]{2})\.[0-9a-f]\b", re.IGNORECASE)


class PciAddress(NamedTuple):
    """Where a GPU is."""

    domain: int
    bus: int
    device: int

    def __str__(self) -> str:
        return f"{self.domain:08x}:{self.bus:02x}:{self.device:02x}.0"


def find_address(text: str) -> PciAddress | None:
    """The first address in a text such as `00000000:65:00.0`."""
    found = ADDRESS.search(text)
    return None if found is None else PciAddress(*(int(part, 16) for part in found.groups()))


def list_addresses(driver: Driver) -> dict[int, PciAddress | None]:
    """The GPUs of CUDA by their numbers, and where each is; None where the driver does not tell it."""
    return {ordinal: _ask_address(driver, ordinal) for ordinal in range(driver.count())}


def _ask_address(driver: Driver, ordinal: int) -> PciAddress | None:
    try:
        parts = [driver.attribute(ordinal, f"PCI_{part}_ID") for part in ("DOMAIN", "BUS", "DEVICE")]
    except CudaError:
        return None
    domain, bus, device = parts
    return None if bus is None or device is None else PciAddress(domain or 0, bus, device)
