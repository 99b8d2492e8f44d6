"""Simulated devices by name, `sim:PROFILE`."""

from __future__ import annotations

from gpudiy.devices.opening import Listing, UnknownDevice
from gpudiy.devices.simulated import PREFIX, SimulatedDevice
from gpudiy.devices.simulation.profile import PROFILES, UnknownProfile, find_profile


def list_devices() -> list[Listing]:
    return [
        Listing(f"{PREFIX}{profile.name}", f"{profile.chip}; what it shows is allowed by {profile.model}")
        for profile in PROFILES.values()
    ]


def open_device(rest: str) -> SimulatedDevice:
    try:
        return SimulatedDevice(find_profile(rest))
    except UnknownProfile as error:
        raise UnknownDevice(str(error)) from None
