"""Runs that hang under a memory model: executions after which every unfinished thread is stuck.

A thread that waits in an await for ever reads, in the end, what coherence puts last. So a run hangs if an execution in
which the thread stops in front of the loop leaves in memory what the loop goes round with.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from gpudiy.litmus import instruction as isa
from gpudiy.litmus.condition import FinalRegister, FinalVariable, Observable, Value
from gpudiy.litmus.flow import memory_uses
from gpudiy.litmus.memory_types import location_types, wrap_value
from gpudiy.litmus.outcome import FinalState, final_state
from gpudiy.litmus.test import Test
from gpudiy.models.execution import Execution
from gpudiy.models.liveness import live_registers
from gpudiy.models.model import Model
from gpudiy.models.problems import OutOfTime, Undecidable
from gpudiy.models.progress.awaits import Await, find_awaits
from gpudiy.models.progress.barriers import BarrierKey
from gpudiy.models.progress.cut import cut_test
from gpudiy.models.progress.guarantee import EndlessRun, ProgressGuarantee, limit_runs
from gpudiy.models.progress.hang import Hang
from gpudiy.models.progress.machine import Action, Memory, Program, Registers
from gpudiy.models.verdict import Answer, Undecided, Verdict, decide


@dataclass(frozen=True, slots=True)
class Fate:
    """What becomes of a thread: it ends, or stops for ever before the instruction at `stop`.

    There it waits in an await or at a barrier, or is scheduled no more.
    """

    stop: int | None = None
    loop: Await | None = None
    barrier: bool = False

    @property
    def starved(self) -> bool:
        return self.stop is not None and self.loop is None and not self.barrier


@dataclass(frozen=True, slots=True)
class StuckRun:
    """An execution after which threads hang, and the passes that they repeat."""

    hang: Hang
    execution: Execution


class StuckSearch:
    """Looks for hanging runs of a test under a memory model; all loops of the test must be awaits."""

    def __init__(self, test: Test, model: Model, guarantee: ProgressGuarantee, deadline: float | None) -> None:
        self.test = test
        self.model = model
        self.guarantee = guarantee
        self.deadline = deadline
        self.programs = [Program(test, number) for number in range(len(test.threads))]
        self.awaits = [find_awaits(thread, number) for number, thread in enumerate(test.threads)]
        self.live = [live_registers(thread, frozenset()) for thread in test.threads]
        self.types = location_types(test)
        self.locations = test.memory_map.locations()
        self.doubt = ""  # why an answer "no" would be no promise
        self._check_barriers()

    def find(self) -> StuckRun | None:
        """A run that hangs, if there is one; raises `Undecided` if the model cannot decide."""
        permitted = limit_runs(self.guarantee, self.test.scope_tree)
        for fates in product(*(list(self._fates(number)) for number in range(len(self.programs)))):
            run = _endless_run(fates, self.programs)
            if run is None or not permitted(run):
                continue
            found = self._find_execution(fates, run)
            if found is not None:
                return found
        return None

    def _check_barriers(self) -> None:
        for number, thread in enumerate(self.test.threads):
            for each in thread:
                if isinstance(each, isa.Barrier) and (
                    each.count is not None or not each.mode.waits or not isinstance(each.identifier, isa.Immediate)
                ):
                    raise Undecidable(
                        f"P{number} has a barrier with a count, and branches: only sc can say whether all runs end"
                    )

    def _fates(self, number: int) -> Iterator[Fate]:
        code = self.programs[number].code
        yield Fate()
        for loop in self.awaits[number]:
            yield Fate(loop.head, loop)
        for index, each in enumerate(code):
            if isinstance(each, isa.Barrier):
                yield Fate(index, barrier=True)
        if not code or self.guarantee in (ProgressGuarantee.FAIR, ProgressGuarantee.LOCKSTEP):
            return
        yield Fate(0)
        if self.guarantee is ProgressGuarantee.HSA:
            heads = {loop.head for loop in self.awaits[number]}
            for index, each in enumerate(code):
                if index and (index in heads or isinstance(each, (isa.Store, isa.Atomic, isa.Reduce, isa.Barrier))):
                    yield Fate(index)

    def _find_execution(self, fates: Sequence[Fate], run: EndlessRun) -> StuckRun | None:
        shown: dict[Observable, None] = {}
        for number, fate in enumerate(fates):
            if fate.loop is not None:
                shown.update((FinalRegister(number, name), None) for name in self.live[number][fate.loop.head])
                shown.update((FinalVariable(name), None) for name in self._read_in(number, fate.loop))
        cut = cut_test(self.test, [fate.stop for fate in fates], tuple(shown))
        verdict = self._decide(cut.test)
        assert verdict.outcomes is not None
        seen: dict[tuple[Value, ...], list[FinalState]] = {}
        for outcome, execution in verdict.outcomes.items():
            state = final_state(cut.test, outcome)
            if not self._can_wait(fates, {key: state[term] for key, term in cut.passed.items()}):
                continue
            passes = self._passes(fates, state)
            if passes is not None:
                return StuckRun(Hang((), passes, run), execution)
            registers = tuple(value for term, value in state.items() if isinstance(term, FinalRegister))
            seen.setdefault(registers, []).append(state)
        if any(len(states) > 1 and self._alternates(fates, states) for states in seen.values()):
            self.doubt = "a loop may read now one, now another of the last writes to a location"
        return None

    def _decide(self, test: Test) -> Verdict:
        limit = None if self.deadline is None else self.deadline - time.monotonic()
        if limit is not None and limit <= 0:
            raise OutOfTime
        verdict = decide(test, self.model, limit=limit, all_outcomes=True)
        if verdict.answer is Answer.OUT_OF_TIME:
            raise OutOfTime
        if verdict.outcomes is None:
            raise Undecided(verdict)
        if verdict.bounded:
            self.doubt = f"a loop may go round more than {verdict.unroll} times"
        return verdict

    def _read_in(self, number: int, loop: Await) -> list[str]:
        """The locations that a loop may read."""
        return sorted(
            {
                self.locations[name]
                for use in memory_uses(self.test)
                if use.thread == number and loop.head <= use.position <= loop.end
                for name in use.targets
            }
        )

    def _passes(self, fates: Sequence[Fate], state: FinalState) -> tuple[Action, ...] | None:
        """One pass of each loop in which a thread is stuck; None if some thread is not stuck with this memory."""
        memory = self._memory(state)
        found: list[Action] = []
        for number, fate in enumerate(fates):
            if fate.loop is not None:
                actions = self._endless_pass(number, fate.loop, self._registers(number, state), memory)
                if actions is None:
                    return None
                found += actions
        return tuple(found)

    def _memory(self, state: FinalState) -> Memory:
        names = dict.fromkeys(self.locations.values())
        return tuple(
            wrap_value(state.get(FinalVariable(name), 0), self.types[name]) if name in self.types else 0
            for name in names
        )

    def _registers(self, number: int, state: FinalState) -> Registers:
        return tuple(
            wrap_value(state.get(FinalRegister(number, declaration.name), 0), declaration.type)
            for declaration in self.test.registers_of(number)
        )

    def _endless_pass(self, number: int, loop: Await, registers: Registers, memory: Memory) -> list[Action] | None:
        """What a thread does again and again in a loop; None if it leaves the loop, or writes."""
        program = self.programs[number]
        position = loop.head
        actions: list[Action] = []
        seen: dict[tuple[int, Registers], int] = {}
        while loop.head <= position <= loop.end:
            if (position, registers) in seen:
                return actions[seen[position, registers] :]
            seen[position, registers] = len(actions)
            instruction = program.code[position]
            position += 1
            if not program.runs(instruction, registers):
                continue
            match instruction:
                case isa.Load() | isa.Store() | isa.Atomic() | isa.Reduce():
                    registers, _, value, wrote = program.access(instruction, registers, memory)
                    if wrote:
                        return None
                    actions.append(Action(number, position - 1, value))
                case isa.Alu() | isa.SetPredicate():
                    registers = program.compute(instruction, registers)
                case isa.Branch(target=target):
                    position = program.labels[target]
                case isa.Fence() | isa.Label() | isa.ProxyFence() | isa.Barrier():
                    pass
        return None

    def _alternates(self, fates: Sequence[Fate], states: list[FinalState]) -> bool:
        """Whether all waiting threads could go round if each read returned any of these memories' values."""
        memories = [self._memory(state) for state in states]
        return all(
            self._comes_round(number, fate.loop, self._registers(number, states[0]), memories)
            for number, fate in enumerate(fates)
            if fate.loop is not None
        )

    def _comes_round(self, number: int, loop: Await, registers: Registers, memories: list[Memory]) -> bool:
        program = self.programs[number]
        pending = [(loop.head, registers)]
        seen = set(pending)
        while pending:
            position, registers = pending.pop()
            instruction = program.code[position]
            following: list[tuple[int, Registers]] = []
            if not program.runs(instruction, registers):
                following = [(position + 1, registers)]
            elif isinstance(instruction, (isa.Load, isa.Store, isa.Atomic, isa.Reduce)):
                for memory in memories:
                    after, _, _, wrote = program.access(instruction, registers, memory)
                    following += [] if wrote else [(position + 1, after)]
            elif isinstance(instruction, (isa.Alu, isa.SetPredicate)):
                following = [(position + 1, program.compute(instruction, registers))]
            elif isinstance(instruction, isa.Branch):
                target = program.labels[instruction.target]
                if target <= position:
                    return True
                following = [(target, registers)]
            else:
                following = [(position + 1, registers)]
            for point in following:
                if loop.head <= point[0] <= loop.end and point not in seen:
                    seen.add(point)
                    pending.append(point)
        return False

    def _can_wait(self, fates: Sequence[Fate], passed: dict[tuple[int, int], Value]) -> bool:
        """Whether those who passed barriers could, and those who wait at one do so for ever.

        A barrier waits for all threads that are awaited there and have not finished.
        """
        visits: list[dict[BarrierKey, int]] = []
        for number, program in enumerate(self.programs):
            counts: dict[BarrierKey, int] = {}
            for index, each in enumerate(program.code):
                if isinstance(each, isa.Barrier) and passed.get((number, index)):
                    key = program.barrier(each, program.initial)[0]
                    counts[key] = counts.get(key, 0) + 1
            visits.append(counts)
        waiting = [self._barrier_of(number, fate) for number, fate in enumerate(fates)]

        def awaited(key: BarrierKey) -> list[int]:
            """How often those that are awaited at a barrier came to it."""
            return [
                visits[other].get(key, 0) + (waiting[other] == key)
                for other, fate in enumerate(fates)
                if fate.stop is not None and self.programs[other].is_awaited_at(key)
            ]

        for number in range(len(fates)):
            if any(came < count for key, count in visits[number].items() for came in awaited(key)):
                return False
            own = waiting[number]
            if own is not None and min(awaited(own)) > visits[number].get(own, 0):
                return False
        return True

    def _barrier_of(self, number: int, fate: Fate) -> BarrierKey | None:
        if not fate.barrier or fate.stop is None:
            return None
        program = self.programs[number]
        instruction = program.code[fate.stop]
        assert isinstance(instruction, isa.Barrier)
        return program.barrier(instruction, program.initial)[0]


def _endless_run(fates: Sequence[Fate], programs: Sequence[Program]) -> EndlessRun | None:
    """The run in which threads have these fates; None if it ends, or stops where nothing makes it stop."""
    running = frozenset(number for number, fate in enumerate(fates) if fate.loop is not None)
    starved = frozenset(number for number, fate in enumerate(fates) if fate.starved)
    if all(fate.stop is None for fate in fates) or (starved and not running):
        return None
    started = frozenset(
        number for number, fate in enumerate(fates) if not (fate.starved and fate.stop == 0) and programs[number].code
    )
    return EndlessRun(running, starved, started)
