"""What an execution chooses: orders of the writes of a location, and directions for pairs that must be ordered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import permutations, product

from gpudiy.models.algebra import Algebra, algebra

KEPT = 5_000  # orders; more are made anew each time they are looked at
PAUSE = 1_024  # candidates between two looks at the clock
PARTIAL_ORDERS = (1, 1, 3, 19, 219, 4_231, 130_023, 6_129_859)  # strict ones, of so many writes


class Orientations:
    """All ways to order every pair of a relation one way or the other, without cycles; made when first looked at."""

    def __init__(self, pairs: int, a: Algebra) -> None:
        both = pairs & ~a.identity
        self.algebra = a
        self.edges = [(one, other) for one, other in a.pairs(both | a.inverse(both)) if one < other]
        self._kept: list[int] | None = None

    @property
    def number(self) -> int:
        """How many there are at the most: each pair two ways, or each order of the events."""
        events = {event for edge in self.edges for event in edge}
        return min(1 << len(self.edges), number_of_orders(len(events), partial=False))

    def orders(self, tick: Callable[[], None]) -> list[int]:
        if self._kept is None:
            self._kept = list(self._generate(0, 0, tick))
        return self._kept

    def _generate(self, place: int, order: int, tick: Callable[[], None]) -> Iterator[int]:
        """Pair by pair; what already is a cycle is not gone on with."""
        tick()
        if place == len(self.edges):
            yield order
            return
        one, other = self.edges[place]
        for pair in (self.algebra.pair(one, other), self.algebra.pair(other, one)):
            if self.algebra.acyclic(order | pair):
                yield from self._generate(place + 1, order | pair, tick)


@lru_cache(1 << 12)
def coherence_orders(writes: tuple[tuple[int, ...], ...], size: int, partial: bool) -> CoherenceOrders:
    """The coherence orders of these writes; asked again, the same object."""
    return CoherenceOrders(writes, size, partial)


class CoherenceOrders:
    """All coherence orders of the writes of some locations; their number is known before they are made."""

    def __init__(self, writes: tuple[tuple[int, ...], ...], size: int, partial: bool) -> None:
        self.writes = writes
        self.size = size
        self.partial = partial
        self.number = 1
        for location in writes:
            self.number *= number_of_orders(len(location) - 1, partial)
        self._kept: list[int] | None = None

    def orders(self, tick: Callable[[], None]) -> Iterator[int]:
        """One after the other; `tick` is called now and then, and may raise."""
        if self.number > KEPT:
            return self._generate(tick)
        if self._kept is None:
            self._kept = list(self._generate(tick))
        return iter(self._kept)

    def _generate(self, tick: Callable[[], None], first: int = 0) -> Iterator[int]:
        if first == len(self.writes):
            yield 0
            return
        for order in _location_orders(self.writes[first], self.size, self.partial, tick):
            for others in self._generate(tick, first + 1):
                yield order | others


def number_of_orders(count: int, partial: bool) -> int:
    """Permutations, or strict partial orders, of so many writes."""
    if partial:
        return PARTIAL_ORDERS[count] if count < len(PARTIAL_ORDERS) else 10**9
    total = 1
    for factor in range(2, count + 1):
        total *= factor
    return total


def _location_orders(writes: tuple[int, ...], size: int, partial: bool, tick: Callable[[], None]) -> Iterator[int]:
    """All strict orders of the writes of a location in which the first, the initial one, comes first."""
    initial, *others = writes
    first = algebra(size).relation((initial, write) for write in others)
    made = _partial_orders(others, size, tick) if partial else _total_orders(others, size, tick)
    return (first | order for order in made)


def _total_orders(writes: list[int], size: int, tick: Callable[[], None]) -> Iterator[int]:
    a = algebra(size)
    for number, permutation in enumerate(permutations(writes)):
        if number % PAUSE == 0:
            tick()
        yield a.relation((one, other) for index, one in enumerate(permutation) for other in permutation[index + 1 :])


def _partial_orders(writes: list[int], size: int, tick: Callable[[], None]) -> Iterator[int]:
    a = algebra(size)
    edges = [(one, other) for index, one in enumerate(writes) for other in writes[index + 1 :]]
    for number, ways in enumerate(product((0, 1, 2), repeat=len(edges))):
        if number % PAUSE == 0:
            tick()
        order = a.relation(edge[::-1] if way == 2 else edge for way, edge in zip(ways, edges, strict=True) if way)
        if a.closure(order) == order:
            yield order
