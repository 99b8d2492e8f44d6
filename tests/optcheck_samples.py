"""Samples of families of tests, always the same ones, as code for an architecture."""

from __future__ import annotations

from functools import cache
from random import Random

from gpudiy.diy.families import FAMILIES
from gpudiy.diy.generator import Generator
from gpudiy.harness.module import PtxTest
from gpudiy.litmus import Test


@cache
def draw_tests(family: str, count: int) -> tuple[Test, ...]:
    """At most so many tests of a family."""
    blueprints = list(Generator(FAMILIES[family].recipe()).blueprints())
    return tuple(blueprint.test() for blueprint in Random(15).sample(blueprints, min(count, len(blueprints))))


def draw_codes(family: str, architecture: str, count: int) -> list[PtxTest]:
    """At most so many tests of a family; each function once."""
    codes = (PtxTest.of(test, architecture) for test in draw_tests(family, count))
    return list({code.function: code for code in codes}.values())
