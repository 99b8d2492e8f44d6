"""Blueprints print and hash themselves as the tests they build."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudiy.diy.blueprint import Blueprint
from gpudiy.diy.cycle import CycleLimits
from gpudiy.diy.families import FAMILIES
from gpudiy.diy.generator import Generator, Recipe, Trees, blueprint_of_cycle
from gpudiy.diy.one_cycle import parse_cycle
from gpudiy.diy.vocabulary import fill_open_ends, parse_edges
from gpudiy.litmus.content import content_hash
from gpudiy.litmus.printer import print_test
from gpudiy.litmus.reader import read_test
from gpudiy.litmus.shape import shape_hash

FIGURE_A1 = """\
GPU_PTX SB

0:.reg .s32 r0;
0:.reg .s32 r2;
0:.reg .b64 r1 = x;
0:.reg .b64 r3 = y;
1:.reg .s32 r0;
1:.reg .s32 r2;
1:.reg .b64 r1 = y;
1:.reg .b64 r3 = x;

P0                : P1
mov.s32 r0,1      : mov.s32 r0,1
st.cg.s32 [r1],r0 : st.cg.s32 [r1],r0
ld.cg.s32 r2,[r3] : ld.cg.s32 r2,[r3]

(device (kernel (cta (warp P0)) (cta (warp P1))))

x: global, y: global

0:r2=0 /\\ 1:r2=0
"""


MIXED_EDGES = [
    *("Po-d-*gl1-*g.volatile", "Fence.sc.cluster-d-*g-*g", "Fence.acq_rel.sys-s-*g-*g", "DpAddr-*-Rg-*g"),
    *("DpData-*-Rg-Wg", "Ctrl+Msys-d-Rg-*g", "Bar-d-*g-*g", "Rmw", "Po-*-*s-*g", "Pos**", "Pod**", "Rfi"),
    *("Rf-w-s", "Fr-w-s", "Co-w-s", "Rf-*-g", "Fr-*-g", "Co-*-g"),
]
DEFAULT_LIMITS = CycleLimits()


def recipe(edges: str, limits: CycleLimits = DEFAULT_LIMITS, trees: Trees = Trees.ALL) -> Recipe:
    return Recipe(fill_open_ends(parse_edges(edges).edges), limits=limits, trees=trees)


def check(blueprint: Blueprint) -> None:
    test = blueprint.test()
    text = blueprint.text()
    assert text == print_test(test)
    assert blueprint.content_hash() == content_hash(test)
    assert read_test(text) == test


def test_the_example_of_the_thesis() -> None:
    first, second = Generator(recipe("Po-d-Wgl2-Rgl2 Fr-c-gl2l2")).blueprints()
    cycle = '"Po-d-Wgl2-Rgl2 Fr-c-gl2l2 Po-d-Wgl2-Rgl2 Fr-c-gl2l2"\n'
    assert first.text().replace(cycle, "") == FIGURE_A1
    assert second.name == "3.SB"
    assert len(second.test().threads) == 3


@pytest.mark.parametrize("name", FAMILIES)
def test_families_print_and_hash_as_their_tests(name: str) -> None:
    stride = {"thesis": 397, "scoped": 311, "modern": 83, "rmw": 7, "dependencies": 5}.get(name, 1)
    for blueprint in islice(Generator(FAMILIES[name].recipe()).blueprints(), 0, None, stride):
        check(blueprint)


@given(st.sets(st.sampled_from(MIXED_EDGES), min_size=3, max_size=6))
@settings(max_examples=25, deadline=None)
def test_any_edges(names: set[str]) -> None:
    generator = Generator(recipe(" ".join(sorted(names)), CycleLimits(5, 3, least_threads=1)))
    for blueprint in islice(generator.blueprints(), 0, 3000, 97):
        check(blueprint)


def test_shared_variables_stay_in_one_cta() -> None:
    """A variable is shared only when all its accesses are, and they are in one CTA."""
    edges = "Po-d-*s-*g Po-d-*g-*s Po-d-*s-*s Po-d-*g-*g Rf-*-g Fr-*-g Co-*-g Rf-w-s Fr-w-s Co-w-s Rf-t-s Fr-t-s Co-t-s"
    found = list(islice(Generator(recipe(edges, CycleLimits(6, 3))).blueprints(), 0, None, 41))
    assert any("s" in blueprint.spaces for blueprint in found)
    for blueprint in found:
        blueprint.test()  # building it checks every rule of memory maps


def test_dependencies_are_masks_and_never_xor() -> None:
    for cycle in ("DpAddrdR Fre PodWW Rfe", "DpDatadW Rfe DpDatadW Rfe", "DpCtrldW Rfe DpAddrdW Rfe"):
        text = blueprint_of_cycle(parse_cycle(cycle)).text()
        assert "0x80000000" in text
        assert "xor" not in text


def test_registers_are_declared_for_every_access_and_temporary() -> None:
    text = blueprint_of_cycle(parse_cycle("DpAddrdR Fre PodWW Rfe")).text()
    assert (
        "1:.reg .s32 r0;\n1:.reg .s32 r2;\n1:.reg .b32 r4;\n1:.reg .b64 r5;\n1:.reg .b64 r1 = y;\n1:.reg .b64 r3 = x;"
        in text
    )


def test_barriers_meet_in_every_cta() -> None:
    generator = Generator(recipe("Bar-d-*g-*g Po-d-*g-*g Rf-w-g Fr-w-g Co-w-g Rf-c-g Fr-c-g Co-c-g", CycleLimits(6, 3)))
    for blueprint in generator.blueprints():
        test = blueprint.test()
        for one, other in ((0, 1), (0, 2), (1, 2)):
            if (
                other < len(test.threads)
                and test.scope_tree.placements[one].cta == test.scope_tree.placements[other].cta
            ):
                barriers = [sum(line.startswith("bar") for line in t.code.lines) for t in blueprint.threads]
                assert barriers[one] == barriers[other]


def shapes_of(generator: Generator) -> tuple[list[str], list[str]]:
    found = [(blueprint.name, shape_hash(blueprint.test())) for blueprint in generator.blueprints()]
    return [name for name, _ in found], [shape for _, shape in found]


@pytest.mark.parametrize(
    "source",
    [
        *("classic", "dependencies", "rmw", "coherence"),
        *(pytest.param(name, marks=pytest.mark.heavy) for name in ("thesis", "scoped", "modern")),
    ],
)
def test_no_two_tests_of_a_family_are_alike(source: str) -> None:
    names, shapes = shapes_of(Generator(FAMILIES[source].recipe()))
    assert len(set(names)) == len(names)
    assert len(set(shapes)) == len(shapes)


@pytest.mark.parametrize(
    ("edges", "limits"),
    [
        ("Po-d-*g-*g Rf-* Fr-* Co-*", CycleLimits(4, 4)),
        ("PodWR Fr-c-g Fr-w-g", CycleLimits(8, 4)),
        ("Po*** Rfi Fri Coi Rfe Fre Coe", CycleLimits(6, 3)),
        ("Pos** Rmw Rfi Fri Coi Rfe Fre Coe", CycleLimits(5, 3, least_threads=1)),
        ("Po-*-*g-*s Po-*-*s-*g Po-*-*s-*s Rf-w-s Fr-w-s Co-w-s Rf-w-g Fr-c-g Rf-c-g", CycleLimits(5, 3)),
    ],
)
def test_no_two_tests_of_a_set_of_edges_are_alike(edges: str, limits: CycleLimits) -> None:
    names, shapes = shapes_of(Generator(recipe(edges, limits)))
    assert names
    assert len(set(names)) == len(names)
    assert len(set(shapes)) == len(shapes)


def test_counting_agrees_with_making() -> None:
    for name in ("classic", "coherence", "dependencies"):
        made = sum(1 for _ in Generator(FAMILIES[name].recipe()).blueprints())
        assert Generator(FAMILIES[name].recipe()).count() == made


def test_the_documented_counts() -> None:
    documentation = Path(__file__).resolve().parents[2] / "docs" / "generate.md"
    rows = [
        line.split("|") for line in documentation.read_text(encoding="utf-8").splitlines() if line.startswith("| `")
    ]
    counts = {row[1].strip(" `"): row[3].strip().replace(",", "") for row in rows if row[1].strip(" `") in FAMILIES}
    assert counts.keys() == FAMILIES.keys()
    for name, family in FAMILIES.items():
        assert int(counts[name]) == Generator(family.recipe()).count(), name
