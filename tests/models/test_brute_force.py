"""The engines find what the naive enumeration of all executions finds, under every model of the library and others."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, given, settings

from gpudiy.litmus.test import Test
from gpudiy.models.cat_compile import compile_cat
from gpudiy.models.exploration import Engine
from gpudiy.models.library import load_model, model_names
from gpudiy.models.model import Model
from gpudiy.models.verdict import outcomes
from models.brute_force import BruteForce, partial_orders, total_orders
from models.small_tests import Vocabulary, small_tests

LARGEST = 3_000  # combinations of runs
ORDINARY, HEAVY, HEAVY_OTHERS = 12, 600, 60  # the others take longer: they look at each pass in vain

# what the library does not do: next to nothing forbidden, coherence asked for in odd ways, checks that ask for pairs
OTHERS = {
    "weak": "acyclic rf | data | addr | ctrl | rmw as thin",
    "least": "with co from partial_orders\nacyclic (po & loc) | rf | co as coherence\nempty rmw & (fr;co) as atomicity",
    "every": "with co from partial_orders\nempty (rf;(po & loc)) \\ (co;rf? | id | rf) as odd\n"
    "empty rmw & (fr;co) as atomicity\nacyclic rf | data | addr | ctrl | rmw as thin",
    "negated": "acyclic rf | data | addr | ctrl | rmw as thin\n~empty rf & ext as talks\n"
    "empty rmw & (fr;co) as atomicity",
}
ORDERS = {"ptx-6.0": True, "ptx-7.5": True}


def model_of(name: str) -> Model:
    return compile_cat(OTHERS[name], f"{name}.cat", name) if name in OTHERS else load_model(name)


def assert_same_outcomes(test: Test, model: Model) -> None:
    naive = BruteForce(test, model)
    assume(naive.complete and naive.size <= LARGEST)
    expected = naive.outcomes()
    for engine in (Engine.SEARCH, Engine.SAT):
        assert set(outcomes(test, model, engine, unroll=2)) == expected, engine


def compare(name: str, examples: int, vocabulary: Vocabulary) -> None:
    @settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=examples)
    @given(small_tests(vocabulary))
    def check(test: Test) -> None:
        assert_same_outcomes(test, model_of(name))

    check()


@pytest.mark.parametrize("loops", [False, True])
@pytest.mark.parametrize("name", [*model_names(), *OTHERS])
def test_random(name: str, loops: bool) -> None:
    compare(name, ORDINARY, Vocabulary(orders=ORDERS.get(name, False), loops=loops, threads=(2, 2), length=2))


@pytest.mark.heavy
@pytest.mark.parametrize("loops", [False, True])
@pytest.mark.parametrize("name", [*model_names(), *OTHERS])
def test_many_random(name: str, loops: bool) -> None:
    examples = (HEAVY_OTHERS if name in OTHERS else HEAVY) // 2
    compare(name, examples, Vocabulary(orders=ORDERS.get(name, False), loops=loops, threads=(2, 3), length=2))


def test_the_naive_orders_are_all_there_are() -> None:
    assert [len(set(total_orders(list(range(count))))) for count in range(5)] == [1, 1, 2, 6, 24]
    assert [len(set(partial_orders(list(range(count))))) for count in range(5)] == [1, 1, 3, 19, 219]
