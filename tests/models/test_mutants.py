"""Every check of the PTX models counts: without it some test of our own suite gets another verdict."""

from __future__ import annotations

import re
from functools import reduce
from itertools import product
from operator import or_

import pytest

from gpudiy.litmus.test import Test
from gpudiy.models.cat_compile import LIBRARY, compile_cat
from gpudiy.models.combination import Combination, prepare
from gpudiy.models.exploration import Exploration
from gpudiy.models.library import load_model
from gpudiy.models.model import Model, Stage
from gpudiy.models.question import StateQuestion
from gpudiy.models.search import Search
from gpudiy.models.verdict import decide
from models.suite import load_suite

CHECK = re.compile(r"^(?:acyclic|irreflexive|empty) .* as (\S+)$", re.MULTILINE)
MODELS = ("ptx-6.0", "ptx-7.5", "ptx-asplos15", "ptx-asplos15-cumulative", "sc", "tso")


def checks_of(model: str) -> list[str]:
    return CHECK.findall((LIBRARY / f"{model}.cat").read_text())


def without(model: str, check: str) -> Model:
    """The model whose file lacks the line of one check; it still mentions rmw, else it would refuse atomics."""
    path = LIBRARY / f"{model}.cat"
    lines = path.read_text().splitlines()
    kept = [line for line in lines if not line.endswith(f" as {check}")]
    assert len(kept) == len(lines) - 1
    return compile_cat("\n".join([*kept, "let atomics = rmw"]), str(path), f"{model} without {check}")


def changed(model: str, check: str) -> list[str]:
    """The tests of the suite that a model without this check judges otherwise."""
    mutant = without(model, check)
    return [
        name
        for name, case in load_suite().items()
        if model in case.expected and decide(case.test, mutant).answer != case.expected[model]
    ]


def rewritten(model: str, old: str, new: str) -> list[str]:
    """The tests of the suite that the model judges otherwise when a part of its text is another."""
    path = LIBRARY / f"{model}.cat"
    text = path.read_text()
    assert old in text
    mutant = compile_cat(text.replace(old, new), str(path), f"{model} with {new}")
    return [
        name
        for name, case in load_suite().items()
        if model in case.expected and decide(case.test, mutant).answer != case.expected[model]
    ]


# faults that have been made: what the model says, and what a wrong one would say
FAULTS = [
    ("release-pattern = ([W & REL];po-loc?;", "release-pattern = ([W & REL];"),
    ("[F & (SC | ACQ_REL | REL)]", "[F & (ACQ_REL | REL)]"),
    ("[F & (SC | ACQ_REL | ACQ)]", "[F & (ACQ_REL | ACQ)]"),
    ("(R & strong) \\ RED", "R & strong"),
    (" | VOL", ""),
    ("& scoped)", ")"),
    ("(observation;rmw;observation)", "0"),
    ("sync | sc | syncbar", "sync | sc"),
    ("sync | sc | syncbar", "sync | syncbar"),
    ("sync | sc | syncbar", "sc | syncbar"),
    ("let cause = cause-base | (observation;(cause-base | po-loc))", "let cause = cause-base"),
    ("with co from partial_orders\n", ""),
    ("rf | addr | data | ctrl", "rf | data | ctrl"),
    ("rf | addr | data | ctrl", "rf | addr | ctrl"),
    ("rf | addr | data | ctrl", "rf | addr | data"),
    ("(ms & (rf | co | fr)) | po-loc", "rf | co | fr | po-loc"),
    ("irreflexive (rf | fr);cause", "irreflexive fr;cause"),
    ("irreflexive (rf | fr);cause", "irreflexive rf;cause"),
]


@pytest.mark.parametrize(("old", "new"), FAULTS)
def test_fault_in_a_definition_is_noticed(old: str, new: str) -> None:
    assert rewritten("ptx-6.0", old, new)


# an atomic's write depends on its own read
@pytest.mark.parametrize("model", ["ptx-6.0", "ptx-7.5", "ptx-asplos15", "ptx-asplos15-cumulative"])
def test_atomics_count_as_dependencies(model: str) -> None:
    assert rewritten(model, " | rmw as no-thin-air", " as no-thin-air")


def count_orders(model: Model, test: Test) -> int:
    """How many orders of the fences a model allows in the only combination of paths of a test."""
    exploration = Exploration(test, model, unroll=1)
    combination = Combination(exploration.initial, [paths[0] for paths in exploration.paths])
    prepared = prepare(test, model, combination, ())
    assert prepared is not None
    question = StateQuestion(test, None, [])
    search = Search(model, prepared, question, set(), lambda: exploration.domain, exploration.check_time)
    (releases,) = product(*prepared.releases)
    slots = search._slots(reduce(or_, releases))
    assert model.plan.stages[Stage.READS](prepared.algebra, slots) is None
    return len(list(search._orient(slots, 0)))


@pytest.mark.parametrize("model", ["ptx-6.0", "ptx-7.5"])
def test_dropped_fence_sc_is_noticed(model: str) -> None:
    """Where barriers can end there is always an order of the fences that fits; fence-sc refuses all others.

    So no verdict shows it: within fences that cause each other, sc can be turned round without any new cause.
    """
    test = load_suite()["bar-between-fences"].test
    assert count_orders(load_model(model), test) == 1
    assert count_orders(without(model, "fence-sc"), test) == 2


@pytest.mark.parametrize(
    ("model", "check"),
    [(model, check) for model in MODELS for check in checks_of(model) if check != "fence-sc"],
)
def test_dropped_check_is_noticed(model: str, check: str) -> None:
    assert changed(model, check)


def test_all_checks_are_found() -> None:
    assert {model: len(checks_of(model)) for model in MODELS} == {
        "ptx-6.0": 7, "ptx-7.5": 7, "ptx-asplos15": 6, "ptx-asplos15-cumulative": 6, "sc": 2, "tso": 3,
    }  # fmt: skip
