"""Walk through the code of a lock: all short paths with unknown reads, or one path with known memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpudiy.litmus.comparison import Comparison
from gpudiy.litmus.instruction import Alu, AluOperation, Branch
from gpudiy.locks.execute import Executor
from gpudiy.locks.flow import Flow
from gpudiy.locks.lock_program import LockProgram, ends_thread
from gpudiy.locks.path import DecisionStep, LockPath
from gpudiy.locks.symbolic_value import (
    TRUE,
    AnyNumber,
    ComparedValues,
    GivenNumber,
    JoinedPredicates,
    Number,
    ReadValue,
    SymbolicValue,
    find_opaque,
    list_leaves,
    negate,
    rebuild,
)
from gpudiy.locks.unknown_number import is_possible
from gpudiy.locks.variable_names import VariableNames
from gpudiy.locks.walk_state import WalkState

MOST_ROUNDS = 1  # jumps back on a path: one failed attempt
MOST_PATHS = 400
MOST_STATEMENTS = 1000  # of one run with known memory


class Walker:
    """Walks through one program; `names` collects its variables."""

    def __init__(self, program: LockProgram) -> None:
        self.program = program
        self.flow = Flow(program)
        self.names = VariableNames(program)
        self.executor = Executor(program, self.flow, self.names)

    @property
    def variables(self) -> dict[str, int]:
        """Every variable that was accessed, and its width in bits."""
        return self.names.variables

    def find_paths(self) -> list[LockPath]:
        """All paths with at most one failed attempt, the shortest first; those that never enter come last."""
        found: list[LockPath] = []
        waiting = [WalkState()]
        while waiting:
            state = waiting.pop()
            ended = False
            while not ended:
                states = list(self.step(state))
                waiting += states[1:]
                if not states:
                    break
                state = states[0]
                ended = state.position >= self.flow.end
            if ended:
                found.append(self.make_path(state))
            if len(found) > MOST_PATHS:
                raise self.program.error(self.program.hole, f"this lock has too many paths (more than {MOST_PATHS})")
        return sorted(found, key=lambda path: (not path.entered, path.count_accesses_before(), len(path.acquired)))

    def run(self, thread: int, memory: Mapping[str, int], given: Mapping[str, int]) -> LockPath | None:
        """The path of a thread that runs alone from this memory; None if it never enters.

        Numbers that the thread receives and that are not in `given` are chosen so that it enters.
        """
        waiting = [WalkState(memory=dict(memory), given={**given, "%thread": thread})]
        for _ in range(MOST_PATHS):
            if not waiting:
                break
            state = waiting.pop(0)
            while state.position < self.flow.end and len(state.trace) < MOST_STATEMENTS:
                state, *others = self.step(state)  # with known memory no path ends early
                waiting += others
            if state.position == self.flow.end and self.program.hole in state.trace:
                return self.make_path(state)
        return None

    def make_path(self, state: WalkState) -> LockPath:
        """The path of a walk that has come to its end."""
        hole = next((index for index, at in enumerate(state.trace) if at == self.program.hole), None)
        memory = () if state.memory is None else tuple(state.memory.items())
        given = tuple((name, value) for name, value in state.given.items() if not name.startswith("%"))
        return LockPath(
            tuple(state.steps),
            tuple(state.trace[:hole]),
            () if hole is None else tuple(state.trace[hole + 1 :]),
            hole is not None,
            tuple(state.values),
            memory,
            () if state.held is None else tuple(state.held.items()),
            given,
        )

    def step(self, state: WalkState, bounded: bool = True) -> Iterator[WalkState]:
        """The states after the next statement; if `bounded`, none if the path has too many failed attempts."""
        for following, target in self._list_following(state):
            if not bounded or not self._is_too_long(following, target):
                following.position = target
                yield following

    def _list_following(self, state: WalkState) -> Iterator[tuple[WalkState, int]]:
        position = state.position
        statement = self.program.statements[position]
        while state.regions and state.regions[-1][0] == position:
            state.regions.pop()
        state.trace.append(position)
        instruction = statement.instruction
        if statement.guard is None and isinstance(instruction, Alu) and instruction.operation is AluOperation.SELP:
            yield from self._select(state, position, instruction)
            return
        if statement.guard is None:
            yield state, self.executor.execute(state, position)
            return
        name = statement.guard.predicate.name
        if name not in state.registers:
            raise self.program.error(position, f"predicate {name} is used before it is set")
        predicate = state.registers[name]
        predicate = negate(predicate) if statement.guard.negated else predicate
        branches = isinstance(instruction, Branch) or ends_thread(statement)
        end = self.flow.join(position) if branches else position + 1
        for way, taken in self._decide_predicate(state, predicate, position, end):
            yield way, self.executor.execute(way, position) if taken else position + 1

    def _select(self, state: WalkState, position: int, choice: Alu) -> Iterator[tuple[WalkState, int]]:
        """Choose between two values; everything after it may depend on the choice."""
        one, other, predicate = (self.executor.value(state, source, position) for source in choice.sources)
        for way, taken in self._decide_predicate(state, predicate, position, self.flow.end):
            way.registers[choice.destination.name] = one if taken else other
            yield way, position + 1

    def _is_too_long(self, state: WalkState, target: int) -> bool:
        if (state.position, target) not in self.flow.back_edges or state.memory is not None:
            return False
        state.rounds += 1
        return state.rounds > MOST_ROUNDS + (self.program.hole in state.trace)

    def _decide_predicate(
        self, state: WalkState, predicate: SymbolicValue, position: int, end: int
    ) -> Iterator[tuple[WalkState, bool]]:
        """The state with the predicate true and with it false, or only one of them if the predicate is known."""
        predicate = rebuild(predicate, lambda leaf: self.executor.known_leaf(state, leaf))
        if isinstance(predicate, Number):
            state.follow_decisions(end)
            yield state, bool(predicate.value)
            return
        if isinstance(predicate, JoinedPredicates):
            first, second = predicate.parts
            for way, truth in self._decide_predicate(state, first, position, end):
                if truth == predicate.every:
                    yield from self._decide_predicate(way, second, position, end)
                else:
                    yield way, truth
            return
        opaque = find_opaque(predicate)
        if opaque is not None or not isinstance(predicate, ComparedValues):
            raise self.executor.unsupported_error(opaque.position if opaque is not None else position)
        if any(isinstance(leaf, AnyNumber) for leaf in list_leaves(predicate)):
            yield from self._suppose(state, predicate, position, end)
            return
        known = self._known_truth(state, predicate)
        for truth in (True, False) if known is None else (known,):
            way = state.copy() if known is None and truth else state
            self._assume(way, predicate if truth else predicate.opposite(), position, end)
            yield way, truth

    def _suppose(
        self, state: WalkState, predicate: ComparedValues, position: int, end: int
    ) -> Iterator[tuple[WalkState, bool]]:
        """Both ways of a decision about a clock or a counter: no read decides it."""
        if any(isinstance(leaf, ReadValue) for leaf in list_leaves(predicate)):
            raise self.program.error(position, "this lock compares memory with a clock or with the counter of a loop")
        for truth in (True, False):
            supposed = state.supposed | {predicate if truth else predicate.opposite()}
            if is_possible(supposed):
                way = state.copy()
                way.supposed = supposed
                way.follow_decisions(end)
                yield way, truth

    def _known_truth(self, state: WalkState, predicate: ComparedValues) -> bool | None:
        if predicate in state.facts:
            return True
        if predicate.opposite() in state.facts:
            return False
        known = rebuild(predicate, lambda leaf: state.known.get(leaf, leaf) if isinstance(leaf, ReadValue) else leaf)
        return bool(known.value) if isinstance(known, Number) else None

    def _assume(self, state: WalkState, true: ComparedValues, position: int, end: int) -> None:
        """Continue under the assumption that a comparison is true."""
        at = state.facts.get(true)
        if at is None:
            at = len(state.steps)
            state.steps.append(DecisionStep(position, true, state.guard))
            state.facts[true] = at
        equal = true.comparison is Comparison.EQ and not true.inverted
        if equal and isinstance(true.left, ReadValue) and not isinstance(true.right, ReadValue):
            state.known.setdefault(true.left, true.right)
        if state.memory is not None:
            self._choose_number(state, true)
        state.regions.append((end, at))

    def _choose_number(self, state: WalkState, true: ComparedValues) -> None:
        """Give the thread a number that makes a comparison true."""
        for side, other in ((true.left, true.right), (true.right, true.left)):
            if isinstance(side, GivenNumber) and isinstance(other, Number):
                for number in (other.value, other.value + 1, other.value - 1):
                    known: dict[SymbolicValue, SymbolicValue] = {side: Number(number)}
                    if rebuild(true, lambda leaf: known.get(leaf, leaf)) == TRUE:  # noqa: B023
                        state.given[side.name] = number
                        return
