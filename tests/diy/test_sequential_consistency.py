"""Every condition is out of reach of SC and within reach once the relaxations of its cycle are granted."""

from __future__ import annotations

import random

import pytest
from diy_brute_force import shown_by_free_accesses, shown_by_sc

from gpudiy.diy.blueprint import Blueprint
from gpudiy.diy.cycle import CycleLimits
from gpudiy.diy.families import FAMILIES
from gpudiy.diy.generator import Generator, Recipe, Trees, blueprint_of_cycle
from gpudiy.diy.one_cycle import parse_cycle
from gpudiy.diy.vocabulary import fill_open_ends, parse_edges
from gpudiy.litmus.reader import read_test

SAMPLE = 60


def check(blueprint: Blueprint) -> None:
    test = blueprint.test()
    threads = sum(edge[:2] in ("Rf", "Fr", "Co") and edge[3] != "i" for edge in blueprint.edges) or 1
    assert not shown_by_sc(test), f"{blueprint.name}: SC shows this\n{blueprint.text()}"
    assert shown_by_free_accesses(test, threads), f"{blueprint.name}: nothing shows this\n{blueprint.text()}"


def sampled(generator: Generator, count: int, seed: int) -> list[Blueprint]:
    """Tests of a sample of the cycles, every cycle equally likely."""
    chance = random.Random(seed)
    kept: list[tuple[int, ...]] = []
    for number, word in enumerate(generator.words()):
        if number < count:
            kept.append(word)
        elif (place := chance.randrange(number + 1)) < count:
            kept[place] = word
    found = [list(generator.blueprints_of_word(word)) for word in kept]
    return [chance.choice(blueprints) for blueprints in found if blueprints]


@pytest.mark.parametrize("name", FAMILIES)
def test_a_sample_of_every_family(name: str) -> None:
    for blueprint in sampled(Generator(FAMILIES[name].recipe()), SAMPLE, seed=7):
        check(blueprint)


@pytest.mark.parametrize(
    ("edges", "limits"),
    [
        ("Po*** Rfi Fri Coi Rfe Fre Coe", CycleLimits(6, 3)),
        ("Pos** Rmw Rfi Fri Coi Rfe Fre Coe", CycleLimits(5, 3, least_threads=1)),
        ("Po*** RmwCas RmwAdd Rfe Fre Coe", CycleLimits(6, 3)),
        ("Bard** Bars** Pod** Rfe Fre Coe", CycleLimits(6, 3)),
        ("DpAddr** DpDatasW DpCtrl** Ctrl*d* Pod** Rfe Fre Coe Rfi", CycleLimits(6, 3)),
        ("Pos** Rfe Fre Coe", CycleLimits(8, 4)),
    ],
)
def test_edges_that_no_family_mixes(edges: str, limits: CycleLimits) -> None:
    recipe = Recipe(fill_open_ends(parse_edges(edges).edges), limits=limits, trees=Trees.ONE)
    for blueprint in sampled(Generator(recipe), 3 * SAMPLE, seed=11):
        check(blueprint)


@pytest.mark.parametrize(
    "cycle",
    [
        "Coe PosWR Fre",
        "Coe PosWW Coe PodWR Fre PodWW",
        "Coe PosWW Coe PosWW Coe PodWW Coe PodWW",
        "Rfe PosRW Coe PosWR Fre PodWW Rfe PodRW Coe",
        "Coe Coe PodWR Fre PodWW",
        "Rfe Fre PodWW Rfe PodRW Coe",
        "PodWR RmwExch Rfe RmwCas PodWR Fre",
    ],
)
def test_cycles_written_by_hand(cycle: str) -> None:
    check(blueprint_of_cycle(parse_cycle(cycle)))


def test_an_observer_stands_only_where_neither_a_read_nor_the_last_value_tells_the_order() -> None:
    two_writes = blueprint_of_cycle(parse_cycle("Coe PodWR Fre PodWW"))
    three_writes = blueprint_of_cycle(parse_cycle("Coe PosWW Coe PodWR Fre PodWW"))
    assert len(two_writes.test().threads) == 2
    assert len(three_writes.test().threads) == 4
    assert "ld.volatile" in three_writes.text()


def test_the_checks_can_fail() -> None:
    """The brute force itself: MP is out of reach of SC, its everyday outcome is not, and 1 without a store never is."""
    text = blueprint_of_cycle(parse_cycle("PodWW Rfe PodRR Fre")).text()
    everyday = read_test(text.replace("1:r2=0", "1:r2=1"))
    impossible = read_test(text.replace("1:r2=0", "1:r2=3"))
    assert shown_by_sc(everyday)
    assert not shown_by_free_accesses(impossible, 2)
