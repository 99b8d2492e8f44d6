"""Models and machines on generated tests: all those with at most six edges of the smaller families."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import pytest

from gpudiy.diy.families import FAMILIES
from gpudiy.diy.generator import Generator
from gpudiy.litmus import Test, read_test
from gpudiy.models.library import load_model
from gpudiy.models.verdict import Engine, decide
from models.test_operational import agrees

SMALL = ("classic", "dependencies", "rmw", "coherence")
WEAK = '"everything goes"\nempty 0 as nothing\nempty rmw & 0 as atomics\n'


def generated(family: str, start: int = 0, step: int = 1) -> Iterator[Test]:
    for blueprint in islice(Generator(FAMILIES[family].recipe()).blueprints(), start, None, step):
        yield read_test(blueprint.text(), blueprint.name)


@pytest.mark.parametrize("family", SMALL)
def test_machines_agree_on_a_sample(family: str) -> None:
    for test in generated(family, 3, 23):
        agrees(test, engines=(Engine.SEARCH,))


@pytest.mark.heavy
@pytest.mark.parametrize("family", SMALL)
@pytest.mark.parametrize("share", range(2))
def test_machines_agree_on_all(family: str, share: int) -> None:
    for test in generated(family, share, 2):
        agrees(test, engines=(Engine.SEARCH,))


@pytest.mark.heavy
@pytest.mark.parametrize("family", [family for family in FAMILIES if family not in SMALL])
def test_machines_agree_on_many_of_the_large_families(family: str) -> None:
    """They differ from the small ones in scopes, spaces and orders, of which neither machine knows."""
    for test in generated(family, 5, 331):
        agrees(test, engines=(Engine.SEARCH,))


@pytest.mark.parametrize("family", FAMILIES)
def test_conditions_are_forbidden_by_sc(family: str) -> None:
    """Every condition asks for an execution with its cycle, and sequential consistency has none."""
    step = 1 if family in SMALL else 61
    for test in generated(family, 0, step):
        assert not decide(test, load_model("sc")).allowed, test.name


@pytest.mark.parametrize("family", FAMILIES)
def test_conditions_are_reachable_when_all_is_relaxed(family: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Without any check but that values come from somewhere, every condition is met by some execution."""
    file = tmp_path_factory.mktemp("models") / "weak.cat"
    file.write_text(WEAK)
    model = load_model(str(file))
    for test in generated(family, 0, 7 if family in SMALL else 211):
        assert decide(test, model).allowed, test.name
