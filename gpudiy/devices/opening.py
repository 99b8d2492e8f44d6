"""Devices by name: `cuda:N`, `opencl:N`, `vulkan:N`, `sim:PROFILE` and others; which there are, what is missing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Protocol, cast

from gpudiy.arguments import list_names
from gpudiy.devices.device import Device
from gpudiy.errors import InputError, near_name

KINDS = {
    "cuda": "gpudiy.devices.cuda",
    "opencl": "gpudiy.devices.opencl",
    "vulkan": "gpudiy.devices.vulkan",
    "sim": "gpudiy.devices.simulated",
}
MOST_SHOWN = 12  # names in a message


class UnknownDevice(InputError):
    """There is no device of this name; the message says which there are."""


@dataclass(frozen=True, slots=True)
class Listing:
    """A device that can be opened by its name; or, when `command` is set, what is missing and how to get it."""

    name: str
    what: str
    command: str = ""

    @property
    def there(self) -> bool:
        return not self.command


class DeviceKind(Protocol):
    """The functions of the module of a kind of device; neither needs a driver."""

    def list_devices(self) -> list[Listing]: ...

    def open_device(self, rest: str) -> Device:
        """The device of the name after the colon; raises `UnknownDevice`, or `DeviceError` if it does not open."""
        ...


def open_device(name: str) -> Device:
    """The device of a name, in this process."""
    kind, _, rest = name.partition(":")
    check_kind(name)
    return _kind(kind).open_device(rest)


def list_device_names(device: str | Iterable[str]) -> list[str]:
    """The names of devices, each once, from a list or from a text with commas; an unknown kind is an error."""
    chosen = list_names(device, "device")
    if not chosen:
        raise InputError("no device is named", hint="`gpudiy devices` lists them")
    for name in chosen:
        check_kind(name)
    return chosen


def check_kind(name: str) -> None:
    """Raise `UnknownDevice` for an unknown kind of device, without looking for the device itself."""
    kind = name.partition(":")[0]
    if kind not in kinds():
        raise UnknownDevice(f"there is no device {name!r}", hint=_near(name) or f"there are {format_device_names()}")


def _near(name: str) -> str | None:
    """A hint for a name that is misspelt, or that lacks the kind before the colon."""
    whole = {listing.name.partition(":")[2]: listing.name for listing in list_devices() if listing.there}
    if name in whole and name:
        return f"did you mean {whole[name]!r}?"
    return near_name(name.partition(":")[0], kinds())


def kinds() -> list[str]:
    """The kinds of devices whose modules are installed."""
    return [kind for kind, module in KINDS.items() if find_spec(module) is not None]


def list_devices() -> list[Listing]:
    """All devices of this machine, and what is missing, kind by kind."""
    return [listing for kind in kinds() for listing in _kind(kind).list_devices()]


def format_device_names() -> str:
    """The names of the devices of this machine, for a message."""
    names = [listing.name for listing in list_devices() if listing.there]
    more = f" and {len(names) - MOST_SHOWN:,} more" if len(names) > MOST_SHOWN else ""
    return (", ".join(names[:MOST_SHOWN]) or "none") + more


def _kind(name: str) -> DeviceKind:
    return cast(DeviceKind, import_module(KINDS[name]))
