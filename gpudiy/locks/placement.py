"""Where the threads of a test are, and in which spaces the lock and the data are."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gpudiy.litmus.access import Space
from gpudiy.litmus.scope_tree import ScopeTree


class ThreadPlacement(StrEnum):
    """How threads are placed in warps, CTAs and clusters."""

    WARP = "warp"  # all in one warp
    CTA = "cta"  # one CTA, one warp per thread
    CLUSTER = "cluster"  # one cluster, one CTA per thread
    CTAS = "ctas"  # one CTA per thread
    MIXED = "mixed"  # the last thread in another CTA

    @property
    def one_cta(self) -> bool:
        return self in (ThreadPlacement.WARP, ThreadPlacement.CTA)

    @property
    def what(self) -> str:
        return {
            ThreadPlacement.WARP: "same warp",
            ThreadPlacement.CTA: "same CTA",
            ThreadPlacement.CLUSTER: "same cluster",
            ThreadPlacement.CTAS: "different CTAs",
            ThreadPlacement.MIXED: "two CTAs",
        }[self]

    def tree(self, threads: int) -> ScopeTree:
        last = threads - 1
        groups = {
            ThreadPlacement.WARP: [(0, 0, 0, 0, 0)] * threads,
            ThreadPlacement.CTA: [(number, 0, 0, 0, 0) for number in range(threads)],
            ThreadPlacement.CLUSTER: [(number, number, 0, 0, 0) for number in range(threads)],
            ThreadPlacement.CTAS: [(number, number, number, 0, 0) for number in range(threads)],
            ThreadPlacement.MIXED: [
                (number, int(number == last), int(number == last), 0, 0) for number in range(threads)
            ],
        }[self]
        return ScopeTree.of(groups)


def _list_placements(threads: int) -> tuple[ThreadPlacement, ...]:
    """All placements of a number of threads; two threads cannot be mixed."""
    return tuple(place for place in ThreadPlacement if threads > 2 or place is not ThreadPlacement.MIXED)


@dataclass(frozen=True, slots=True)
class Setting:
    """A placement with the spaces of the lock and of the data; shared memory belongs to one CTA."""

    placement: ThreadPlacement
    lock: Space = Space.GLOBAL
    data: Space = Space.GLOBAL

    @property
    def uses_shared_memory(self) -> bool:
        return Space.SHARED in (self.lock, self.data)

    @property
    def text(self) -> str:
        spaces = "" if self.lock is self.data is Space.GLOBAL else f"+{self.lock[0]}{self.data[0]}"
        return f"{self.placement}{spaces}"


def list_settings(threads: int, lock_spaces: tuple[Space, ...]) -> list[Setting]:
    """All settings of a number of threads, for a lock that can be in these spaces."""
    return [
        Setting(placement, lock, data)
        for placement in _list_placements(threads)
        for lock in lock_spaces
        for data in Space
        if placement.one_cta or lock is data is Space.GLOBAL
    ]
