"""Verdicts: is the outcome a test asks about allowed by a model?"""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import StrEnum

from gpudiy.litmus.condition import Expression, Not, Quantifier
from gpudiy.litmus.memory_types import with_shown_constants
from gpudiy.litmus.outcome import Outcome
from gpudiy.litmus.test import Test
from gpudiy.models.model import Model
from gpudiy.models.search import Execution, Search

MANY_ORDERS = 200  # for one run of all threads: from here on a solver is faster than a search
MANY_CANDIDATES = 500_000


class Engine(StrEnum):
    AUTO = "auto"
    SEARCH = "search"
    SAT = "sat"


@dataclass(frozen=True, slots=True)
class Verdict:
    """`execution` shows an allowed outcome; a forbidden one has none.

    For exists and ~exists the outcome is the condition, for forall it is what breaks the condition.
    """

    test: Test
    model: Model
    execution: Execution | None
    bounded: bool = False  # runs in which a loop went round too often were left out

    @property
    def allowed(self) -> bool:
        return self.execution is not None

    @property
    def word(self) -> str:
        return "allowed" if self.allowed else "forbidden"

    @property
    def holds(self) -> bool:
        """Whether what the test claims is true: a reachable exists, an unreachable ~exists, an unbroken forall."""
        return self.allowed == (self.test.condition.quantifier is Quantifier.EXISTS)


def target_of(test: Test) -> Expression:
    """The states a verdict is about."""
    expression = with_shown_constants(test, test.condition.expression)
    return Not(expression) if test.condition.quantifier is Quantifier.FORALL else expression


def decide(
    test: Test, model: Model, engine: Engine = Engine.AUTO, unroll: int = 2, limit: float | None = None
) -> Verdict:
    """The verdict; raises `OutOfTime` after `limit` seconds, `Undecidable` for what the model has no meaning for."""
    target = target_of(test)
    search = _search(test, model, engine, unroll, limit, target)
    execution = next(search.executions(target), None)
    return Verdict(test, model, execution, search.bounded)


def outcomes(
    test: Test, model: Model, engine: Engine = Engine.AUTO, unroll: int = 2, limit: float | None = None
) -> dict[Outcome, Execution]:
    """All outcomes the model allows, each with an execution that shows it, sorted."""
    found: dict[Outcome, Execution] = {}
    for execution in _search(test, model, engine, unroll, limit, None).executions():
        found.setdefault(execution.outcome, execution)
    return dict(sorted(found.items(), key=lambda item: [str(value).rjust(20) for value in item[0]]))


def _search(
    test: Test, model: Model, engine: Engine, unroll: int, limit: float | None, target: Expression | None
) -> Search:
    deadline = None if limit is None else time.monotonic() + limit
    search = Search(test, model, unroll, deadline)
    if engine is Engine.AUTO:
        runs, orders = search.size(target)
        engine = Engine.SAT if orders >= MANY_ORDERS or runs * orders >= MANY_CANDIDATES else Engine.SEARCH
    if engine is Engine.SEARCH:
        return search
    from gpudiy.models.sat import SatSearch  # a solver is loaded only where it is used

    return SatSearch.of(search)
