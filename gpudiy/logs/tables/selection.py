"""Which tests and chips a table or report shows, and in which order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from fnmatch import fnmatchcase

from gpudiy.arguments import list_names
from gpudiy.errors import InputError, near_name
from gpudiy.logs.decision import Sighting
from gpudiy.logs.operations import natural
from gpudiy.logs.tables.tally import Observations


class SelectionError(InputError):
    """A name that no test or chip has."""


class RowOrder(StrEnum):
    """The order of the rows of a table."""

    NAME = "name"
    RATE = "rate"  # the highest rate on any chip first
    LOG = "log"  # as they come in the logs


def select(names: Iterable[str], patterns: Sequence[str], what: str) -> list[str]:
    """The names that any pattern matches (`MP*`; without regard to case); each pattern must match something."""
    names = list(names)
    if not patterns:
        return names
    chosen: set[str] = set()
    for pattern in patterns:
        exact = [name for name in names if name == pattern]
        matched = exact or [name for name in names if fnmatchcase(name.lower(), pattern.lower())]
        if not matched:
            hint = near_name(pattern, names) or f"{what}s: {_some(names)}"
            raise SelectionError(f"no {what} {pattern!r} in the logs", hint=hint)
        chosen.update(matched)
    return [name for name in names if name in chosen]


def selected_tests(
    found: Observations, chips: Sequence[str], patterns: str | Sequence[str], order: RowOrder, weak_only: bool = False
) -> list[str]:
    """The tests that patterns choose, in order; with `weak_only` those observed on one of the chips."""
    tests = select(found.tests, list_names(patterns, "tests"), "test")
    if weak_only:
        tests = [test for test in tests if any(_was_observed(found, test, chip) for chip in chips)]
    if order is RowOrder.NAME:
        return sorted(tests, key=natural)
    if order is RowOrder.RATE:
        return sorted(tests, key=lambda test: (-_highest(found, test, chips), natural(test)))
    return tests


def selected_chips(found: Observations, patterns: str | Sequence[str]) -> list[str]:
    """The chips that patterns choose, in the order of the patterns; all of them without."""
    chips: list[str] = []
    for pattern in list_names(patterns, "chips"):
        chips += [chip for chip in select(found.chips, [pattern], "chip") if chip not in chips]
    return chips if patterns else list(found.chips)


def _was_observed(found: Observations, test: str, chip: str) -> bool:
    tally = found.tallies.get((test, chip))
    return tally is not None and tally.sighting is Sighting.OBSERVED


def _highest(found: Observations, test: str, chips: Sequence[str]) -> float:
    tallies = [found.tallies[test, chip] for chip in chips if (test, chip) in found.tallies]
    return max((tally.rate or 0.0 for tally in tallies), default=0.0)


def _some(names: Sequence[str], most: int = 8) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")
