"""What an execution chooses: orders of the writes of a location, and directions for pairs that must be ordered."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import permutations, product

from gpudiy.models.algebra import Algebra, algebra


def orientations(pairs: int, a: Algebra) -> list[int]:
    """All ways to order every pair one way or the other, without cycles."""
    both = pairs & ~a.identity
    edges = [(one, other) for one, other in a.pairs(both | a.inverse(both)) if one < other]
    ways = []
    for flips in product((False, True), repeat=len(edges)):
        order = a.relation(edge[::-1] if flip else edge for flip, edge in zip(flips, edges, strict=True))
        if a.acyclic(order):
            ways.append(order)
    return ways


@lru_cache(1 << 12)
def coherence_orders(writes: tuple[tuple[int, ...], ...], size: int, partial: bool) -> CoherenceOrders:
    return CoherenceOrders(writes, size, partial)


class CoherenceOrders:
    """All coherence orders of the writes of some locations, made when first looked at; their number is known before."""

    def __init__(self, writes: tuple[tuple[int, ...], ...], size: int, partial: bool) -> None:
        self.writes = writes
        self.size = size
        self.partial = partial
        self._orders: list[int] | None = None

    def __len__(self) -> int:
        total = 1
        for location in self.writes:
            total *= number_of_orders(len(location) - 1, self.partial)
        return total

    def __iter__(self) -> Iterator[int]:
        if self._orders is None:
            per_location = [_location_orders(writes, self.size, self.partial) for writes in self.writes]
            self._orders = [_joined(chosen) for chosen in product(*per_location)]
        return iter(self._orders)


def number_of_orders(count: int, partial: bool) -> int:
    """Permutations, or strict partial orders, of so many writes."""
    if partial:
        known = (1, 1, 3, 19, 219, 4231, 130_023)
        return known[count] if count < len(known) else 10**9
    total = 1
    for factor in range(2, count + 1):
        total *= factor
    return total


def _joined(relations: tuple[int, ...]) -> int:
    total = 0
    for relation in relations:
        total |= relation
    return total


@lru_cache(1 << 12)
def _location_orders(writes: tuple[int, ...], size: int, partial: bool) -> tuple[int, ...]:
    """All strict orders of the writes of a location in which the first, the initial one, comes first."""
    initial, *others = writes
    first = _joined(tuple(1 << (initial * size + write) for write in others))
    if partial:
        return tuple(first | order for order in _partial_orders(tuple(others), size))
    return tuple(
        first
        | _joined(
            tuple(
                1 << (one * size + other) for index, one in enumerate(permutation) for other in permutation[index + 1 :]
            )
        )
        for permutation in permutations(others)
    )


def _partial_orders(writes: tuple[int, ...], size: int) -> list[int]:
    """All strict partial orders, those with few pairs first."""
    a = algebra(size)
    edges = [(one, other) for index, one in enumerate(writes) for other in writes[index + 1 :]]
    found = []
    for ways in product((0, 1, 2), repeat=len(edges)):
        order = a.relation(edge[::-1] if way == 2 else edge for way, edge in zip(ways, edges, strict=True) if way)
        if a.closure(order) == order:
            found.append(order)
    return sorted(found, key=lambda order: (order.bit_count(), order))
