"""All cycles of a set of edges, each once, up to rotation.

A cycle is a word: the ranks of its edges. The smallest of its rotations, a necklace, represents them all. Necklaces are
grown letter by letter as prenecklaces (Fredricksen, Kessler, Maiorana; Ruskey's p-recursion): the prefix has a period,
the next letter may not be smaller than the letter one period before, and a word whose length is a multiple of its
period is the smallest of its rotations. So no cycle is made twice, and none has to be remembered.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gpudiy.diy.cycle import CycleLimits, changes_location, is_atomic, may_follow
from gpudiy.diy.edge import LEVELS, MEANS, Communication, Edge, ProgramOrder

Word = tuple[int, ...]


class Alphabet(NamedTuple):
    """The edges of cycles, by rank; every cycle has at least one of the `required` ranks, if there are any."""

    edges: tuple[Edge, ...]
    required: frozenset[int] = frozenset()

    def successors(self) -> list[list[int]]:
        """For every edge, the sorted ranks of the edges that may follow it."""
        by_source: dict[object, list[int]] = {}
        for rank, edge in enumerate(self.edges):
            by_source.setdefault(edge.source, []).append(rank)
        return [
            [rank for rank in by_source.get(edge.target, ()) if may_follow(edge, self.edges[rank])]
            for edge in self.edges
        ]


def enumerate_words(alphabet: Alphabet, limits: CycleLimits) -> Iterator[Word]:
    """The cycles of the alphabet within the limits, as words of ranks."""
    successors = alphabet.successors()
    predecessors = _list_predecessors(successors)
    closing = _Closing(alphabet, limits)
    for first in range(len(alphabet.edges)):
        ways = _count_steps_back(first, predecessors, limits.edges)
        if ways:
            yield from _necklaces(first, successors, ways, closing, limits)


def _necklaces(
    first: int, successors: list[list[int]], ways: dict[int, int], closing: _Closing, limits: CycleLimits
) -> Iterator[Word]:
    """The cycles whose smallest edge is `first`, which starts them."""
    most = limits.edges
    external, changing = closing.external, closing.changing
    most_changes = closing.most_changes
    closes = closing.closes
    following = {rank: [after for after in successors[rank] if after in ways] for rank in ways}
    word = [first] * (most + 1)  # word[1:] are the letters; index 0 keeps the arithmetic of periods simple
    period = [1] * (most + 1)
    threads = [0] * (most + 1)
    changes = [0] * (most + 1)
    threads[1], changes[1] = external[first], changing[first]
    if first in following[first] and closes((first,), threads[1], changes[1]):
        yield (first,)
    pending: list[Iterator[int]] = [iter(())] * (most + 2)
    length = 1
    pending[2] = iter(following[first])
    while length:
        if length == most:
            length -= 1
        for letter in pending[length + 1]:
            grown = length + 1
            crossed = threads[length] + external[letter]
            moved = changes[length] + changing[letter]
            if crossed > limits.threads or moved > most_changes or ways[letter] > most - grown + 1:
                continue
            size = period[length]
            if letter != word[grown - size]:
                size = grown
            word[grown], period[grown] = letter, size
            threads[grown], changes[grown] = crossed, moved
            if ways[letter] == 1 and grown % size == 0:
                found = tuple(word[1 : grown + 1])
                if closes(found, crossed, moved):
                    yield found
            if grown < most:
                allowed = following[letter]
                least = word[grown + 1 - size]
                pending[grown + 1] = iter(allowed[bisect_left(allowed, least) :] if allowed else allowed)
                length = grown
                break
        else:
            length -= 1


class _Closing:
    """The conditions under which a closed word is a cycle, the cheapest first."""

    def __init__(self, alphabet: Alphabet, limits: CycleLimits) -> None:
        edges = alphabet.edges
        self.external = [int(edge.external) for edge in edges]
        self.changing = [int(changes_location(edge)) for edge in edges]
        self.most_changes = limits.edges if limits.locations is None else limits.locations
        self.least_threads = limits.least_threads
        self.required = alphabet.required
        self.relaxable = [not isinstance(edge, Communication) and not is_atomic(edge) for edge in edges]
        self.communicates = [isinstance(edge, Communication) for edge in edges]
        self.level = [LEVELS.index(e.level) if isinstance(e, Communication) and e.external else -1 for e in edges]
        self.one_level = len({level for level in self.level if level >= 0}) < 2
        self.twins = _find_twins(edges)

    def closes(self, word: Word, threads: int, changes: int) -> bool:
        if threads == 1 or changes == 1 or (threads or 1) < self.least_threads:
            return False
        if self.required and self.required.isdisjoint(word):
            return False
        if not changes and not any(self.relaxable[rank] for rank in word):
            return False
        if self.twins and self._repeats_a_twin(word):
            return False
        if not threads:
            return any(self.communicates[rank] for rank in word)
        if self.one_level:
            return True
        levels = [self.level[rank] for rank in word]
        return levels.count(max(levels)) > 1

    def _repeats_a_twin(self, word: Word) -> bool:
        """Whether an internal communication is at a place where its twin makes the same test."""
        return any(
            rank in self.twins
            and not self.relaxable[word[index - 1]]
            and not self.relaxable[word[index + 1 - len(word)]]
            for index, rank in enumerate(word)
        )


def _find_twins(edges: Sequence[Edge]) -> frozenset[int]:
    """The internal communications for which a program-order edge between the same accesses makes the same test.

    Only beside an atomic can both be at the same place: elsewhere one of them needs program order beside it, and the
    other cannot have it.
    """
    if not any(map(is_atomic, edges)):
        return frozenset()
    plain = {(edge.source, edge.target) for edge in edges if edge.same_location and _is_plain(edge)}
    return frozenset(
        rank
        for rank, edge in enumerate(edges)
        if isinstance(edge, Communication) and not edge.external and (edge.source, edge.target) in plain
    )


def _is_plain(edge: Edge) -> bool:
    return isinstance(edge, ProgramOrder) and edge.means == MEANS["Po"]


def _list_predecessors(successors: Sequence[Sequence[int]]) -> list[list[int]]:
    predecessors: list[list[int]] = [[] for _ in successors]
    for rank, after in enumerate(successors):
        for other in after:
            predecessors[other].append(rank)
    return predecessors


def _count_steps_back(first: int, predecessors: list[list[int]], most: int) -> dict[int, int]:
    """The least number of steps from each edge back to `first`, over edges that are not smaller.

    Edges that cannot return within `most` steps are absent.
    """
    ways: dict[int, int] = {}
    frontier = [first]
    for steps in range(1, most + 1):
        before = {rank for edge in frontier for rank in predecessors[edge] if rank >= first and rank not in ways}
        if not before:
            break
        ways |= dict.fromkeys(before, steps)
        frontier = list(before)
    return ways if first in ways else {}
