"""`MemoryPlace`: where the locations of tests lie. Counts of one chip in two memories are about different things."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from gpudiy.errors import UsageError

MEMORY = "memory"  # the option of a record that names the place
Pairs = tuple[tuple[str, str], ...]


class MemoryPlace(StrEnum):
    """Where the locations of tests lie; everything else of a harness lies in the memory of the device."""

    DEVICE = "device"  # in the memory of the GPU
    MANAGED = "managed"  # in managed memory, whose pages the driver moves between host and GPU
    HOST = "host"  # in pinned memory of the host, which the GPU accesses over its link


def parse_memory_place(text: str) -> MemoryPlace:
    """The place of a name; raises `UsageError` if there is none."""
    try:
        return MemoryPlace(text)
    except ValueError:
        raise UsageError(f"there is no memory {text!r}: there are {', '.join(MemoryPlace)}") from None


def memory_of(options: Iterable[tuple[str, str]]) -> MemoryPlace:
    """Where the locations of a record lay, by its options: on the device, unless they say otherwise.

    Logs of litmus7 have an option of this name, too, which says something else.
    """
    named = dict(options).get(MEMORY)
    return MemoryPlace(named) if named in tuple(MemoryPlace) else MemoryPlace.DEVICE


def add_memory(options: Pairs, place: MemoryPlace) -> Pairs:
    """The options of a record with the place, unless they have it; without it they mean the memory of the device."""
    known = place is MemoryPlace.DEVICE or MEMORY in dict(options)
    return options if known else (*options, (MEMORY, str(place)))


def name_with_memory(name: str, place: MemoryPlace) -> str:
    """What counts are about, as people read it: `NVIDIA A100`, `NVIDIA A100 (host memory)`."""
    return name if place is MemoryPlace.DEVICE else f"{name} ({place} memory)".lstrip()
