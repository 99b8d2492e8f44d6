"""Laws of relations, and that relations as integers keep them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudiy.models.algebra import algebra
from models.relations import Pairs, closed, composed, has_cycle

SIZES = st.integers(1, 9)


@st.composite
def relations(draw: st.DrawFn, count: int) -> tuple[int, list[Pairs]]:
    size = draw(SIZES)
    event = st.integers(0, size - 1)
    return size, [draw(st.frozensets(st.tuples(event, event))) for _ in range(count)]


@given(relations(1))
def test_pairs_and_back(drawn: tuple[int, list[Pairs]]) -> None:
    size, (one,) = drawn
    a = algebra(size)
    assert frozenset(a.pairs(a.relation(one))) == one
    assert a.relation(one) == sum(a.pair(source, target) for source, target in one)
    for event in range(size):
        assert set(a.members(a.successors(a.relation(one), event))) == {t for s, t in one if s == event}


@given(relations(3))
def test_composition(drawn: tuple[int, list[Pairs]]) -> None:
    size, pairs = drawn
    a = algebra(size)
    one, two, three = map(a.relation, pairs)
    assert frozenset(a.pairs(a.compose(one, two))) == composed(pairs[0], pairs[1])
    assert a.compose(a.compose(one, two), three) == a.compose(one, a.compose(two, three))
    assert a.compose(one, a.identity) == one == a.compose(a.identity, one)
    assert a.compose(one | two, three) == a.compose(one, three) | a.compose(two, three)
    assert a.inverse(a.compose(one, two)) == a.compose(a.inverse(two), a.inverse(one))


@given(relations(1))
def test_closure(drawn: tuple[int, list[Pairs]]) -> None:
    size, (pairs,) = drawn
    a = algebra(size)
    one = a.closure(a.relation(pairs))
    assert frozenset(a.pairs(one)) == closed(pairs)
    assert a.closure(one) == one
    assert a.compose(one, one) & ~one == 0


@given(relations(1))
def test_inverse(drawn: tuple[int, list[Pairs]]) -> None:
    size, (pairs,) = drawn
    a = algebra(size)
    one = a.relation(pairs)
    assert frozenset(a.pairs(a.inverse(one))) == {(target, source) for source, target in pairs}
    assert a.inverse(a.inverse(one)) == one
    assert a.domain(one) == a.range(a.inverse(one))
    assert set(a.members(a.domain(one))) == {source for source, _ in pairs}


@given(relations(1))
def test_cycles(drawn: tuple[int, list[Pairs]]) -> None:
    size, (pairs,) = drawn
    a = algebra(size)
    one = a.relation(pairs)
    assert a.acyclic(one) != has_cycle(pairs)
    cycle = a.cycle(one)
    assert bool(cycle) == has_cycle(pairs)
    assert len(set(cycle)) == len(cycle)
    for source, target in zip(cycle, cycle[1:] + cycle[:1], strict=True):
        assert (source, target) in pairs
    if cycle:
        assert not any(has_power_loop(pairs, length) for length in range(1, len(cycle))), "there is a shorter cycle"


def has_power_loop(pairs: Pairs, length: int) -> bool:
    power = pairs
    for _ in range(length - 1):
        power = composed(power, pairs)
    return any(source == target for source, target in power)


@given(SIZES, st.data())
def test_sets(size: int, data: st.DataObject) -> None:
    a = algebra(size)
    one, two = (data.draw(st.frozensets(st.integers(0, size - 1))) for _ in range(2))
    left, right = (sum(1 << event for event in events) for events in (one, two))
    assert frozenset(a.pairs(a.product(left, right))) == {(source, target) for source in one for target in two}
    assert frozenset(a.pairs(a.identity_on(left))) == {(event, event) for event in one}
    assert frozenset(a.members(left)) == one


@pytest.mark.parametrize(("count", "orders"), [(0, 1), (1, 1), (2, 2), (3, 6), (4, 24)])
def test_orientations_of_all_pairs_are_the_total_orders(count: int, orders: int) -> None:
    a = algebra(max(count, 1))
    found = list(a.orientations([(one, other) for other in range(count) for one in range(other)]))
    assert len(set(found)) == len(found) == orders
    assert all(a.acyclic(order) and order | a.inverse(order) | a.identity == a.everything for order in found if count)


@given(relations(1))
def test_orientations_relate_every_pair_one_way(drawn: tuple[int, list[Pairs]]) -> None:
    size, (pairs,) = drawn
    a = algebra(size)
    some = sorted({(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]})[:6]
    for order in a.orientations(some):
        assert order | a.inverse(order) == a.relation(some) | a.inverse(a.relation(some))
        assert order & a.inverse(order) == 0
        assert a.acyclic(order)


@given(relations(1), st.data())
def test_an_order_with_one_more_pair_is_closed(drawn: tuple[int, list[Pairs]], data: st.DataObject) -> None:
    size, (pairs,) = drawn
    a = algebra(size)
    order = a.closure(a.relation(pairs))
    one, other = (data.draw(st.integers(0, size - 1)) for _ in range(2))
    longer = a.add_ordered(order, one, other)
    assert a.relates(longer, one, other)
    assert longer == a.closure(order | a.pair(one, other))
