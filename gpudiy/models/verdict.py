"""Verdicts: is the outcome a test asks about allowed by a model?"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from enum import StrEnum

from gpudiy.errors import ExitCode, InputError
from gpudiy.litmus.condition import Expression, Not, Quantifier, holds
from gpudiy.litmus.control_flow import may_end
from gpudiy.litmus.dependencies import DependencyRule
from gpudiy.litmus.instruction import Barrier
from gpudiy.litmus.memory_types import with_shown_constants
from gpudiy.litmus.outcome import Outcome
from gpudiy.litmus.test import Test
from gpudiy.models.execution import Execution
from gpudiy.models.exploration import Engine, Exploration
from gpudiy.models.model import Model
from gpudiy.models.problems import OutOfTime, Undecidable

NO_RUN_REASON = "no run ends: threads wait at barriers, or loop, for ever"
FIRST_BOUND, LAST_BOUND = 2, 1024  # how often loops may go round
PATIENCE = 5.0  # seconds, without a limit, for raising the bound
MOST_COMBINATIONS = 10_000  # of paths, for which it is raised without a limit


UNDECIDED = "undecided"
NOT_SUPPORTED = f"{UNDECIDED} (not supported)"
BOUNDED = f"{UNDECIDED} (bounded)"
OUT_OF_TIME = f"{UNDECIDED} (out of time)"
NO_RUN = f"{UNDECIDED} (no run ends)"
EARLIER_WORDS = {"unsupported": NOT_SUPPORTED, UNDECIDED: OUT_OF_TIME}  # in files of gpudiy 0.2


class AnswerWord(StrEnum):
    """A word that answers a question about a test; the value is what is printed and stored.

    Words that were written by earlier versions are read, too: `Answer("unsupported") is Answer.NOT_SUPPORTED`.
    """

    @classmethod
    def _missing_(cls, value: object) -> AnswerWord | None:
        word = EARLIER_WORDS.get(str(value))
        return next((answer for answer in cls if answer == word), None)

    @property
    def undecided(self) -> bool:
        return self.startswith(UNDECIDED)

    @property
    def exit_code(self) -> ExitCode:
        """Of an undecided answer: 2 for a test that the model has no meaning for, 3 for one that needs more."""
        if not self.undecided:
            return ExitCode.FINE
        return ExitCode.BAD_INPUT if self == NOT_SUPPORTED else ExitCode.FAILED


class Answer(AnswerWord):
    """What a model says of an outcome; all but the first two are ways to be undecided."""

    ALLOWED = "allowed"
    FORBIDDEN = "forbidden"
    NOT_SUPPORTED = NOT_SUPPORTED  # the model gives no meaning to something in the test
    BOUNDED = BOUNDED  # loops may go round more often than was looked at
    OUT_OF_TIME = OUT_OF_TIME
    NO_RUN = NO_RUN  # nothing can be asked of the final states of runs that never end


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a model says of a test: its answer, and what the answer rests on.

    For exists and ~exists the outcome in question is the condition, for forall it is what breaks the condition.
    `execution` shows an allowed outcome. `reason` says why the test is undecided. `outcomes` are all outcomes that the
    model allows, each with an execution, where they were asked for and could be found.
    """

    test: Test
    model: Model
    answer: Answer
    execution: Execution | None = None
    reason: str = ""
    bounded: bool = False  # runs in which a loop goes round more than `unroll` times were left out
    outcomes: dict[Outcome, Execution] | None = None
    unroll: int = 0  # how often loops went round at most
    dependencies: DependencyRule = DependencyRule.SYNTACTIC

    def __repr__(self) -> str:
        return f"<Verdict {self.test.name}: {self.answer} by {self.model_label}>"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from gpudiy.models.notebook import html_of_verdict  # it needs the class itself

        return html_of_verdict(self)

    @property
    def model_label(self) -> str:
        """The name of the model, with the kind of dependencies where it is not the usual one."""
        return label_model(self.model.name, self.dependencies)

    @property
    def allowed(self) -> bool:
        return self.answer is Answer.ALLOWED

    @property
    def forbidden(self) -> bool:
        return self.answer is Answer.FORBIDDEN

    @property
    def undecided(self) -> bool:
        return self.answer.undecided

    @property
    def holds(self) -> bool | None:
        """Whether what the test claims is true: a reachable exists, an unreachable ~exists, an unbroken forall.

        None if the test is undecided.
        """
        return None if self.undecided else self.allowed == (self.test.condition.quantifier is Quantifier.EXISTS)


def label_model(name: str, dependencies: DependencyRule) -> str:
    """How a model is named where it is asked with this kind of dependencies."""
    return name if dependencies is DependencyRule.SYNTACTIC else f"{name} ({dependencies})"


class Undecided(InputError):
    """Something was asked that needs a decided test; `verdict` says why it is not."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.reason, path=verdict.test.name)
        self.verdict = verdict
        self.exit_code = verdict.answer.exit_code


def target_of(test: Test) -> Expression:
    """The states a verdict is about."""
    expression = with_shown_constants(test, test.condition.expression)
    return Not(expression) if test.condition.quantifier is Quantifier.FORALL else expression


def decide(
    test: Test,
    model: Model,
    engine: Engine = Engine.AUTO,
    unroll: int | None = None,
    limit: float | None = None,
    *,
    all_outcomes: bool = False,
    dependencies: DependencyRule = DependencyRule.SYNTACTIC,
) -> Verdict:
    """The verdict of a model on a test; it is undecided after `limit` seconds.

    Loops go round at most `unroll` times: if that leaves out runs, and no execution is found, the verdict is undecided.
    Without `unroll` the bound is raised for as long as that may help and there is time. `all_outcomes` asks for every
    outcome that the model allows; of a bounded verdict there may be more. `dependencies` says what counts
    as a dependency for the model.
    """
    start = time.monotonic()
    deadline = None if limit is None else start + limit
    combinations = 1

    def decide_within(bound: int, end: float | None) -> Verdict:
        nonlocal combinations
        try:
            exploration = Exploration(test, model, bound, end, dependencies)
            combinations = exploration.combinations
            decider = _decide_with_outcomes if all_outcomes else _decide_target
            return decider(exploration, engine)
        except Undecidable as problem:
            return Verdict(test, model, Answer.NOT_SUPPORTED, reason=str(problem), dependencies=dependencies)
        except OutOfTime:
            reason = f"no verdict after {limit or PATIENCE:g} s"
            return Verdict(test, model, Answer.OUT_OF_TIME, reason=reason, dependencies=dependencies)

    if unroll is not None:
        return decide_within(unroll, deadline)
    verdict = decide_within(FIRST_BOUND, deadline)
    patience = start + PATIENCE if deadline is None else deadline
    while verdict.bounded and (all_outcomes or not verdict.allowed) and verdict.unroll < LAST_BOUND:
        if limit is None and combinations**2 > MOST_COMBINATIONS:  # about so many there are with twice the bound
            break
        deeper = decide_within(2 * verdict.unroll, patience)
        if deeper.answer is Answer.OUT_OF_TIME:
            break
        verdict = deeper
    return verdict


def _has_run_that_ends(exploration: Exploration, engine: Engine) -> bool:
    """Whether a test has a run that ends, or may have one that a bound on loops left out.

    Only barriers and loops keep a run from ending; where there are none the answer is known.
    """
    test = exploration.test
    if not all(may_end(thread) for thread in test.threads):
        return False
    waits = any(isinstance(instruction, Barrier) for thread in test.threads for instruction in thread)
    if exploration.bounded or not (waits or any(runner.heads for runner in exploration.runners)):
        return True
    without_filter = exploration if test.filter is None else exploration.without_filter()
    return next(without_filter.executions(None, engine), None) is not None


def outcomes(
    test: Test, model: Model, engine: Engine = Engine.AUTO, unroll: int | None = None, limit: float | None = None
) -> dict[Outcome, Execution]:
    """All outcomes the model allows, each with an execution that shows it, sorted; raises `Undecided`.

    With `unroll` they are all outcomes of runs in which loops go round at most so often.
    """
    verdict = decide(test, model, engine, unroll, limit, all_outcomes=True)
    if verdict.outcomes is None or (verdict.bounded and unroll is None):
        raise Undecided(verdict if verdict.reason else replace(verdict, reason=_bound_reason(verdict.unroll)))
    return verdict.outcomes


def _decide_target(exploration: Exploration, engine: Engine) -> Verdict:
    return _verdict(exploration, engine, next(exploration.executions(target_of(exploration.test), engine), None))


def _decide_with_outcomes(exploration: Exploration, engine: Engine) -> Verdict:
    test = exploration.test
    found = {execution.outcome: execution for execution in exploration.executions(None, engine)}
    found = dict(sorted(found.items(), key=lambda item: [str(value).rjust(20) for value in item[0]]))
    target, observed = target_of(test), test.observed
    asked = (
        execution
        for outcome, execution in found.items()
        if holds(target, dict(zip(observed, outcome, strict=True)).__getitem__)
    )
    return _verdict(exploration, engine, next(asked, None), found)


def _verdict(
    exploration: Exploration, engine: Engine, execution: Execution | None, found: dict[Outcome, Execution] | None = None
) -> Verdict:
    answer, reason = Answer.ALLOWED, ""
    if execution is None:
        answer = Answer.FORBIDDEN
        if exploration.bounded:
            answer, reason = Answer.BOUNDED, _bound_reason(exploration.unroll)
        if not found and not _has_run_that_ends(exploration, engine):
            answer, reason = Answer.NO_RUN, NO_RUN_REASON
    return Verdict(
        exploration.test, exploration.model, answer, execution, reason,
        exploration.bounded, found, exploration.unroll, exploration.dependencies,
    )  # fmt: skip


def _bound_reason(unroll: int) -> str:
    return f"a loop may go round more than {unroll} times"
