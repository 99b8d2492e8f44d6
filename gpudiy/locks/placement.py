"""Where the threads that use a lock stand, and in which spaces the lock and what it protects live."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gpudiy.litmus.access import Space
from gpudiy.litmus.scope_tree import ScopeTree


class Placement(StrEnum):
    WARP = "warp"  # all in one warp
    CTA = "cta"  # one CTA, a warp each
    CLUSTER = "cluster"  # one cluster, a CTA each
    CTAS = "ctas"  # a CTA each
    MIXED = "mixed"  # the last one in a CTA of its own

    @property
    def one_cta(self) -> bool:
        return self in (Placement.WARP, Placement.CTA)

    @property
    def what(self) -> str:
        return {
            Placement.WARP: "same warp",
            Placement.CTA: "same CTA",
            Placement.CLUSTER: "same cluster",
            Placement.CTAS: "different CTAs",
            Placement.MIXED: "two CTAs",
        }[self]

    def tree(self, threads: int) -> ScopeTree:
        last = threads - 1
        groups = {
            Placement.WARP: [(0, 0, 0, 0, 0)] * threads,
            Placement.CTA: [(number, 0, 0, 0, 0) for number in range(threads)],
            Placement.CLUSTER: [(number, number, 0, 0, 0) for number in range(threads)],
            Placement.CTAS: [(number, number, number, 0, 0) for number in range(threads)],
            Placement.MIXED: [(number, int(number == last), int(number == last), 0, 0) for number in range(threads)],
        }[self]
        return ScopeTree.of(groups)


def placements(threads: int) -> tuple[Placement, ...]:
    """All placements of so many threads; two threads cannot be mixed."""
    return tuple(place for place in Placement if threads > 2 or place is not Placement.MIXED)


@dataclass(frozen=True, slots=True)
class Setting:
    """A placement with the spaces of the lock and of the data; shared memory belongs to one CTA."""

    placement: Placement
    lock: Space = Space.GLOBAL
    data: Space = Space.GLOBAL

    @property
    def text(self) -> str:
        spaces = "" if self.lock is self.data is Space.GLOBAL else f"+{self.lock[0]}{self.data[0]}"
        return f"{self.placement}{spaces}"


def settings(threads: int, lock_spaces: tuple[Space, ...]) -> list[Setting]:
    """All settings of so many threads, for a lock that can live in these spaces."""
    return [
        Setting(placement, lock, data)
        for placement in placements(threads)
        for lock in lock_spaces
        for data in Space
        if placement.one_cta or lock is data is Space.GLOBAL
    ]
