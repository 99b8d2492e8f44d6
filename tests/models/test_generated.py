"""Models and machines on generated tests: all those with at most six edges of the smaller families."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

import pytest

from gpudiy.diy.families import FAMILIES
from gpudiy.diy.generator import Generator
from gpudiy.litmus import Test, read_test
from gpudiy.models.exploration import Engine
from gpudiy.models.library import load_model
from gpudiy.models.verdict import decide
from models.test_operational import agrees

FENCE = re.compile(r"(?:membar|fence)\.\S+")
ACCESS = re.compile(r"\b(ld|st)\.\S*s32")
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


def programs(family: str) -> list[Test]:
    """The tests of a family, each program once, whatever its scopes, spaces, orders and kinds of fences."""
    found: dict[tuple[str, ...], str] = {}
    for blueprint in Generator(FAMILIES[family].recipe()).blueprints():
        text = blueprint.text()
        _, declarations, rows, *_, condition = text.split("\n\n")
        rows = ACCESS.sub(r"\1", FENCE.sub("fence", rows))
        found.setdefault((declarations, re.sub(" +", " ", rows), condition), text)
    return [read_test(text) for text in found.values()]


def test_machines_and_their_models_know_no_scopes() -> None:
    """So it is enough to look at each program once."""
    for name in ("sc", "tso"):
        used = set(load_model(name).inputs)
        assert not used & {"scoped", "CTA", "CLUSTER", "GPU", "SYS", "ACQ", "REL", "RLX", "WEAK", "VOL", "MEMBAR", "SC"}
        assert not [relation for relation in used if relation.startswith("same-")]


@pytest.mark.heavy
@pytest.mark.parametrize("family", [family for family in FAMILIES if family not in SMALL])
@pytest.mark.parametrize("share", range(6))
def test_machines_agree_on_all_programs_of_the_large_families(family: str, share: int) -> None:
    for test in programs(family)[share::6]:
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
