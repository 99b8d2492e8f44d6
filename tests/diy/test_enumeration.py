"""Cycles: all of them, each once, and those of diy7."""

from __future__ import annotations

from itertools import product

import pytest
from diy_corpus import diy_cycles, smallest_rotation
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudiy.diy.cycle import CycleLimits, fault_of_cycle, may_follow
from gpudiy.diy.edge import Communication, Edge, ProgramOrder
from gpudiy.diy.enumeration import Alphabet, enumerate_words
from gpudiy.diy.vocabulary import fill_open_ends, parse_edges

SOME_EDGES = fill_open_ends(
    parse_edges(
        "Po-d-*gl2-*gl2 Po-s-*gl2-*gl2 Mgl-d-*gl2-*gl2 Rf-*-gl2l2 Fr-c-gl2l2 Fr-w-gl2l2 Co-c-gl2l2 Co-w-gl2l2"
        " Rf-i-gl2l2 Fr-i-gl2l2 Co-i-gl2l2"
    ).edges
)


def edges_of(text: str) -> tuple[Edge, ...]:
    return fill_open_ends(parse_edges(text).edges)


def by_brute_force(edges: tuple[Edge, ...], limits: CycleLimits) -> set[tuple[int, ...]]:
    """Every sequence of edges that is a cycle, as its smallest rotation."""
    found: set[tuple[int, ...]] = set()
    for length in range(1, limits.edges + 1):
        for word in product(range(len(edges)), repeat=length):
            cycle = [edges[rank] for rank in word]
            linked = all(may_follow(cycle[place - 1], edge) for place, edge in enumerate(cycle))
            if linked and fault_of_cycle(cycle, limits) is None:
                found.add(min(word[start:] + word[:start] for start in range(length)))
    return found


@given(
    st.sets(st.sampled_from(SOME_EDGES), min_size=2, max_size=6),
    st.integers(2, 5),
    st.integers(1, 4),
    st.sampled_from([None, 1, 2, 3]),
    st.integers(1, 2),
)
@settings(max_examples=60, deadline=None)
def test_all_cycles_and_none_twice(
    chosen: set[Edge], edges: int, threads: int, locations: int | None, least: int
) -> None:
    alphabet = tuple(sorted(chosen, key=lambda edge: edge.name))
    limits = CycleLimits(edges, threads, locations, least)
    found = list(enumerate_words(Alphabet(alphabet), limits))
    assert len(set(found)) == len(found)
    assert set(found) == by_brute_force(alphabet, limits)


@given(st.permutations(list(range(11))))
@settings(max_examples=10, deadline=None)
def test_the_order_of_the_edges_does_not_matter(order: list[int]) -> None:
    edges = edges_of("Pod** MembarGld** Rfe Fre Coe")
    turned = tuple(edges[place] for place in order)
    names = {
        smallest_rotation([turned[rank].name for rank in word])
        for word in enumerate_words(Alphabet(turned), CycleLimits(6, 4))
    }
    assert names == {
        smallest_rotation([edges[rank].name for rank in word])
        for word in enumerate_words(Alphabet(edges), CycleLimits(6, 4))
    }


def spelling_of_diy7(edge: Edge) -> str:
    if isinstance(edge, Communication):
        return f"{edge.relation}e"
    assert isinstance(edge, ProgramOrder)
    return {"Po": "Pod", "Mgl": "MFenced"}[edge.means.name] + edge.source.direction + edge.target.direction


def test_the_611_cycles_of_diy7() -> None:
    edges = edges_of("Pod** MembarGld** Rfe Fre Coe")
    found = [
        smallest_rotation([spelling_of_diy7(edges[rank]) for rank in word])
        for word in enumerate_words(Alphabet(edges), CycleLimits(8, 4))
    ]
    assert len(found) == len(set(found)) == 611
    assert set(found) == set(diy_cycles())


@pytest.mark.parametrize(
    ("edges", "limits", "count"),
    [
        ("Pod** MembarGld** Rfe Fre Coe", CycleLimits(8, 4), 611),
        ("Pod** MembarGld** MembarCtad** Rfe Fre Coe", CycleLimits(10, 5), 19_035),
        ("Po-d-Wgl2-Rgl2 Fr-c-gl2l2", CycleLimits(), 2),
        ("PodWR Fre", CycleLimits(20, 10), 9),
    ],
)
def test_counts_of_diy7(edges: str, limits: CycleLimits, count: int) -> None:
    assert sum(1 for _ in enumerate_words(Alphabet(edges_of(edges)), limits)) == count


def test_a_wanted_edge_occurs() -> None:
    edges = edges_of("Pod** MembarGld** Rfe Fre Coe")
    fences = frozenset(rank for rank, edge in enumerate(edges) if edge.name.startswith("Mgl"))
    every = list(enumerate_words(Alphabet(edges), CycleLimits()))
    wanted = list(enumerate_words(Alphabet(edges, fences), CycleLimits()))
    assert wanted == [word for word in every if not fences.isdisjoint(word)]
