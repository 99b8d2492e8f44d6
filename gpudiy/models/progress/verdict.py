"""Does every run of a test end, under a memory model and a progress guarantee?"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gpudiy.arguments import check_choice
from gpudiy.litmus.instruction import Branch, guard_of
from gpudiy.litmus.loading import read
from gpudiy.litmus.test import Test
from gpudiy.models.execution import Execution
from gpudiy.models.library import is_of_library, load_model
from gpudiy.models.model import Model
from gpudiy.models.problems import OutOfTime, Undecidable
from gpudiy.models.progress.awaits import loop_heads
from gpudiy.models.progress.cut import cut_test
from gpudiy.models.progress.guarantee import ProgressGuarantee, limit_runs, permits
from gpudiy.models.progress.hang import MOST_STATES, Hang, StateGraph, TooManyStates
from gpudiy.models.progress.lockstep import WarpMachine
from gpudiy.models.progress.machine import ThreadMachine
from gpudiy.models.progress.one_location import behaves_as_sc
from gpudiy.models.progress.stuck import StuckSearch
from gpudiy.models.verdict import BOUNDED, NOT_SUPPORTED, OUT_OF_TIME, Answer, AnswerWord, Undecided, decide

FAIR_MEMORY = (
    "memory is taken to be fair: a loop reads, in the end, what coherence puts last, also with weak accesses and beyond"
    " their scopes"
)


class ProgressAnswer(AnswerWord):
    """Whether every run ends; the last three are the ways to be undecided."""

    TERMINATES = "terminates"
    MAY_HANG = "may hang"
    NOT_SUPPORTED = NOT_SUPPORTED  # the question has no answer here for something in the test
    BOUNDED = BOUNDED  # there is more to look at than is looked at
    OUT_OF_TIME = OUT_OF_TIME


@dataclass(frozen=True, slots=True)
class ProgressVerdict:
    """Whether every run of a test ends, with a run that does not.

    `execution`, where there is one, is what happens before the cycle of the hang. `reason` says why the test is
    undecided.
    """

    test: Test
    model: Model
    guarantee: ProgressGuarantee
    answer: ProgressAnswer
    hang: Hang | None = None
    execution: Execution | None = None
    reason: str = ""

    @property
    def assumption(self) -> str:
        """What "terminates" rests on, beside the model and the guarantee; empty where it rests on nothing more."""
        loops = any(loop_heads(thread) for thread in self.test.threads)
        rests = self.answer is ProgressAnswer.TERMINATES and loops and self.model.name != "sc"
        return FAIR_MEMORY if rests else ""

    def __repr__(self) -> str:
        return f"<ProgressVerdict {self.test.name}: {self.answer} with {self.guarantee} under {self.model.name}>"


def decide_progress(
    test: Test | str | Path,
    model: Model | str | Path,
    guarantee: ProgressGuarantee | Literal["fair", "hsa", "obe", "lobe", "lockstep"],
    *,
    limit: float | None = None,
) -> ProgressVerdict:
    """Whether every run of a test ends under a memory model, if the scheduler keeps a guarantee.

    `decide_progress(gpudiy.read("lock.litmus"), "ptx-6.0", "obe").answer` is terminates, may hang, or undecided: so it
    is after `limit` seconds. "terminates" is said only where all runs were looked at.
    """
    deadline = None if limit is None else time.monotonic() + limit
    check_choice(guarantee, ProgressGuarantee, "progress guarantee")
    test = test if isinstance(test, Test) else read(test)
    model = load_model(model)
    question = _ProgressQuestion(test, model, ProgressGuarantee(guarantee), deadline)
    try:
        return question.answer()
    except Undecidable as problem:
        return question.verdict(ProgressAnswer.NOT_SUPPORTED, reason=str(problem))
    except Undecided as problem:
        return question.verdict(ProgressAnswer.NOT_SUPPORTED, reason=problem.verdict.reason)
    except TooManyStates:
        return question.verdict(ProgressAnswer.BOUNDED, reason=f"the test has more than {MOST_STATES:,} states")
    except OutOfTime:
        return question.verdict(ProgressAnswer.OUT_OF_TIME, reason=f"no verdict after {limit:g} s")


@dataclass(frozen=True, slots=True)
class _ProgressQuestion:
    test: Test
    model: Model
    guarantee: ProgressGuarantee
    deadline: float | None

    def verdict(
        self, answer: ProgressAnswer, hang: Hang | None = None, execution: Execution | None = None, reason: str = ""
    ) -> ProgressVerdict:
        return ProgressVerdict(self.test, self.model, self.guarantee, answer, hang, execution, reason)

    def answer(self) -> ProgressVerdict:
        if self.model.name == "sc" and is_of_library(self.model):
            return self._answer_by_machine()
        self._check_supported()
        if behaves_as_sc(self.test, self.model):
            return self._answer_by_machine()
        if all(
            guard_of(each) is None and not isinstance(each, Branch) for thread in self.test.threads for each in thread
        ):
            return self._answer_by_machine()  # what threads do does not depend on what they read
        if is_of_library(self.model):  # it permits all that sc does
            try:
                found = self._answer_by_machine()
            except (TooManyStates, Undecidable):
                found = None
            if found is not None and found.hang is not None:
                return found
        return self._answer_by_executions()

    def _check_supported(self) -> None:
        """Raise `Undecided` if the model gives no meaning to an instruction of the test."""
        whole = cut_test(self.test, [None] * len(self.test.threads), ()).test
        limit = None if self.deadline is None else max(0.0, self.deadline - time.monotonic())
        verdict = decide(whole, self.model, limit=limit)
        if verdict.answer is Answer.NOT_SUPPORTED:
            raise Undecided(verdict)

    def _answer_by_machine(self) -> ProgressVerdict:
        """Look at all states; where memory is as in sc, this decides."""
        hang = self._find_hang()
        return self.verdict(ProgressAnswer.TERMINATES if hang is None else ProgressAnswer.MAY_HANG, hang)

    def _find_hang(self) -> Hang | None:
        if self.guarantee is ProgressGuarantee.LOCKSTEP:
            warps = WarpMachine(self.test)
            units = tuple(range(len(warps.warps)))
            return StateGraph(warps, self.deadline).find_hang(lambda run: permits(self.guarantee, units, run))
        remember = self.guarantee in (ProgressGuarantee.OBE, ProgressGuarantee.LOBE)
        permitted = limit_runs(self.guarantee, self.test.scope_tree)
        return StateGraph(ThreadMachine(self.test, remember), self.deadline).find_hang(permitted)

    def _answer_by_executions(self) -> ProgressVerdict:
        """Look for an execution of the memory model after which threads are stuck."""
        guarantee = self.guarantee
        if guarantee is ProgressGuarantee.LOCKSTEP:
            placements = self.test.scope_tree.placements
            if len({placement.warp for placement in placements}) < len(placements):
                raise Undecidable("with warps of several threads, only sc can say whether all runs end in lockstep")
            guarantee = ProgressGuarantee.FAIR
        search = StuckSearch(self.test, self.model, guarantee, self.deadline)
        stuck = search.find()
        if stuck is not None:
            return self.verdict(ProgressAnswer.MAY_HANG, stuck.hang, stuck.execution)
        if search.doubt:
            raise Undecidable(search.doubt)
        if not self.model.plan.can_drop_reads:
            raise Undecidable(f"no hang was found, but under {self.model.name} each pass of a loop may matter")
        return self.verdict(ProgressAnswer.TERMINATES)
