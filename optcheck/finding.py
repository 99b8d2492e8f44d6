"""What optcheck finds: a finding on a kernel and the deviations it rests on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Finding(StrEnum):
    """Whether the test in the binary still is the test in the file, and if not, what became of it.

    Where several things happened, the finding is the first in this order.
    """

    REMOVED = "removed"  # an access is no longer there
    MERGED = "merged"  # two accesses, or those of several threads, became one
    WIDENED = "widened"  # an access became part of a larger one
    REORDERED = "reordered"  # accesses changed places
    CHANGED = "changed"  # an access has another kind or strength, is there twice, or has foreign ones in between
    FENCE_CHANGED = "fence-changed"  # a fence is missing, weaker, or elsewhere
    DEPENDENCY_BROKEN = "dependency-broken"
    UNVERIFIABLE = "unverifiable"  # nothing is known to be wrong, but it cannot be proved right
    UNCHANGED = "unchanged"


ORDER = {finding: place for place, finding in enumerate(Finding)}


@dataclass(frozen=True, slots=True)
class Deviation:
    """One thing that is not as the test says: the lines of SASS and PTX it is about, and what happened."""

    finding: Finding
    explanation: str
    sass: tuple[str, ...] = ()  # `line: instruction`, as in the listing
    ptx: tuple[str, ...] = ()  # the instructions of the test


@dataclass(frozen=True, slots=True)
class Cluster:
    """The specification of one thread as found in the SASS: line, position, and the line of the access it led to."""

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


def strongest(deviations: tuple[Deviation, ...] | list[Deviation]) -> Finding:
    """The finding that deviations give together."""
    return min((deviation.finding for deviation in deviations), key=ORDER.__getitem__, default=Finding.UNCHANGED)
