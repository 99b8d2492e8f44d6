"""Which chip a record is about, however logs spell its name; a log that names none is called by its file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from gpudiy.logs.columns import Columns

VENDORS = re.compile(r"\b(?:nvidia|geforce|amd|radeon)\b|\(r\)|\(tm\)")
NOT_LETTERS = re.compile(r"[^a-z0-9:]+")


@dataclass(frozen=True, slots=True)
class Chips:
    """`chips[i]` is the number of the chip of record i, `names` their names; `unnamed` are files that name no chip."""

    chips: list[int]
    names: list[str]
    unnamed: tuple[str, ...] = ()


def chips_of(columns: Columns) -> Chips:
    """One number per chip: its longer and shorter names are the same chip."""
    numbers: dict[tuple[str, str], int] = {}
    keys: dict[str, int] = {}
    names: list[str] = []
    unnamed: list[str] = []
    result = []
    for chip, device, file in zip(columns["chip"], columns["device"], columns["file"], strict=True):
        named = chip or device
        place = (named, "" if named else file)
        if place not in numbers:
            key = f"chip {chip_key(named)}" if named else f"file {file}"
            if key not in keys:
                keys[key] = len(names)
                names.append(named or _name_of_file(file))
                if not named:
                    unnamed.append(file)
            numbers[place] = keys[key]
        result.append(numbers[place])
    return Chips(result, names, tuple(unnamed))


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
