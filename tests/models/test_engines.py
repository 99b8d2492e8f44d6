"""Search and SAT give the same outcomes on random tests, under every model of the library."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from gpudiy.litmus.test import Test
from gpudiy.models.exploration import Engine
from gpudiy.models.library import load_model, model_names
from gpudiy.models.verdict import Answer, decide, outcomes
from models.small_tests import PLAIN, Vocabulary, small_tests

BARRIERS = Vocabulary(barriers=True, counts=True, one_cta=True)
SCOPED = Vocabulary(orders=True)
SCOPED_BARRIERS = Vocabulary(orders=True, barriers=True, counts=True, one_cta=True)
LOOPS_AND_BARRIERS = Vocabulary(loops=True, barriers=True, one_cta=True)
SCOPED_LOOPS_AND_BARRIERS = Vocabulary(orders=True, loops=True, barriers=True, one_cta=True)
PROXIES = Vocabulary(orders=True, proxies=True)
LOOPS = Vocabulary(loops=True)
SCOPED_LOOPS = Vocabulary(orders=True, loops=True)

# what a model gives meaning to
VOCABULARIES = {
    "sc": (PLAIN, BARRIERS, SCOPED, LOOPS, LOOPS_AND_BARRIERS),
    "tso": (PLAIN, BARRIERS, SCOPED, LOOPS, LOOPS_AND_BARRIERS),
    "ptx-asplos15": (PLAIN, BARRIERS, LOOPS, LOOPS_AND_BARRIERS),
    "ptx-asplos15-cumulative": (PLAIN, BARRIERS, LOOPS, LOOPS_AND_BARRIERS),
    "ptx-6.0": (PLAIN, SCOPED, SCOPED_BARRIERS, SCOPED_LOOPS, SCOPED_LOOPS_AND_BARRIERS),
    "ptx-7.5": (SCOPED, SCOPED_BARRIERS, PROXIES, SCOPED_LOOPS, SCOPED_LOOPS_AND_BARRIERS),
}
CASES = [(model, number) for model, vocabularies in VOCABULARIES.items() for number in range(len(vocabularies))]
ORDINARY, HEAVY = 20, 2000  # tests of each case; of each model

no_deadline = settings(deadline=None, suppress_health_check=list(HealthCheck))


def assert_equal_outcomes(test: Test, model: str) -> None:
    by_search, by_sat = (
        decide(test, load_model(model), engine, 2, all_outcomes=True) for engine in (Engine.SEARCH, Engine.SAT)
    )
    assert (by_search.answer, by_search.reason) == (by_sat.answer, by_sat.reason)
    if by_sat.outcomes is None or by_search.outcomes is None:  # barriers of different counts
        assert by_search.answer is Answer.NOT_SUPPORTED
        return
    assert by_search.outcomes.keys() == by_sat.outcomes.keys()
    for outcome, execution in by_sat.outcomes.items():
        assert_consistent(execution.outcome == outcome and execution, model)


def assert_consistent(execution, model: str) -> None:  # type: ignore[no-untyped-def]
    """An execution of the solver: every read has one write of its value, and no check of the compiled model fails."""
    assert execution
    a, compiled = execution.skeleton.algebra, load_model(model)
    for read in execution.skeleton.reads:
        (source,) = a.members(a.successors(a.inverse(execution.rf), read))
        assert execution.events[source].value == execution.events[read].value
        assert execution.events[source].location == execution.events[read].location
    assert a.closure(execution.co) == execution.co and not execution.co & a.identity
    slots = list(execution.slots)
    assert [stage(a, slots) for stage in compiled.stages] == [None] * len(compiled.stages)
    assert tuple(slots) == execution.slots


def test_every_model_is_compared() -> None:
    assert sorted(VOCABULARIES) == model_names()


@pytest.mark.parametrize(("model", "number"), CASES)
def test_random(model: str, number: int) -> None:
    @settings(no_deadline, max_examples=ORDINARY)
    @given(small_tests(VOCABULARIES[model][number]))
    def compare(test: Test) -> None:
        assert_equal_outcomes(test, model)

    compare()


@pytest.mark.heavy
@pytest.mark.parametrize(("model", "number"), CASES)
def test_many_random(model: str, number: int) -> None:
    @settings(no_deadline, max_examples=HEAVY // len(VOCABULARIES[model]) + 1)
    @given(small_tests(VOCABULARIES[model][number]))
    def compare(test: Test) -> None:
        assert_equal_outcomes(test, model)

    compare()


@pytest.mark.parametrize("model", model_names())
def test_auto_is_one_of_them(model: str) -> None:
    """Left to itself, gpudiy gives the same outcomes and verdicts."""

    @settings(no_deadline, max_examples=8)
    @given(small_tests(VOCABULARIES[model][0]))
    def compare(test: Test) -> None:
        assert outcomes(test, load_model(model)).keys() == outcomes(test, load_model(model), Engine.SAT).keys()
        assert decide(test, load_model(model)).allowed == bool(outcomes(test, load_model(model)))

    compare()


def test_values_out_of_thin_air(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Where a model has nothing against them, both engines find the same values that justify themselves."""
    file = tmp_path_factory.mktemp("models") / "anything.cat"
    file.write_text("empty 0 as nothing\nempty rmw & 0 as atomics\n")

    @settings(no_deadline, max_examples=ORDINARY)
    @given(small_tests(Vocabulary(threads=(2, 2), length=2)))
    def compare(test: Test) -> None:
        assert_equal_outcomes(test, str(file))

    compare()
