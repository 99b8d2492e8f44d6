"""Data races: a pair of conflicting accesses that nothing orders, in an execution that a model permits.

What a race is comes from the file of the model: `flag ~empty … as race`. A model without such a flag says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from gpudiy.litmus.condition import And, Condition, Quantifier
from gpudiy.litmus.dependencies import DependencyRule
from gpudiy.litmus.instruction import Instruction
from gpudiy.litmus.loading import read
from gpudiy.litmus.test import Test
from gpudiy.models.event import Event
from gpudiy.models.execution import Execution
from gpudiy.models.exploration import Engine
from gpudiy.models.library import load_model
from gpudiy.models.model import CompiledCheck, Model
from gpudiy.models.problems import Undecidable
from gpudiy.models.progress.awaits import find_awaits, loop_heads
from gpudiy.models.search_plan import Growth, growths
from gpudiy.models.verdict import NO_RUN_REASON, Answer, Verdict, decide

RACE = "race"  # how the names of flags begin that say what a race is
ENOUGH = 2  # passes of a loop that only waits


@dataclass(frozen=True, slots=True)
class RacingAccess:
    """One of the accesses of a race; `position` is its place among the instructions of its thread, counted from 0."""

    thread: int
    position: int
    instruction: Instruction
    event: int  # its number in the execution


@dataclass(frozen=True, slots=True)
class Race:
    """Accesses that race: two, or those that the model's own flag is about."""

    accesses: tuple[RacingAccess, ...]


@dataclass(frozen=True, slots=True)
class RaceVerdict:
    """Whether some run of a test that ends has a data race.

    `races` are those of one execution, which is the witness. `verdict` is about the outcome "there is a race".
    """

    test: Test
    model: Model
    verdict: Verdict
    races: tuple[Race, ...] = ()

    def __repr__(self) -> str:
        return f"<RaceVerdict {self.test.name}: {self.answer} by {self.model.name}>"

    @property
    def answer(self) -> str:
        """races, race-free, or the word for why it is undecided."""
        if self.verdict.undecided:
            return str(self.verdict.answer)
        return "races" if self.verdict.allowed else "race-free"

    @property
    def execution(self) -> Execution | None:
        return self.verdict.execution

    @property
    def reason(self) -> str:
        return self.verdict.reason


def find_race(
    test: Test | str | Path,
    model: Model | str | Path,
    *,
    engine: Engine = Engine.AUTO,
    unroll: int | None = None,
    limit: float | None = None,
    dependencies: DependencyRule = DependencyRule.SYNTACTIC,
) -> RaceVerdict:
    """Whether a test has a data race under a model: `find_race(gpudiy.read("mp.litmus"), "ptx-6.0").answer`.

    Only runs that end are looked at; loops go round at most `unroll` times, without it as often as there is time for.
    "race-free" is said only where more passes would show no more races. Initial writes race with nothing.
    """
    test = test if isinstance(test, Test) else read(test)
    model = load_model(model)
    flags = [check for check in model.checks if check.flagged and check.name.partition("-")[0] == RACE]
    if not flags:
        reason = f"the model {model.name} does not say what a data race is: it has no `flag ~empty … as {RACE}`"
        return RaceVerdict(test, model, Verdict(test, model, Answer.NOT_SUPPORTED, reason=reason))
    any_end = replace(test, condition=Condition(Quantifier.EXISTS, And(())), locations=())
    found: Verdict | None = None
    enough = (unroll is None or unroll >= ENOUGH) and _only_waits(test)
    for flag in flags:
        required = _requiring(model, flag)
        verdict = decide(
            any_end, required, engine, ENOUGH if unroll is None else unroll, limit, dependencies=dependencies
        )
        if verdict.answer is Answer.BOUNDED:
            if enough and _can_drop_passes(model, flag):
                verdict = replace(verdict, answer=Answer.FORBIDDEN, reason="")
            elif unroll is None:
                verdict = decide(any_end, required, engine, None, limit, dependencies=dependencies)
        if verdict.answer is Answer.NO_RUN:  # none with a race; whether there is any is asked below
            verdict = replace(verdict, answer=Answer.FORBIDDEN, reason="")
        if verdict.allowed:
            assert verdict.execution is not None
            shown = replace(verdict, test=test, model=model)
            return RaceVerdict(test, model, shown, tuple(_races(model, flag, verdict.execution)))
        found = verdict if found is None or not found.undecided else found
    assert found is not None
    if not found.undecided:
        found = _check_runs(found, decide(any_end, model, engine, unroll, limit, dependencies=dependencies))
    elif found.answer is Answer.BOUNDED:
        found = replace(found, reason=f"no race was found, but {found.reason}")
    return RaceVerdict(test, model, replace(found, test=test, model=model))


def _requiring(model: Model, flag: CompiledCheck) -> Model:
    """The model that permits only executions that the flag is raised for."""
    steps = [replace(step, flagged=False) if step is flag else step for step in model.steps]
    return replace(model, steps=steps)


def _check_runs(found: Verdict, runs: Verdict) -> Verdict:
    """No race was found: a promise only if there is a run at all."""
    if runs.allowed:
        return found
    return replace(found, answer=runs.answer if runs.undecided else Answer.NO_RUN, reason=runs.reason or NO_RUN_REASON)


def _only_waits(test: Test) -> bool:
    """Whether all loops of a test are awaits, none in another.

    Then no run has other races than those with at most one pass that goes round again. For such passes only read, so at
    most one of the two accesses of a race is in one of them; the others can be left out of the execution, if
    `_can_drop_passes`.
    """
    try:
        found = [len(find_awaits(thread, number)) for number, thread in enumerate(test.threads)]
    except Undecidable:
        return False
    return found == [len(loop_heads(thread)) for thread in test.threads]


def _can_drop_passes(model: Model, flag: CompiledCheck) -> bool:
    """Whether an execution without some of its reads and fences is still permitted and has the races of those left."""
    fewer = growths(model, {}, through_others=Growth.GROWS)[flag.slot]
    return model.plan.can_drop_reads and flag.test == "empty" and fewer in (Growth.EXACT, Growth.SHRINKS)


def _races(model: Model, flag: CompiledCheck, execution: Execution) -> Iterator[Race]:
    """What the flag is about, each pair once."""
    a, slot = execution.skeleton.algebra, execution.slots[flag.slot]
    positions = list(_positions(execution.skeleton.test, execution.events))

    def access(event: int) -> RacingAccess:
        found = execution.events[event]
        assert found.instruction is not None
        return RacingAccess(found.thread, positions[event], found.instruction, event)

    if flag.test != "empty":
        return
    if slot.bit_length() <= a.size and _is_set(model, flag):
        yield from (Race((access(event),)) for event in a.members(slot) if not execution.events[event].initial)
        return
    for pair in dict.fromkeys(tuple(sorted(pair)) for pair in a.pairs(slot)):
        yield Race(tuple(access(event) for event in pair if not execution.events[event].initial))


def _is_set(model: Model, flag: CompiledCheck) -> bool:
    return any(operand.slot == flag.slot and operand.is_set for operand in model.named.values())


def _positions(test: Test, events: tuple[Event, ...]) -> Iterator[int]:
    """The place of the instruction of each event in its thread: the next such one behind that of the event before."""
    last = dict.fromkeys(range(len(test.threads)), 0)
    for event in events:
        if event.instruction is None:
            yield -1
            continue
        thread = test.threads[event.thread]
        order = [*range(last[event.thread], len(thread)), *range(last[event.thread])]
        position = next(place for place in order if thread[place] == event.instruction)
        last[event.thread] = position
        yield position
