"""`Incantation`: every parameter by which a run tries to provoke weak outcomes, each with its range."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any


class StressPattern(StrEnum):
    """The two accesses that a stressing thread repeats on its line of the scratchpad."""

    STORE_STORE = "st-st"
    STORE_LOAD = "st-ld"
    LOAD_STORE = "ld-st"
    LOAD_LOAD = "ld-ld"


def _field(default: Any, low: int | None, high: int | None, what: str, tried: tuple[int, ...] = ()) -> Any:
    """A parameter; `tried`: the values that a search draws evenly, instead of numbers near the default."""
    return field(default=default, metadata={"low": low, "high": high, "what": what, "tried": tried})


@dataclass(frozen=True, slots=True)
class Incantation:
    """How a test is run. All fields are parameters of a launch, so one binary serves every incantation.

    The four switches of ASPLOS'15 are `memory_stress`, `bank_conflicts`, `synchronisation` and `randomisation`; a
    parameter that belongs to a switch has no effect while its switch is off.
    """

    memory_stress: bool = _field(True, None, None, "other threads access a scratchpad all the time while the test runs")
    bank_conflicts: bool = _field(False, None, None, "the stressing accesses of a warp fall into one bank")
    synchronisation: bool = _field(True, None, None, "the threads of an instance meet before they run it")
    randomisation: bool = _field(True, None, None, "which thread runs which thread of the test is shuffled every round")
    testing_groups: int = _field(0, 0, 4096, "CTAs that run instances; 0: as many as fit beside the stress")
    group_size: int = _field(0, 0, 1024, "threads of a CTA; 0: the device chooses")
    stress_groups: int = _field(0, 0, 4096, "CTAs that only stress; 0: the device chooses")
    stress_percent: int = _field(100, 0, 100, "rounds in which the stressing CTAs stress")
    stress_iterations: int = _field(512, 0, 1 << 20, "accesses a stressing thread makes in a round")
    stress_pattern: StressPattern = _field(StressPattern.STORE_LOAD, None, None, "what a stressing thread does")
    stress_lines: int = _field(4, 1, 64, "lines of the scratchpad that are stressed")
    stress_line_size: int = _field(64, 1, 1024, "words from one line of the scratchpad to the next")
    shared_stress_percent: int = _field(
        25, 0, 100, "rounds in which stressing threads access shared memory instead of the scratchpad"
    )
    pre_stress_percent: int = _field(50, 0, 100, "rounds in which testing threads stress before their instance")
    pre_stress_iterations: int = _field(16, 0, 4096, "accesses a testing thread makes before its instance")
    pre_stress_pattern: StressPattern = _field(StressPattern.STORE_LOAD, None, None, "what a testing thread does then")
    shuffle_percent: int = _field(100, 0, 100, "rounds in which threads are shuffled, when randomisation is on")
    barrier_percent: int = _field(100, 0, 100, "rounds in which threads meet, when synchronisation is on")
    meet_every: int = _field(0, 0, 4096, "instances a thread runs from one meeting to the next; 0: the device chooses")
    spin_limit: int = _field(
        0, 0, 1 << 24, "how often a thread looks for the others before it gives up meeting them; 0: the device chooses"
    )
    location_stride: int = _field(
        0,
        0,
        4096,
        "words from one location of an instance to the next; 0: each launch draws it, on a GPU 1, 2, 4, 8 or 64",
        tried=(0, 1, 2, 4, 8, 16, 32, 64),
    )
    location_spread: int = _field(
        64, 1, 1 << 16, "the locations of this many instances are mixed with each other, when randomisation is on"
    )
    warm_percent: int = _field(50, 0, 100, "rounds in which threads read lines of their instances before they meet")
    reuse_percent: int = _field(50, 0, 100, "launches in which consecutive rounds lie in the same lines")
    instances: int = _field(0, 0, 1 << 26, "instances of the test in a launch; 0: the device chooses")

    def __post_init__(self) -> None:
        for entry in fields(self):
            low, high = entry.metadata["low"], entry.metadata["high"]
            value = getattr(self, entry.name)
            if low is not None and not (isinstance(value, int) and low <= value <= high):
                raise ValueError(f"{entry.name} is {value!r}, and must be a whole number from {low} to {high}")
