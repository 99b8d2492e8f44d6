"""The smallest tests of families, each shape once: what two models are compared on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gpudiy.diy.families import find_family
from gpudiy.diy.generator import Generator
from gpudiy.litmus.shape import shape_hash
from gpudiy.litmus.test import Test


def smallest_tests(families: Sequence[str], edges: int) -> Iterator[Test]:
    """The tests of the families with at most so many edges, those with few edges first; each shape once.

    An unknown family raises `InputError`, before the first test.
    """
    recipes = [find_family(name).recipe() for name in families]
    return _each_shape_once(
        blueprint.test()
        for size in range(2, edges + 1)
        for recipe in recipes
        for blueprint in Generator(
            replace(recipe, limits=replace(recipe.limits, edges=min(size, recipe.limits.edges)))
        ).blueprints()
        if len(blueprint.edges) == size
    )


def _each_shape_once(tests: Iterator[Test]) -> Iterator[Test]:
    seen: set[str] = set()
    for test in tests:
        shape = shape_hash(test)
        if shape not in seen:
            seen.add(shape)
            yield test
