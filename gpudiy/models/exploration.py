"""Explorations: all executions of one test under one model, by search, by SAT, or by what is faster."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import cached_property
from itertools import product
from math import prod

from gpudiy.litmus.condition import AddressOf, Expression, FinalRegister, FinalVariable
from gpudiy.litmus.dependencies import DependencyRule
from gpudiy.litmus.memory_types import initial_memory, shown_memory
from gpudiy.litmus.outcome import FinalState, Outcome
from gpudiy.litmus.test import Test
from gpudiy.models.combination import Combination, Prepared, prepare
from gpudiy.models.execution import Chosen, Execution
from gpudiy.models.model import Model
from gpudiy.models.path import Path
from gpudiy.models.path_runner import PathRunner
from gpudiy.models.possible import Domain, PossibleValues
from gpudiy.models.problems import OutOfTime, Undecidable
from gpudiy.models.question import StateQuestion
from gpudiy.models.search import Expensive, Found, Search
from gpudiy.models.symmetry import (
    Classes,
    in_order,
    interchangeable_threads,
    observed_of_all,
    renamed_outcomes,
    same_paths,
)

BUDGET = 150  # checks that lead to nothing, after which a solver is asked


class Engine(StrEnum):
    """How executions are looked for."""

    AUTO = "auto"
    SEARCH = "search"
    SAT = "sat"


class Exploration:
    """All executions of one test under one model; loops go round at most `unroll` times."""

    def __init__(
        self,
        test: Test,
        model: Model,
        unroll: int,
        deadline: float | None = None,
        dependencies: DependencyRule = DependencyRule.SYNTACTIC,
    ) -> None:
        self.test = test
        self.model = model
        self.dependencies = dependencies
        self.unroll = unroll
        self.deadline = deadline
        locations = test.memory_map.locations()
        self.initial = {location: initial_memory(test, location) for location in locations.values()}
        observed: list[set[str]] = [set() for _ in test.threads]
        for term in test.observed:
            if isinstance(term, FinalRegister):
                for number, thread in enumerate(test.threads):
                    if thread == test.threads[term.thread]:  # they may be interchangeable
                        observed[number].add(term.name)
        collapse = model.plan.can_drop_reads
        self.runners = [
            PathRunner(test, number, locations, frozenset(names), collapse, dependencies)
            for number, names in enumerate(observed)
        ]
        self.paths = self._run_threads(unroll)
        self._problem: str | None = None
        self._looked_at: set[Path] = set()

    def without_filter(self) -> Exploration:
        """The same of the test that leaves out no final state."""
        return Exploration(replace(self.test, filter=None), self.model, self.unroll, self.deadline, self.dependencies)

    @property
    def bounded(self) -> bool:
        """Whether paths were left out because a loop went round too often."""
        return any(runner.cut for runner in self.runners)

    @cached_property
    def domain(self) -> Domain:
        """The values that can get into each location."""
        return self._possible_values(self.paths).domain

    @property
    def combinations(self) -> int:
        """How many combinations of paths there are."""
        return prod(map(len, self.paths))

    def check_time(self) -> None:
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise OutOfTime

    def executions(
        self, target: Expression | None = None, engine: Engine = Engine.AUTO, without: frozenset[str] = frozenset()
    ) -> Iterator[Execution]:
        """Consistent executions: one that ends in a state of `target`, or one for each outcome if there is no target.

        With SAT, checks may be left out by name. Raises `Undecidable` if it meets something that has no meaning.
        """
        classes = interchangeable_threads(self.test, [target, self.test.filter])
        extra = observed_of_all(classes, self.test.observed) if target is None else []
        question = StateQuestion(self.test, target, extra)
        seen: set[Outcome] = set()
        for paths in product(*self.paths):
            self.check_time()
            numbers = [path.number for path in paths]
            if not in_order(classes, numbers):
                continue
            combination = Combination(self.initial, paths)
            alike = list(same_paths(classes, numbers))
            possible = question.narrow(combination)
            prepared = prepare(self.test, self.model, combination, alike) if possible else None
            if possible:
                self._looked_at.update(paths)
            if prepared is not None:
                readers = [(one, other) for one, other in alike if not paths[one].writes]
                for state, chosen in self._find(prepared, question, seen, engine, without, readers):
                    yield from self._executions_of(prepared, question, classes, state, chosen, seen)
            self._problem = self._problem or combination.problem
        self._check_other_paths()
        if self._problem is not None:
            raise Undecidable(self._problem)

    def _find(
        self,
        prepared: Prepared,
        question: StateQuestion,
        seen: set[Outcome],
        engine: Engine,
        without: frozenset[str],
        readers: list[tuple[int, int]],
    ) -> Iterator[Found]:
        """The executions of one combination, one for each final state that was not seen."""

        def search(budget: int | None) -> Iterator[Found]:
            return Search(
                self.model, prepared, question, seen, lambda: self.domain, self.check_time, budget, readers
            ).executions()

        if engine is Engine.SEARCH:
            yield from search(None)
            return
        if engine is Engine.AUTO and not without:
            try:
                yield from search(BUDGET)
                return
            except Expensive:
                pass
        from gpudiy.models.sat import Formula, TooLarge  # a solver is loaded only where it is used

        try:
            formula = Formula(self.model, prepared, question, lambda: self.domain, self.deadline, readers)
            yield from formula.executions(seen, without)
        except TooLarge:
            yield from search(None)

    def _executions_of(
        self,
        prepared: Prepared,
        question: StateQuestion,
        classes: Classes,
        state: FinalState,
        chosen: Chosen,
        seen: set[Outcome],
    ) -> Iterator[Execution]:
        """The execution that was found and, of all outcomes, those with interchangeable threads renamed."""
        if question.target is not None:
            outcome = question.outcome(self._final_state(prepared, question, state, chosen))
            yield Execution(self.model, outcome, prepared.skeleton, chosen)
            return
        outcome = question.outcome(state)
        found = Execution(self.model, outcome, prepared.skeleton, chosen)
        seen.add(outcome)
        yield found
        for parts, outcome in renamed_outcomes(classes, question.observed, state) if classes else ():
            if outcome not in seen:
                seen.add(outcome)
                threads = tuple([parts.get(thread, thread) for thread in range(len(self.test.threads))])
                numbers = [prepared.combination.paths[part].number for part in threads]
                traces = tuple([self.paths[thread][number].trace for thread, number in enumerate(numbers)])
                yield found.rename_threads(threads, traces, outcome)

    def _final_state(
        self, prepared: Prepared, question: StateQuestion, state: FinalState, chosen: Chosen
    ) -> FinalState:
        """The whole final state of an execution, of which `state` is the part that was asked about."""
        combination, a = prepared.combination, prepared.algebra
        whole = dict(state)
        for term in question.observed:
            if isinstance(term, FinalRegister):
                whole[term] = question.final(combination, term).evaluate(list(chosen.values))
            elif isinstance(term, FinalVariable) and term not in whole:
                location = self.test.memory_map.location_of(term.name)
                if location in question.locations:
                    whole[term] = state[question.locations[location][0]]
                else:
                    last = next(w for w in combination.writes[location] if not a.successors(chosen.co, w))
                    whole[term] = shown_memory(self.test, location, chosen.values[last])
        return whole

    def _run_threads(self, unroll: int) -> list[list[Path]]:
        """The paths of all threads.

        Where an address or the number of a barrier comes from memory, all values that it may have must be foreseen.
        """
        while True:
            paths = [runner.paths(unroll, self.check_time) for runner in self.runners]
            doubts = [doubt for runner in self.runners for doubt in runner.doubts]
            if not doubts:
                return paths
            possible = self._possible_values(paths)
            found = [(doubt, value) for doubt in doubts if (value := possible.unforeseen(doubt)) is not None]
            for doubt, value in found:
                if isinstance(value, AddressOf) or "barrier" not in doubt.use:
                    shown = "an address" if isinstance(value, AddressOf) else value
                    raise Undecidable(f"P{doubt.thread} uses {shown} {doubt.use}")
                for runner in self.runners:
                    runner.barriers |= {value}
            if not found:
                return paths

    def _possible_values(self, paths: Sequence[Sequence[Path]]) -> PossibleValues:
        every = [[*ended, *runner.cut] for ended, runner in zip(paths, self.runners, strict=True)]
        return PossibleValues(self.test, every)

    def _check_other_paths(self) -> None:
        """Raise `Undecidable` for what the model gives no meaning on paths that lead nowhere, too."""
        every = [[*ended, *runner.waited] for ended, runner in zip(self.paths, self.runners, strict=True)]
        most = max(map(len, every), default=0)
        for number in range(most if all(every) else 0):
            paths = [thread[min(number, len(thread) - 1)] for thread in every]
            if not self._looked_at.issuperset(paths):
                prepare(self.test, self.model, Combination(self.initial, paths), ())
