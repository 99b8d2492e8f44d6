"""Every check of the PTX models counts: without it some test of our own suite gets another verdict."""

from __future__ import annotations

import re

import pytest

from gpudiy.models.cat_compile import LIBRARY, Model, compile_cat
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
        if model in case.expected and decide(case.test, mutant).word != case.expected[model]
    ]


@pytest.mark.parametrize(("model", "check"), [(model, check) for model in MODELS for check in checks_of(model)])
def test_dropped_check_is_noticed(model: str, check: str) -> None:
    assert changed(model, check)


def test_all_checks_are_found() -> None:
    assert {model: len(checks_of(model)) for model in MODELS} == {
        "ptx-6.0": 7, "ptx-7.5": 6, "ptx-asplos15": 6, "ptx-asplos15-cumulative": 6, "sc": 2, "tso": 3,
    }  # fmt: skip
