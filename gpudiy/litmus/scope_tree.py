"""Scope trees: the positions of threads in the hierarchy of the machine."""

from __future__ import annotations

from collections import Counter
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
    however they were written. `host` is the number, among the devices, of the group of threads that run on the host
    (the CPU) and not on a GPU: each is alone in its warp, CTA, cluster and kernel. None: all threads run on GPUs.
    """

    placements: tuple[Placement, ...]
    host: int | None = None

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
        if self.host is not None:
            self._check_host()

    def _check_host(self) -> None:
        sizes = Counter(placement.kernel for placement in self.placements)
        on_host = [placement.kernel for placement in self.placements if placement.device == self.host]
        if not on_host:
            raise InvalidTest("no thread of the scope tree is on the host", SourcePlace("scope tree"))
        if any(sizes[kernel] > 1 for kernel in on_host):
            raise InvalidTest("threads on the host are in no warp, CTA, cluster or kernel", SourcePlace("scope tree"))

    @staticmethod
    def of(placements: Iterable[Sequence[int]], host: int | None = None) -> ScopeTree:
        """The tree of placements whose groups are numbered in any way; `host` is the device of threads on the host."""
        before = tuple(placements)
        after = _renumber_groups(before)
        if host is None:
            return ScopeTree(after)
        hosts = (new.device for old, new in zip(before, after, strict=True) if old[-1] == host)
        return ScopeTree(after, next(hosts, -1))  # a host without threads is refused

    def is_on_host(self, thread: int) -> bool:
        """Whether the thread runs on the host and not on a GPU."""
        return self.placements[thread].device == self.host

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
        host = self.host if any(map(self.is_on_host, order)) else None
        return ScopeTree.of((self.placements[thread] for thread in order), host)

    @property
    def shared_warps(self) -> int:
        """The warps that have more than one thread of the test."""
        return sum(count > 1 for count in Counter(placement.warp for placement in self.placements).values())

    def earlier_threads(self) -> tuple[int | None, ...]:
        """For each thread the last one before it in its warp; where no warp has two threads, the one before it."""
        if not self.shared_warps:
            return (None, *range(len(self.placements) - 1))
        last: dict[int, int] = {}
        earlier: list[int | None] = []
        for thread, placement in enumerate(self.placements):
            earlier.append(last.get(placement.warp))
            last[placement.warp] = thread
        return tuple(earlier)

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
