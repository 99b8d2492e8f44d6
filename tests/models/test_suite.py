"""Every test of our own suite gets the verdict that was derived by hand, from both engines."""

from __future__ import annotations

import pytest

from gpudiy.litmus.condition import holds
from gpudiy.litmus.instruction import ProxyFenceKind
from gpudiy.litmus.printer import print_test
from gpudiy.litmus.reader import read_test
from gpudiy.models.exploration import Engine
from gpudiy.models.library import load_model, model_names
from gpudiy.models.verdict import Answer, decide, outcomes
from models.suite import FOLDER, load_suite

CASES = load_suite()
ASYNC = [kind for kind in ProxyFenceKind if kind.startswith("async")]
PROXIES = [name for name, case in CASES.items() if set(case.expected) == {"ptx-7.5"}]


@pytest.mark.parametrize("engine", [Engine.SEARCH, Engine.SAT, Engine.AUTO])
@pytest.mark.parametrize("name", CASES)
def test_verdict(name: str, engine: Engine) -> None:
    case = CASES[name]
    found = {model: decide(case.test, load_model(model), engine).answer for model in case.expected}
    assert found == case.expected


@pytest.mark.parametrize("name", CASES)
def test_outcomes_contain_the_verdict(name: str) -> None:
    """The condition holds in some outcome exactly if it is allowed, and both engines list the same outcomes."""
    case = CASES[name]
    for model, word in case.expected.items():
        if word == Answer.NOT_SUPPORTED:
            continue  # there are no outcomes to list
        by_search, by_sat = (
            set(outcomes(case.test, load_model(model), engine)) for engine in (Engine.SEARCH, Engine.SAT)
        )
        assert by_search == by_sat
        states = [dict(zip(case.test.observed, outcome, strict=True)) for outcome in by_search]
        reached = any(holds(case.test.condition.expression, state.__getitem__) for state in states)
        assert reached == (word == "allowed"), model


@pytest.mark.parametrize("name", CASES)
def test_printed_canonically(name: str) -> None:
    """But for the expectations on the second line, the files are as gpudiy prints them, and explained."""
    lines = (FOLDER / f"{name}.litmus").read_text().splitlines(keepends=True)
    assert "".join([lines[0], *lines[2:]]) == print_test(CASES[name].test)
    assert CASES[name].test.name == name
    assert CASES[name].test.doc


def test_every_model_has_both_verdicts() -> None:
    words: dict[str, set[str]] = {}
    for case in CASES.values():
        for model, word in case.expected.items():
            words.setdefault(model, set()).add(word)
    assert all(words[model] >= {"allowed", "forbidden"} for model in model_names())


@pytest.mark.parametrize("name", [name for name in PROXIES if "alias" not in name])
def test_proxies_have_no_meaning_elsewhere(name: str) -> None:
    for model in model_names():
        if model != "ptx-7.5":
            verdict = decide(CASES[name].test, load_model(model))
            assert verdict.answer is Answer.NOT_SUPPORTED
            assert f"the model {model} gives no meaning to" in verdict.reason


@pytest.mark.parametrize("kind", ASYNC)
@pytest.mark.parametrize("model", model_names())
def test_async_proxies_have_no_meaning_anywhere(kind: ProxyFenceKind, model: str) -> None:
    text = print_test(CASES["alias-fence"].test).replace("fence.proxy.alias", f"fence.proxy.{kind}")
    verdict = decide(read_test(text), load_model(model))
    assert verdict.answer is Answer.NOT_SUPPORTED
    assert f"`fence.proxy.{kind}`" in verdict.reason


@pytest.mark.parametrize("scope", ["cta", "cluster", "gpu", "sys"])
@pytest.mark.parametrize(("name", "word"), [("MP-fence.acq_rel", "forbidden"), ("SB-fence.acq_rel", "allowed")])
def test_a_fence_without_semantics_is_acq_rel(name: str, word: str, scope: str) -> None:
    """The manual's default; its own example of message passing has `fence.sys`."""
    text = print_test(CASES[name].test)
    short, long = (read_test(text.replace("fence.acq_rel.gpu", f"fence.{kind}{scope}")) for kind in ("", "acq_rel."))
    assert (short == long and short != CASES[name].test) or scope == "gpu"
    verdict = decide(short, load_model("ptx-6.0"))
    assert verdict.answer == ("allowed" if scope in ("cta", "cluster") else word)
