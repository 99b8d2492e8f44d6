"""The lines of the log of a kit: which fields each kind has, and which values a program can have written there."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any, NoReturn

from gpudiy.devices.measuring import MOST_SLOTS
from gpudiy.errors import InputError
from gpudiy.harness.incantation_text import incantation_of
from gpudiy.harness.launch_plan import LaunchPlan
from gpudiy.kits.kit_text import ImageKind

Entry = Mapping[str, Any]  # a line of the log
Check = Callable[[object], bool]  # whether a value can be that of a field
WORD, LONG = (1 << 32) - 1, (1 << 64) - 1
COUNT, LARGEST = (1 << 31) - 1, (1 << 63) - 1
MOST_OUTCOME_SLOTS = 4 * MOST_SLOTS  # the programs stop once there are MOST_SLOTS
HEX = re.compile(r"[0-9a-f]{64}\Z")
ZERO_IN_PLAN = ("variables", "shared_variables", "shared_stress_bytes", "host_kernels")  # others are at least 1


class WrongLine(ValueError):
    """A line that no program of a kit writes; the message says what is wrong with it."""


def parse_line(line: bytes) -> Entry:
    """A line as an object; raises `WrongLine`."""
    try:
        entry = json.loads(line.decode(), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise WrongLine("this line is not JSON") from None
    if not isinstance(entry, dict) or not entry:
        raise WrongLine("this line is not one of the log of a kit")
    return entry


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(word)


def check_entry(entry: Entry) -> str:
    """The kind of a line, which is its first field; raises `WrongLine` if a field is missing, unknown or wrong."""
    kind = next(iter(entry))
    expected = LINES.get(kind)
    if expected is None:
        raise WrongLine("this line is not one of the log of a kit")
    if kind == "end":
        expected = expected | ENDS.get(str(entry.get("how")), {"how": lambda value: False})
    for name in (name for name in entry if name not in expected):
        raise WrongLine(f"a line {kind!r} has no field {name!r}")
    for name, check in expected.items():
        if name not in entry:
            raise WrongLine(f"the field {name!r} is missing")
        if not check(entry[name]):
            raise WrongLine(f"the field {name!r} is not what a program of a kit writes there")
    return kind


def is_number(most: int, least: int = 0) -> Check:
    """Whether a value is a whole number of this range."""
    return lambda value: type(value) is int and least <= value <= most


def is_text(value: object) -> bool:
    """Whether a value is a text that can be printed."""
    return isinstance(value, str) and value.isprintable()


def is_name(value: object) -> bool:
    """Whether a value is a text that can be written to a file."""
    return isinstance(value, str) and not any("\ud800" <= letter <= "\udfff" for letter in value)


def is_flag(value: object) -> bool:
    """Whether a value is true or false."""
    return isinstance(value, bool)


def is_digest(value: object) -> bool:
    """Whether a value is a hash of 256 bits."""
    return isinstance(value, str) and HEX.match(value) is not None


def is_time(value: object) -> bool:
    """Whether a value is a time with its zone."""
    try:
        return isinstance(value, str) and datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False


def is_list(check: Check, least: int = 0) -> Check:
    """Whether a value is a list of such values."""
    return lambda value: isinstance(value, list) and len(value) >= least and all(map(check, value))


def is_object(expected: Mapping[str, Check]) -> Check:
    """Whether a value has these fields and no others."""

    def check(value: object) -> bool:
        if not isinstance(value, dict) or value.keys() != expected.keys():
            return False
        return all(accept(value[name]) for name, accept in expected.items())

    return check


def is_incantation(value: object) -> bool:
    """Whether a value has the fields of an incantation, as texts."""
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        return False
    try:
        incantation_of(value.items())
    except (InputError, ValueError):
        return False
    return True


def is_plan(value: object) -> bool:
    """Whether a value may be the plan of a launch, or null; a plan of another version of gpudiy has other fields."""
    if value is None:
        return True
    if not isinstance(value, dict):
        return False
    strides = is_list(is_number(COUNT, 1), 1)
    for name, number in value.items():
        least = 0 if name in ZERO_IN_PLAN else 1
        if not (strides(number) if name == "strides" else is_number(COUNT, least)(number)):
            return False
    return True


def has_plan_of_this_version(plan: Mapping[str, object]) -> bool:
    """Whether a plan has the fields that plans have in this version of gpudiy."""
    return plan.keys() == {entry.name for entry in fields(LaunchPlan)}


def is_outcome(value: object) -> bool:
    """Whether a value is a count and the values of an outcome."""
    if not isinstance(value, list) or not value:
        return False
    return is_number(WORD)(value[0]) and all(map(is_number(LONG), value[1:]))


SETTINGS: Mapping[str, Check] = {
    "tool": is_text,
    "harness": is_text,
    "architectures": is_list(is_text, 1),
    "iterations": is_number(LARGEST, 1),
    "seed": is_number(LARGEST),
    "incantation": is_text,
    "draws": is_number(COUNT, 1),
    "counters": is_list(is_text, 1),
    "index": is_digest,
    "index_lines": is_number(COUNT),
    "left_out": is_list(lambda value: isinstance(value, list) and len(value) == 3 and all(map(is_name, value))),
}
ABOUT: Mapping[str, Check] = {"test": is_name, "hash": is_text, "incantation": is_incantation}
LINES: Mapping[str, dict[str, Check]] = {
    "kit": {
        "kit": is_number(COUNT),
        "sums": is_digest,
        "gpu": is_text,
        "started": is_time,
        "settings": is_object(SETTINGS),
        "sum": is_text,
    },
    "device": {
        "device": is_number(COUNT),
        "program": is_text,
        "gpu": is_text,
        "pci": is_text,
        "name": is_text,
        "major": is_number(COUNT, 1),
        "minor": is_number(9),
        "multiprocessors": is_number(COUNT, 1),
        "memory": is_number(LONG),
        "free": is_number(LONG),
        "driver": is_number(COUNT),
        "module": is_text,
        "clock_khz": is_number(COUNT, -1),
        "watchdog": is_number(COUNT, -1),
        "target": is_number(COUNT),
        "kind": lambda value: value in ("", *ImageKind),
        "started": is_time,
        "sum": is_text,
    },
    "begin": {"begin": is_number(COUNT), "about": is_object(ABOUT), "started": is_time, "sum": is_text},
    "loaded": {
        "loaded": is_number(COUNT),
        "plan": is_plan,
        "file": is_text,
        "compiled": is_text,
        "sha256": is_digest,
        "number": is_number(COUNT),
        "registers": is_number(COUNT),
        "groups_of_sm": is_number(COUNT),
        "threads_of_sm": is_number(COUNT, -1),
        "resident": is_number(COUNT),
        "cold": is_flag,
        "sum": is_text,
    },
    "launch": {
        "launch": is_number(COUNT),
        "number": is_number(COUNT),
        "warm": is_flag,
        "slots": is_number(MOST_OUTCOME_SLOTS, 1),
        "microseconds": is_number(1 << 53),
        "counters": is_list(is_number(WORD)),
        "outcomes": is_list(is_outcome),
        "sum": is_text,
    },
    "end": {"end": is_number(COUNT), "how": is_text, "launches": is_number(COUNT), "sum": is_text},
    "stopped": {"stopped": is_text, "sum": is_text},
}
ENDS: Mapping[str, dict[str, Check]] = {  # what else a line `end` has
    "finished": {},
    "time": {},
    "no binary": {},
    "no room": {},
    "no outcomes": {},
    "error": {"code": is_number(COUNT, 1), "call": is_text, "message": is_text},
    "hung": {"seconds": is_number(COUNT)},
    "killed": {"signal": is_number(COUNT)},
    "died": {"exit": is_number(COUNT)},
}
