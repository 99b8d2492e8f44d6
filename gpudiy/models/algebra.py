"""Relations over a few events as machine integers.

A set of events is an int with a bit an event. A relation over n events is one int of n·n bits: row i, the successors of
event i, is at bits i·n to i·n+n-1. Union, intersection and difference are then single operations, and an outer
product (a column of one relation times a row of another) is one multiplication, because the bits of a column are n
apart: composition and closure cost n multiplications, whatever the number of pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache


class Algebra:
    """Operations on sets of, and relations over, `size` events."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.row = (1 << size) - 1  # the set of all events
        self.column = sum(1 << (index * size) for index in range(size))  # the pairs (i, 0)
        self.everything = (1 << (size * size)) - 1
        self.identity = sum(1 << (index * size + index) for index in range(size))
        self._spread = lru_cache(1 << 12)(self._spread_bits)

    def __reduce__(self) -> tuple[Callable[[int], Algebra], tuple[int]]:
        return algebra, (self.size,)

    def pair(self, source: int, target: int) -> int:
        return 1 << (source * self.size + target)

    def relation(self, pairs: Iterable[tuple[int, int]]) -> int:
        total = 0
        for source, target in pairs:
            total |= 1 << (source * self.size + target)
        return total

    def pairs(self, relation: int) -> Iterator[tuple[int, int]]:
        while relation:
            low = relation & -relation
            yield divmod(low.bit_length() - 1, self.size)
            relation ^= low

    def members(self, events: int) -> Iterator[int]:
        while events:
            low = events & -events
            yield low.bit_length() - 1
            events ^= low

    def successors(self, relation: int, event: int) -> int:
        return (relation >> (event * self.size)) & self.row

    def product(self, sources: int, targets: int) -> int:
        """All pairs from one set to another."""
        return self._spread(sources) * targets

    def identity_on(self, events: int) -> int:
        return self._spread(events) * self.row & self.identity

    def compose(self, left: int, right: int) -> int:
        size, row, column = self.size, self.row, self.column
        total = 0
        while right:
            targets = right & row
            if targets:
                total |= (left & column) * targets
            left >>= 1
            right >>= size
        return total

    def closure(self, relation: int) -> int:
        """The transitive closure (Warshall, a pivot a step)."""
        size, row, column = self.size, self.row, self.column
        for pivot in range(size):
            targets = (relation >> (pivot * size)) & row
            if targets:
                relation |= ((relation >> pivot) & column) * targets
        return relation

    def relates(self, relation: int, one: int, other: int) -> bool:
        """Whether a pair is in a relation."""
        return bool(relation >> (one * self.size + other) & 1)

    def add_ordered(self, order: int, one: int, other: int) -> int:
        """A transitive relation with one more pair, and all that follows from it."""
        size = self.size
        if order >> (one * size + other) & 1:
            return order
        before = (order >> one) & self.column | 1 << (one * size)
        after = (order >> (other * size)) & self.row | 1 << other
        return order | before * after

    def inverse(self, relation: int) -> int:
        size, row = self.size, self.row
        total = 0
        for index in range(size):
            targets = (relation >> (index * size)) & row
            if targets:
                total |= self._spread(targets) << index
        return total

    def domain(self, relation: int) -> int:
        total = 0
        for index in range(self.size):
            if (relation >> (index * self.size)) & self.row:
                total |= 1 << index
        return total

    def range(self, relation: int) -> int:
        total = 0
        while relation:
            total |= relation & self.row
            relation >>= self.size
        return total

    def acyclic(self, relation: int) -> bool:
        return not self.closure(relation) & self.identity

    def orientations(self, pairs: Sequence[tuple[int, int]], order: int = 0) -> Iterator[int]:
        """All ways to order every pair one way or the other without a cycle, added to an order."""
        if not pairs:
            yield order
            return
        (one, other), *left = pairs
        for pair in (self.pair(one, other), self.pair(other, one)):
            if self.acyclic(order | pair):
                yield from self.orientations(left, order | pair)

    def cycle(self, relation: int) -> list[int]:
        """A shortest cycle of the relation, as events; empty if there is none."""
        best: list[int] = []
        for start in range(self.size):
            path = self._shortest_path(relation, start, start)
            if path and (not best or len(path) < len(best)):
                best = path
        return best

    def _shortest_path(self, relation: int, start: int, goal: int) -> list[int]:
        before: dict[int, int] = {}
        front = [start]
        while front:
            following = []
            for event in front:
                for target in self.members(self.successors(relation, event)):
                    if target == goal:
                        path = [event]
                        while path[-1] != start:
                            path.append(before[path[-1]])
                        return path[::-1]
                    if target not in before and target != start:
                        before[target] = event
                        following.append(target)
            front = following
        return []

    def _spread_bits(self, events: int) -> int:
        """The set as a column: bit i moved to bit i·n."""
        total = 0
        for event in self.members(events):
            total |= 1 << (event * self.size)
        return total


@lru_cache(64)
def algebra(size: int) -> Algebra:
    """The algebra of relations over so many events; there is one for each size."""
    return Algebra(size)
