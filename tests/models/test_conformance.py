"""The models agree with verdicts that others published."""

from __future__ import annotations

import csv
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from gpudiy.litmus.condition import Quantifier
from gpudiy.litmus.scope_tree import ScopeTree
from gpudiy.litmus.sources import load_tests
from gpudiy.litmus.test import Test
from gpudiy.models.exploration import Engine
from gpudiy.models.library import load_model
from gpudiy.models.verdict import Answer, decide, outcomes
from models.suite import widen_model

EXPECTED = {"ptx-6.0": ("PTXv6_0-expected.csv", 130), "ptx-7.5": ("PTXv7_5-expected.csv", 137)}

# the catalogue of the 2015 simulator: what ptx-asplos15 says of the weak outcome, by file
CATALOGUE = {
    "MP": "allowed",
    "coRR": "allowed",
    "iriw": "allowed",
    "ld": "allowed",
    "mp": "allowed",
    "sb": "allowed",
    "scoped_MP": "allowed",
    "mp+membar.ctas": "allowed",
    "mp+membar.gls": "forbidden",
}
NOT_ONLY_CG = {"MP", "scoped_MP"}  # st.wt, ld.volatile, shared memory: beyond what the paper's model covers
ENGINES = (Engine.SEARCH, Engine.SAT)


@cache
def load(file: Path) -> Test:
    (test,) = load_tests(str(file))
    return test


def in_one_cta(test: Test) -> Test:
    """The test with all its threads in one CTA, each in a warp of its own."""
    return replace(test, scope_tree=ScopeTree.of([(thread, 0, 0, 0, 0) for thread in range(len(test.threads))]))


def disagreements(folder: Path, model: str, engine: Engine) -> tuple[int, list[str]]:
    """How many rows a file of expected results has, and the tests on which a model says something else."""
    with (folder / EXPECTED[model][0]).open(newline="") as file:
        rows = [(name, passes == "1") for name, passes in csv.reader(file)]
    wrong = []
    for name, passes in rows:
        verdict = decide(load(folder / name), load_model(model), engine, unroll=1)
        holds = verdict.holds
        if verdict.answer in (Answer.BOUNDED, Answer.NO_RUN):  # Dat3M looks at runs that end, within a bound
            holds = verdict.test.condition.quantifier is not Quantifier.EXISTS
        if holds is not passes:
            wrong.append(f"{name}: {verdict.answer}")
    return len(rows), wrong


@pytest.mark.parametrize("model", EXPECTED)
def test_dat3m(corpus: Path, model: str) -> None:
    assert disagreements(corpus / "dat3m-ptx", model, Engine.AUTO) == (EXPECTED[model][1], [])


@pytest.mark.heavy
@pytest.mark.parametrize("model", EXPECTED)
@pytest.mark.parametrize("engine", ENGINES)
def test_dat3m_by_each_engine(corpus: Path, model: str, engine: Engine) -> None:
    assert disagreements(corpus / "dat3m-ptx", model, engine) == (EXPECTED[model][1], [])


def test_catalogue_is_complete(corpus: Path) -> None:
    assert {file.stem for file in (corpus / "gpu-ptx-litmus").glob("*.litmus")} == set(CATALOGUE)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", CATALOGUE)
def test_catalogue(corpus: Path, name: str, engine: Engine) -> None:
    test = load(corpus / "gpu-ptx-litmus" / f"{name}.litmus")
    assert decide(test, widen_model("ptx-asplos15"), engine).answer == CATALOGUE[name]
    answer = Answer.NOT_SUPPORTED if name in NOT_ONLY_CG else CATALOGUE[name]
    assert decide(test, load_model("ptx-asplos15"), engine).answer == answer


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("name", "word"), [("mp+membar.ctas", "forbidden"), ("mp", "allowed")])
def test_inside_one_cta(corpus: Path, name: str, word: str, engine: Engine) -> None:
    """A fence of scope cta is enough between threads of one CTA; being there is not."""
    test = in_one_cta(load(corpus / "gpu-ptx-litmus" / f"{name}.litmus"))
    assert decide(test, load_model("ptx-asplos15"), engine).answer == word


@pytest.mark.parametrize(("name", "states"), [("MP", 4), ("scoped_MP", 4)])
def test_states_of_the_simulator(corpus: Path, name: str, states: int) -> None:
    """The recorded output of the 2015 simulator lists the same states."""
    recorded = (corpus / "gpu-ptx-litmus" / "PTX_results_baseline.txt").read_text()
    lines = recorded.split(f"Test {name} ")[1].splitlines()[2 : 2 + states]
    test = load(corpus / "gpu-ptx-litmus" / f"{name}.litmus")
    found = {
        tuple(f"{term.thread}:{term.name}={value};" for term, value in zip(test.observed, outcome, strict=True))
        for outcome in outcomes(test, widen_model("ptx-asplos15"))
    }
    assert found == {tuple(line.split()) for line in lines}
