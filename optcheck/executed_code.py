"""Code that was executed before: in many functions the code before a thread is chosen is the same, and so are threads.

Nothing is taken from here if something differs on which it depended: code, what the watcher knew, registers that were
read, conditions that were decided before.
"""

from __future__ import annotations

from dataclasses import dataclass

from optcheck.noted_values import CaseStore
from optcheck.path_steps import FoundPlaces
from optcheck.sass import SassInstruction
from optcheck.term import Term

MOST_RESTS = 1 << 13
MOST_RUNS = 1 << 14


@dataclass(frozen=True, slots=True)
class ProvedRest:
    """What was found on all paths of the rest of a path, by places in its code; and how many steps they took."""

    found: FoundPlaces
    steps: int
    kept: object  # what the key names by identity


@dataclass(frozen=True, slots=True)
class StraightRun:
    """What code without branches did: the registers that it wrote, and how many loads, unknown values and steps."""

    written: dict[str, Term]
    loads: int
    unknowns: int
    steps: int
    instructions: list[SassInstruction]  # the key names them by identity


PROVED_RESTS: CaseStore[str, Term, ProvedRest] = CaseStore(MOST_RESTS)
STRAIGHT_RUNS: CaseStore[str, Term, StraightRun] = CaseStore(MOST_RUNS)


def forget_executed_code() -> None:
    """Forget what was executed before: its terms are no longer those of today."""
    PROVED_RESTS.forget()
    STRAIGHT_RUNS.forget()
