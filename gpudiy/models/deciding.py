"""Deciding many tests under many models, in several processes if asked to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from gpudiy.litmus.dependencies import DependencyRule
from gpudiy.litmus.errors import LitmusError
from gpudiy.litmus.outcome import Outcome
from gpudiy.litmus.sources import load_tests
from gpudiy.litmus.test import Test
from gpudiy.models.execution import Execution
from gpudiy.models.exploration import Engine
from gpudiy.models.library import ModelSource, load_model, load_models
from gpudiy.models.model import Model
from gpudiy.models.verdict import Answer, Verdict, decide
from gpudiy.models.verdict_row import VerdictRow, verdict_row
from gpudiy.processes import map_in_processes


@dataclass(frozen=True, slots=True)
class HowToDecide:
    """What a verdict may cost, and whether it comes with all outcomes. A value that other processes can be sent."""

    engine: Engine = Engine.AUTO
    unroll: int | None = None  # the bound is found as `decide` does
    limit: float | None = None
    all_outcomes: bool = False
    dependencies: DependencyRule = DependencyRule.SYNTACTIC

    def decide(self, test: Test, model: Model) -> Verdict:
        return decide(
            test, model, self.engine, self.unroll, self.limit,
            all_outcomes=self.all_outcomes, dependencies=self.dependencies,
        )  # fmt: skip


def decide_all(
    tests: Iterable[Test], models: ModelSource, how: HowToDecide | None = None, jobs: int = 1
) -> Iterator[Verdict]:
    """The verdicts of all models on each test, test by test."""
    loaded = load_models(models)
    return decide_pairs([(test, model) for test in tests for model in loaded], how or HowToDecide(), jobs)


def decide_pairs(
    pairs: Sequence[tuple[Test, Model]], how: HowToDecide, jobs: int = 1, *, executions: bool = True
) -> Iterator[Verdict]:
    """The verdict for each test and model, in their order.

    Without `executions` the verdicts of other processes come without: they are then much cheaper to send.
    """
    replies = map_in_processes(_PairDecider(how, executions), pairs, jobs)
    for (test, model), reply in zip(pairs, replies, strict=True):
        yield Verdict(test, model, *reply, how.dependencies)


_Reply = tuple[Answer, Execution | None, str, bool, dict[Outcome, Execution] | None, int]


@dataclass(frozen=True, slots=True)
class _PairDecider:
    """What a process does for `decide_pairs`; it does not send back the test and the model it was sent."""

    how: HowToDecide
    executions: bool

    def __call__(self, pair: tuple[Test, Model]) -> _Reply:
        verdict = self.how.decide(*pair)
        execution = verdict.execution if self.executions else None
        return verdict.answer, execution, verdict.reason, verdict.bounded, verdict.outcomes, verdict.unroll


@dataclass(frozen=True, slots=True)
class DecidedTest:
    """The verdicts on one test of a file, one row per model; or the error that kept the file from being read."""

    file: str
    rows: tuple[VerdictRow, ...] = ()
    error: str = ""

    def differs(self, model: str) -> bool:
        """Whether what a model says depends on the kind of dependencies it was asked with."""
        return len({(row.verdict, row.outcomes) for row in self.rows if row.model == model}) > 1


@dataclass(frozen=True, slots=True)
class FileDecider:
    """Decides all tests of a file. A value, so that it can be sent to other processes.

    Where `kinds` of dependencies are given, each model is asked with each of them.
    """

    models: tuple[str, ...]
    how: HowToDecide
    explain: bool = False
    kinds: tuple[DependencyRule, ...] = (DependencyRule.SYNTACTIC,)

    def __call__(self, source: str) -> list[DecidedTest]:
        found: list[DecidedTest] = []
        try:
            for test in load_tests(source):
                found.append(DecidedTest(source, self.rows(test)))
        except LitmusError as error:
            found.append(DecidedTest(source, error=str(error)))
        return found

    def rows(self, test: Test) -> tuple[VerdictRow, ...]:
        """One row per model, under the name by which the model was asked for."""
        return tuple(
            verdict_row(how.decide(test, load_model(name)), name, explained=self.explain, limit=how.limit)
            for name in self.models
            for how in (replace(self.how, dependencies=kind) for kind in self.kinds)
        )


def decide_files(sources: Sequence[str], decider: FileDecider, jobs: int) -> Iterator[list[DecidedTest]]:
    """The decided tests of each file, in their order."""
    return map_in_processes(decider, sources, jobs)
