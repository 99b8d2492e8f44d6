"""Where the threads of a test are, and in which spaces the lock and the data are."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum

from gpudiy.errors import InputError, near_name
from gpudiy.litmus.access import Space
from gpudiy.litmus.scope_tree import ScopeTree


class ThreadPlacement(StrEnum):
    """How threads are placed in warps, CTAs and clusters."""

    WARP = "warp"  # all in one warp
    CTA = "cta"  # one CTA, one warp per thread
    CLUSTER = "cluster"  # one cluster, one CTA per thread
    CTAS = "ctas"  # one CTA per thread
    MIXED = "mixed"  # the last thread in another CTA
    DEVICES = "devices"  # one GPU per thread

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
            ThreadPlacement.DEVICES: "different GPUs",
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
            ThreadPlacement.DEVICES: [(number, number, number, number, number) for number in range(threads)],
        }[self]
        return ScopeTree.of(groups)


class WidestPlacement(IntEnum):
    """How far apart the threads of a lock can be; all narrower placements are meant, too."""

    WARP = 0
    CTA = 1
    CLUSTER = 2
    GPU = 3
    SYS = 4

    @property
    def word(self) -> str:
        return self.name.lower()

    @property
    def what(self) -> str:
        return {
            WidestPlacement.WARP: "in one warp",
            WidestPlacement.CTA: "in one CTA",
            WidestPlacement.CLUSTER: "in one cluster of CTAs",
            WidestPlacement.GPU: "anywhere on one GPU",
            WidestPlacement.SYS: "on one or on several GPUs",
        }[self]


WIDTHS = {
    ThreadPlacement.WARP: WidestPlacement.WARP,
    ThreadPlacement.CTA: WidestPlacement.CTA,
    ThreadPlacement.CLUSTER: WidestPlacement.CLUSTER,
    ThreadPlacement.CTAS: WidestPlacement.GPU,
    ThreadPlacement.MIXED: WidestPlacement.GPU,
    ThreadPlacement.DEVICES: WidestPlacement.SYS,
}


def find_placement(word: str) -> WidestPlacement:
    """The placement with this name; raise `InputError` if there is none."""
    found = next((place for place in WidestPlacement if place.word == word), None)
    if found is None:
        names = [place.word for place in WidestPlacement]
        raise InputError(f"unknown placement {word!r}", hint=near_name(word, names) or f"one of {', '.join(names)}")
    return found


def _list_placements(threads: int, widest: WidestPlacement) -> tuple[ThreadPlacement, ...]:
    """All placements of a number of threads; two threads cannot be mixed."""
    found = (place for place in ThreadPlacement if WIDTHS[place] <= widest)
    return tuple(place for place in found if threads > 2 or place is not ThreadPlacement.MIXED)


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


def list_settings(threads: int, lock_spaces: tuple[Space, ...], widest: WidestPlacement) -> list[Setting]:
    """All settings of a number of threads, for a lock that can be in these spaces and is used this far apart."""
    return [
        Setting(placement, lock, data)
        for placement in _list_placements(threads, widest)
        for lock in lock_spaces
        for data in Space
        if placement.one_cta or lock is data is Space.GLOBAL
    ]
