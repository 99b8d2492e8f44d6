"""Scope trees: the positions of threads in the hierarchy of the machine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gpudiy.litmus.access import Scope
from gpudiy.litmus.errors import InvalidTest, SourcePlace


class Placement(NamedTuple):
    """The groups of a thread, innermost first; the numbers of one level are unique in the whole tree."""

    warp: int
    cta: int
    cluster: int
    kernel: int
    device: int


@dataclass(frozen=True, slots=True)
class ScopeTree:
    """The placement of every thread, by thread number, with all levels filled in.

    Groups are numbered in the order in which the threads first enter them, so equal trees are equal values,
    however they were written.
    """

    placements: tuple[Placement, ...]

    def __post_init__(self) -> None:
        if self.placements != _renumber_groups(self.placements):
            raise InvalidTest(
                "the groups of a scope tree are numbered by their first thread", SourcePlace("scope tree")
            )
        for outer in (1, 2, 3, 4):
            parents: dict[int, int] = {}
            for placement in self.placements:
                if parents.setdefault(placement[outer - 1], placement[outer]) != placement[outer]:
                    raise InvalidTest("a group of the scope tree is in two others", SourcePlace("scope tree"))

    @staticmethod
    def of(placements: Iterable[Sequence[int]]) -> ScopeTree:
        """The tree of placements whose groups are numbered in any way."""
        return ScopeTree(_renumber_groups(placements))

    def smallest_common_scope(self, one: int, other: int) -> Scope:
        """The innermost scope that holds both threads."""
        for level, (left, right) in enumerate(zip(self.placements[one], self.placements[other], strict=True)):
            if left == right:
                return Scope(level)
        return Scope.SYS

    def includes(self, thread: int, scope: Scope, other: int) -> bool:
        """Whether `scope`, as seen from `thread`, includes the thread `other`."""
        return self.smallest_common_scope(thread, other) <= scope

    def reorder_threads(self, order: Sequence[int]) -> ScopeTree:
        """The tree in which thread i is the old thread order[i]."""
        return ScopeTree.of(self.placements[thread] for thread in order)

    @property
    def has_clusters(self) -> bool:
        """Whether some cluster has more than one CTA."""
        return len({placement.cluster for placement in self.placements}) < len(
            {placement.cta for placement in self.placements}
        )


def _renumber_groups(placements: Iterable[Sequence[int]]) -> tuple[Placement, ...]:
    names: tuple[dict[int, int], ...] = ({}, {}, {}, {}, {})
    return tuple(
        Placement(*(level.setdefault(group, len(level)) for level, group in zip(names, placement, strict=True)))
        for placement in placements
    )
