"""The answer of optcheck: a finding on a kernel, and the deviations that are its reasons."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Finding(StrEnum):
    """Whether the test in the binary still is the test in the file, and if not, how it differs.

    If there are several deviations, the finding is the first of theirs in this order.
    """

    REMOVED = "removed"  # an access is missing
    MERGED = "merged"  # two accesses, or the accesses of several threads, became one
    WIDENED = "widened"  # an access became part of a larger one
    REORDERED = "reordered"  # accesses are in another order
    CHANGED = "changed"  # an access has another kind or strength, occurs twice, or has other accesses in between
    FENCE_CHANGED = "fence-changed"  # a fence is missing, weaker, or elsewhere
    DEPENDENCY_BROKEN = "dependency-broken"
    UNVERIFIABLE = "unverifiable"  # no deviation was found, but the test cannot be proved unchanged
    UNCHANGED = "unchanged"


ORDER = {finding: place for place, finding in enumerate(Finding)}


@dataclass(frozen=True, slots=True)
class Deviation:
    """One difference from the test: an explanation, and the lines of SASS and PTX that it concerns."""

    finding: Finding
    explanation: str
    sass: tuple[str, ...] = ()  # `line: instruction`, as in the listing
    ptx: tuple[str, ...] = ()  # the instructions of the test


@dataclass(frozen=True, slots=True)
class Cluster:
    """The specification of one thread as found in the SASS: entries of line, position, and line of the access."""

    thread: int
    entries: tuple[tuple[int, int, int | None], ...]
    finding: Finding


@dataclass(frozen=True, slots=True)
class Check:
    """The finding on one kernel."""

    kernel: str
    finding: Finding
    deviations: tuple[Deviation, ...] = ()
    clusters: tuple[Cluster, ...] = ()
    architecture: str = ""
    test: str = ""
    accesses_only: bool = False  # fences, values and dependencies were not compared, because no test was given


def strongest_finding(deviations: tuple[Deviation, ...] | list[Deviation]) -> Finding:
    """The first finding of the deviations in the order of `Finding`; unchanged if there are none."""
    return min((deviation.finding for deviation in deviations), key=ORDER.__getitem__, default=Finding.UNCHANGED)
