"""Which chip a record is about, however logs spell its name; a log that names none is called by its file.

Here, in tables and in sums a chip whose tests had their locations in other memory than its own counts as another chip.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from gpudiy.logs.columns import Columns, read_pairs
from gpudiy.logs.memory_place import MEMORY, MemoryPlace, memory_of, name_with_memory
from gpudiy.logs.record import Record

VENDORS = re.compile(r"\b(?:nvidia|geforce|amd|radeon)\b|\(r\)|\(tm\)")
NOT_LETTERS = re.compile(r"[^a-z0-9:]+")


@dataclass(frozen=True, slots=True)
class Chips:
    """`chips[i]` is the number of the chip of record i, `names` their names; `unnamed` are files that name no chip."""

    chips: list[int]
    names: list[str]
    unnamed: tuple[str, ...] = ()


def chips_of(columns: Columns) -> Chips:
    """One number per chip and memory of its locations: longer and shorter names are the same chip."""
    numbers: dict[tuple[str, str, MemoryPlace], int] = {}
    keys: dict[str, int] = {}
    names: list[str] = []
    unnamed: list[str] = []
    result = []
    for chip, device, file, options in zip(
        *(columns[name] for name in ("chip", "device", "file", "options")), strict=True
    ):
        named, memory = chip or device, memory_of_text(options)
        place = (named, "" if named else file, memory)
        if place not in numbers:
            key = f"{memory} chip {chip_key(named)}" if named else f"{memory} file {file}"
            if key not in keys:
                keys[key] = len(names)
                names.append(name_with_memory(named or _name_of_file(file), memory))
                if not named:
                    unnamed.append(file)
            numbers[place] = keys[key]
        result.append(numbers[place])
    return Chips(result, names, tuple(unnamed))


def name_chip(record: Record) -> str:
    """The chip of a record, or else its device, with the memory of its locations if that is not its own."""
    return name_with_memory(record.chip or record.device, memory_of(record.options))


def memory_of_text(options: str) -> MemoryPlace:
    """The memory of a record by the text of its options; most logs do not name it, and are not parsed for it."""
    return memory_of(read_pairs(options)) if f'"{MEMORY}"' in options else MemoryPlace.DEVICE


def logs_of(columns: Columns) -> Chips:
    """One number per log, for logs that are all about one chip."""
    keys: dict[str, int] = {}
    result = [keys.setdefault(file, len(keys)) for file in columns["file"]]
    stems = [_name_of_file(file) for file in keys]
    names = [stem if stems.count(stem) == 1 else file for stem, file in zip(stems, keys, strict=True)]
    return Chips(result, names)


def chip_key(name: str) -> str:
    """The same key for all spellings of a chip: `GeForce GTX TITAN` and `GTX Titan` are one chip."""
    lowered = name.lower()
    return NOT_LETTERS.sub("", VENDORS.sub(" ", lowered)) or lowered


def _name_of_file(file: str) -> str:
    stem = Path(file.removesuffix(".gz")).stem
    return stem or "unnamed chip"
