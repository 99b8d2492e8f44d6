"""Names of edges: what they stand for, and what a wrong one is told."""

from __future__ import annotations

from itertools import islice

import pytest

from gpudiy.diy.edge import is_open
from gpudiy.diy.vocabulary import EdgeError, fill_open_ends, outline, parse_edges, parse_name, vocabulary


def names(text: str) -> list[str]:
    return [edge.name for edge in fill_open_ends(parse_edges(text).edges)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Po-d-Wgl2-Rgl2", ["Po-d-Wgl2-Rgl2"]),
        ("Fr-c-gl2l2", ["Fr-c-gl2l2"]),
        ("Ws-w-gl1l2", ["Co-w-gl1l2"]),
        ("Rf-c-g", ["Rf-c-gl2l2"]),
        ("Ws-w-s", ["Co-w-s.weak.weak"]),
        ("Mgl-d-Rg-Wg", ["Mgl-d-Rgl2-Wgl2"]),
        ("Mcta-d-Rg-Ws", ["Mcta-d-Rgl2-Ws.weak"]),
        ("Rf-k-g.release.gpu.acquire.sys", ["Rf-k-g.release.gpu.acquire.sys"]),
        ("PodWR", ["Po-d-Wgl2-Rgl2"]),
        ("PosRR,Rfe", ["Po-s-Rgl2-Rgl2", "Rf-c-gl2l2"]),
        ("Wse Coe", ["Co-c-gl2l2"]),
        ("Fri", ["Fr-i-gl2l2"]),
        ("MembarGldWW", ["Mgl-d-Wgl2-Wgl2"]),
        ("MembarSysdRR", ["Msys-d-Rgl2-Rgl2"]),
        ("FenceScGpudWR", ["Fence.sc.gpu-d-Wgl2-Rgl2"]),
        ("FenceAcqRelClustersRR", ["Fence.acq_rel.cluster-s-Rgl2-Rgl2"]),
        ("DpAddrdR", ["DpAddr-d-Rgl2-Rgl2"]),
        ("DpDatadW", ["DpData-d-Rgl2-Wgl2"]),
        ("CtrlMembarGldW", ["Ctrl+Mgl-d-Rgl2-Wgl2"]),
        ("DpCtrlFenceScSysdRW", ["Ctrl+Fence.sc.sys-d-Rgl2-Wgl2"]),
        ("BardWW", ["Bar-d-Wgl2-Wgl2"]),
        ("RmwExch", ["Rmw.exch-s-Rg.atom-Wg.atom"]),
        ("Rmw.cas-s-Rg.atom_acquire.cta-Wg", ["Rmw.cas-s-Rg.atom_acquire.cta-Wg.atom_acquire.cta"]),
    ],
)
def test_a_name_stands_for(text: str, expected: list[str]) -> None:
    assert names(text) == expected


@pytest.mark.parametrize(
    ("text", "count"),
    [("Pod**", 4), ("Po***", 8), ("Membar*d**", 12), ("DpCtrld*", 2), ("Rmw", 3), ("Rf-*", 6), ("Po-d-*gl2-*gl2", 4)],
)
def test_wildcards(text: str, count: int) -> None:
    assert len(names(text)) == count


def test_an_open_end_takes_the_accesses_that_other_names_spell_out() -> None:
    assert names("Po-d-Wgl1-Rg.acquire.gpu Fre Rfe") == [
        "Po-d-Wgl1-Rg.acquire.gpu",
        "Fr-c-g.acquire.gpul1",
        "Rf-c-gl1.acquire.gpu",
    ]


def test_halves_of_atomics_join_in_where_an_atomic_is() -> None:
    assert names("Rfe RmwCas") == [
        "Rf-c-gl2l2",
        "Rf-c-gl2.atom",
        "Rf-c-g.atoml2",
        "Rf-c-g.atom.atom",
        "Rmw.cas-s-Rg.atom-Wg.atom",
    ]


def test_every_name_of_the_vocabulary_reads_as_its_edge() -> None:
    for edge in islice(vocabulary(), 0, None, 211):
        assert parse_name(edge.name).edges == (edge,)
        assert not is_open(edge)


def test_no_name_stands_for_two_edges() -> None:
    seen = [edge.name for edge in vocabulary()]
    assert len(set(seen)) == len(seen)
    assert {"Po-d-Wgl2-Rgl2", "Fr-c-gl2l2", "Rf-l-gl2l2", "Co-t-s.weak.weak"} <= set(seen)


def test_every_name_of_the_outline_reads() -> None:
    for name, shorthand, meaning in outline():
        edges = parse_name(name).edges
        assert len(edges) == 1 and edges[0].meaning == meaning
        assert not shorthand or parse_name(shorthand).edges == edges


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "Rfe, Pod-x Fre",
            "--safe:1:6: error: unknown edge 'Pod-x'\n  Rfe, Pod-x Fre\n       ^\n  did you mean 'Po-d-W-W'?",
        ),
        ("Po-d-Wg12-Rgl2", "--safe:1:1: error: unknown edge 'Po-d-Wg12-Rgl2'\n  Po-d-Wg12-Rgl2\n  ^\n  did you mean"),
        ("podwr", "--safe:1:1: error: unknown edge 'podwr'\n  podwr\n  ^\n  did you mean 'PodWR'?"),
        ("Rfe\nPodWX", "--safe:2:1: error: unknown edge 'PodWX'\n  PodWX\n  ^\n  did you mean 'PodW"),
        ("Rf-c-s", "--safe:1:1: error: there is no edge 'Rf-c-s': shared space cannot be reached from another CTA"),
        ("DpDatadR", "--safe:1:1: error: there is no edge 'DpDatadR': data cannot join R to R"),
        ("Po-s-Wg-Rs", "--safe:1:1: error: there is no edge 'Po-s-Wg-Rs': a location has one space"),
        ("Rmw.add-d-R-W", "--safe:1:1: error: there is no edge 'Rmw.add-d-R-W': an atomic accesses one location"),
        ("Rmw.add-s-Rgl2-W", "there is no edge 'Rmw.add-s-Rgl2-W': both halves of an atomic must have the same mark"),
        ("DpAddrdWR", "unknown edge 'DpAddrdWR'"),
    ],
)
def test_a_wrong_name_is_told_why(text: str, message: str) -> None:
    with pytest.raises(EdgeError) as raised:
        parse_edges(text, "--safe")
    assert message in str(raised.value)
