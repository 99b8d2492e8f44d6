"""`Diagnosis`: what one check found, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Health(StrEnum):
    """What a check says. Only `missing` stops a run; `unknown` says that nobody could be asked."""

    OK = "ok"
    WARNING = "warning"
    MISSING = "missing"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What was checked, what was found, and, unless all is well, the command or the step that helps."""

    what: str
    health: Health
    found: str
    advice: str = ""
    device: str = ""  # the device whose use it stops if it is missing; empty for what concerns no device alone
