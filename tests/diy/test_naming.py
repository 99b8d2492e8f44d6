"""Names of tests: classic, and as the literature writes them."""

from __future__ import annotations

import pytest
from diy_corpus import diy_cycles, smallest_rotation

from gpudiy.diy.cycle import CycleLimits
from gpudiy.diy.generator import Generator, Recipe, Trees, blueprint_of_cycle
from gpudiy.diy.naming import base_name
from gpudiy.diy.one_cycle import parse_cycle
from gpudiy.diy.vocabulary import fill_open_ends, parse_edges


@pytest.mark.parametrize(
    ("cycle", "name"),
    [
        ("PodWR Fre PodWR Fre", "SB"),
        ("Rfe PodRR Fre PodWW", "MP"),
        ("MembarGldWR Fre PodWR Fre", "SB+membar.gl+po"),
        ("PodWR Fre MembarGldWR Fre", "SB+membar.gl+po"),
        ("MembarGldWW Rfe MembarGldRR Fre", "MP+membar.gls"),
        ("MembarSysdWW Rfe MembarSysdRR Fre", "MP+membar.sys+membar.sys"),
        ("MembarGldWW Rfe DpAddrdR Fre", "MP+membar.gl+addr"),
        ("DpDatadW Rfe PodRW Rfe", "LB+data+po"),
        ("DpCtrldW Rfe CtrlMembarGldW Rfe", "LB+ctrl+ctrlmembar.gl"),
        ("Rfe PodRW Rfe PodRR Fre", "WRC"),
        ("Rfe PosRR Fre", "CoRR"),
        ("Rfe MembarGlsRR Fre", "CoRR+membar.gl.same"),
        ("PosWW Coi", "CoWW"),
        ("Rfe PosRW Coe", "CoRW"),
        ("Coe PosWR Fre", "CoWR"),
        ("Rfi PodRR Fre Rfi PodRR Fre", "SB+rfi-pos"),
        ("PodWR RmwExch Rfe RmwCas PodWR Fre", "MP+po-rmw.exch+rmw.cas-po"),
        ("Rf-c-g.release.gpu.acquire.gpu PodRR Fr-c PodWW", "MP+po-release.gpu+acquire.gpu-po"),
        (
            "Rf-c-gl2l2 Mcta-d-Rgl2-Wgl2 Ws-w-gl2l2 Rf-w-gl2l2 Mgl-d-Rgl2-Wgl2 Ws-c-gl2l2",
            "IRWIW+membar.cta+membar.gl-p0::p1:p2:p3",
        ),
        (
            "Rf-w-s Mgl-d-Rs-Rg Fr-c-g Rf-c-g Mcta-d-Rg-Ws Ws-w-s",
            "IRRWIW+membar.gl+membar.cta-p0:p1:p3::p2-xsyg",
        ),
        ("PodWR Fr-t PodWR Fr-t", "SB-p0p1"),
        ("PodWR Fr-l PodWR Fr-l", "SB-p0:l:p1"),
        ("PodWR Fr-k PodWR Fr-k", "SB-p0:::p1"),
        ("PodWR Fr-d PodWR Fr-d", "SB-p0::::p1"),
    ],
)
def test_name(cycle: str, name: str) -> None:
    assert blueprint_of_cycle(parse_cycle(cycle)).name == name


def test_any_rotation_makes_the_same_test() -> None:
    words = ["Rfe", "MembarGldRW", "Coe", "PodWR", "Fre", "PodWW"]
    texts = {
        blueprint_of_cycle(parse_cycle(" ".join(words[start:] + words[:start]))).text() for start in range(len(words))
    }
    assert len(texts) == 1


@pytest.mark.parametrize(("threads", "name"), [(2, "2+2W"), (3, "3.2W"), (5, "5.2W")])
def test_rounds(threads: int, name: str) -> None:
    assert base_name(["WW"] * threads) == name


def test_the_names_of_diy7() -> None:
    given = diy_cycles()
    edges = fill_open_ends(parse_edges("Pod** MembarGld** Rfe Fre Coe").edges)
    generator = Generator(Recipe(edges, limits=CycleLimits(8, 4), trees=Trees.ONE))
    for blueprint in generator.blueprints():
        spelling = [
            f"{name[:2]}e"
            if name[:2] in ("Rf", "Fr", "Co")
            else f"{_ORDERS[name[:2]]}{name.split('-')[2][0]}{name.split('-')[3][0]}"
            for name in blueprint.edges
        ]
        suffix = blueprint.name.removeprefix(given[smallest_rotation(spelling)])
        assert suffix in ("", "+membar.gls") or set(suffix.split("+")[1:]) <= {"po", "membar.gl"}


_ORDERS = {"Po": "Pod", "Mg": "MFenced"}
