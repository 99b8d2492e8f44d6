"""The ways through a lock: every path that matters, however often its loops go round.

A round of a loop is left out of the ways if the walk comes back to the head of the loop in a state in which it was
there before, and the round changed nothing that other threads see: whatever an execution with this round shows, the
same execution without the events of the round shows, too. The counter of a loop that goes round any number of times,
and a clock, become unknown numbers: the exit on giving up is a way like any other. What this does not cover is a gap.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from gpudiy.errors import InputError
from gpudiy.litmus.instruction import AluOperation
from gpudiy.locks.path import AccessStep, DecisionStep, FenceStep, HoleStep, LockPath, LockStep
from gpudiy.locks.silence import Values, is_silent
from gpudiy.locks.symbolic_value import (
    AnyNumber,
    ComparedValues,
    ComputedValue,
    JoinedPredicates,
    Number,
    ReadValue,
    SymbolicAddress,
    SymbolicValue,
    list_leaves,
    rebuild,
)
from gpudiy.locks.walk import Walker
from gpudiy.locks.walk_state import LoopVisit, WalkState

MOST_WAYS = 400
MOST_VISITS = 6  # of one head of a loop on one way


@dataclass(frozen=True, slots=True)
class Gap:
    """Something about a lock that its ways do not cover, with its source line."""

    line: int
    text: str
    loud: bool = False  # a failed attempt changes what other threads see


class WayFinder:
    """Finds the ways of one walker; `values` are what the variables of the lock can hold."""

    def __init__(self, walker: Walker, values: Values) -> None:
        self.walker = walker
        self.values = values
        self.gaps: dict[str, Gap] = {}

    def find_ways(self) -> list[LockPath]:
        """All ways, the shortest first; `gaps` says what they do not cover."""
        found: list[LockPath] = []
        waiting = [WalkState()]
        while waiting:
            state: WalkState | None = waiting.pop()
            while state is not None and state.position < self.walker.flow.end:
                try:
                    states = [way for way in self.walker.step(state, bounded=False) if self._arrive(way)]
                except InputError as error:
                    self._add_gap(state.position, error.message)
                    states = []
                waiting += states[1:]
                state = states[0] if states else None
            if state is not None and self._is_written(state):
                found.append(self._make_way(state))
            if len(found) + len(waiting) > MOST_WAYS:
                self._add_gap(self.walker.program.hole, f"this lock has more than {MOST_WAYS} paths")
                break
        return sorted(found, key=lambda path: (not path.entered, path.count_accesses_before(), len(path.acquired)))

    def _add_gap(self, position: int, text: str, loud: bool = False) -> None:
        line = self.walker.program.statements[position].place.line
        self.gaps.setdefault(text, Gap(line, text, loud))

    def _is_written(self, state: WalkState) -> bool:
        """Whether the steps of a way can be instructions of a test."""
        for step in state.steps:
            if isinstance(step, AccessStep) and any(
                isinstance(leaf, AnyNumber) for source in step.sources for leaf in list_leaves(source)
            ):
                self._add_gap(step.position, f"this lock writes a clock or a counter to {step.variable}")
                return False
        return True

    def _arrive(self, state: WalkState) -> bool:
        """Whether to continue here: not at the head of a loop after a round that changed nothing."""
        head = state.position
        if self.walker.program.hole in state.trace and head == self.walker.program.hole:
            return self._end_before_next_use(state)
        if head not in self.walker.flow.heads:
            return True
        visits = state.visits.get(head, ())
        if visits:
            self._widen(state, visits)
        now = self._visit(state, head)
        for visit in visits:
            renamed = _match_visits(visit, now, state)
            if renamed is None or self.walker.program.hole in state.trace[visit.trace :]:
                continue
            loud = self._find_loud(state, visit)
            if loud is None:
                return False
            self._add_gap(
                loud.position, f"a failed attempt writes {loud.variable}: not every number of them is asked", loud=True
            )
            if len(visits) > 1:
                return False
            break
        if len(visits) >= MOST_VISITS:
            self._add_gap(head, "a loop whose rounds differ: not every number of them is asked")
            return False
        state.visits[head] = (*visits, now)
        return True

    def _end_before_next_use(self, state: WalkState) -> bool:
        """The thread enters a second time: end the way before the loop goes round, each use is asked on its own."""
        first = state.trace.index(self.walker.program.hole)
        again = [visit for visits in state.visits.values() for visit in visits if visit.trace > first]
        if again:
            start = min(again, key=lambda visit: visit.trace)
            del state.steps[start.steps :]
            del state.trace[start.trace :]
        state.position = self.walker.flow.end
        return True

    def _visit(self, state: WalkState, head: int) -> LoopVisit:
        live = self.walker.flow.live[head]
        registers = {name: value for name, value in state.registers.items() if name in live}
        facts = frozenset((*state.facts, *state.supposed))
        return LoopVisit(registers, dict(state.local), facts, len(state.steps), len(state.trace), state.guard)

    def _widen(self, state: WalkState, visits: tuple[LoopVisit, ...]) -> None:
        """Make unknown numbers of the counters of a loop: what has had three different values at its head."""
        for name in visits[-1].registers:
            now, before = state.registers[name], visits[-1].registers[name]
            if now == before or any(isinstance(leaf, ReadValue) for leaf in list_leaves(now)):
                continue
            if isinstance(before, AnyNumber) and before in list_leaves(now):
                counter = before if before.step is None or _is_next(now, before) else state.next_number()
                state.registers[name] = counter
                state.supposed = {fact for fact in state.supposed if before not in list_leaves(fact)}
            elif isinstance(now, Number) and len(visits) > 1 and isinstance(before, Number):
                earlier = visits[-2].registers.get(name)
                if isinstance(earlier, Number) and len({earlier, before, now}) == 3:
                    step = now.value - before.value
                    even = before.value - earlier.value == step
                    state.registers[name] = state.next_number(now.value if even else 0, step if even else None)

    def _find_loud(self, state: WalkState, visit: LoopVisit) -> AccessStep | None:
        """The first access since a visit that other threads can notice."""
        for step in state.steps[visit.steps :]:
            if isinstance(step, AccessStep) and not is_silent(step, state.facts, self.values):
                return step
        return None

    def _make_way(self, state: WalkState) -> LockPath:
        """The path of a walk; of the rounds of a loop that changed nothing, only the last is kept."""
        path = self.walker.make_path(state)
        hole = state.trace.index(self.walker.program.hole) if path.entered else len(state.trace)
        for visits in state.visits.values():
            before = [visit for visit in visits if visit.trace <= hole]
            if len(before) > 2 and self._is_unused(state, before[0], before[-2]):
                return replace(path, steps=_cut(path.steps, before[0], before[-2]))
        return path

    def _is_unused(self, state: WalkState, first: LoopVisit, last: LoopVisit) -> bool:
        """Whether the steps between two visits are silent, and nothing after them needs what they read."""
        between, after = state.steps[first.steps : last.steps], state.steps[last.steps :]
        reads = {step.read for step in between if isinstance(step, AccessStep)}
        silent = all(is_silent(s, state.facts, self.values) for s in between if isinstance(s, AccessStep))
        return silent and not any(leaf in reads for step in after for leaf in _list_used(step))


def is_covered(way: LockPath, other: LockPath, values: Values) -> bool:
    """Whether a way is another one with more failed attempts and fences: it shows nothing that the other does not."""
    facts = [step.compared for step in way.steps if isinstance(step, DecisionStep)]

    def match(at: int, there: int, reads: Mapping[SymbolicValue, SymbolicValue]) -> bool:
        if there < len(other.steps):
            wanted = other.steps[there]
            if isinstance(wanted, DecisionStep):
                return _rename(wanted.compared, reads) in facts and match(at, there + 1, reads)
        if at == len(way.steps):
            return there == len(other.steps)
        step = way.steps[at]
        if isinstance(step, DecisionStep):
            return match(at + 1, there, reads)
        if there < len(other.steps) and _is_same_step(step, other.steps[there], reads):
            wanted = other.steps[there]
            more = dict(reads)
            if isinstance(step, AccessStep) and isinstance(wanted, AccessStep) and step.read and wanted.read:
                more[wanted.read] = step.read
            if match(at + 1, there + 1, more):
                return True
        extra = isinstance(step, FenceStep) or (isinstance(step, AccessStep) and is_silent(step, facts, values))
        return extra and match(at + 1, there, reads)

    return match(0, 0, {})


def _is_same_step(step: LockStep, other: LockStep, reads: Mapping[SymbolicValue, SymbolicValue]) -> bool:
    match step, other:
        case AccessStep(), AccessStep():
            sources = tuple(_rename(source, reads) for source in other.sources)
            alike = _describe(step) == _describe(other) and step.variable == other.variable
            return alike and step.sources == sources
        case FenceStep(), FenceStep():
            return replace(step.instruction, guard=None) == replace(other.instruction, guard=None)
        case HoleStep(), HoleStep():
            return True
        case _:
            return False


def _describe(step: AccessStep) -> tuple[object, ...]:
    instruction = step.instruction
    return type(instruction), instruction.access, getattr(instruction, "operation", None)


def _rename(value: SymbolicValue, reads: Mapping[SymbolicValue, SymbolicValue]) -> SymbolicValue:
    return rebuild(value, lambda leaf: reads.get(leaf, leaf))


def _list_used(step: LockStep) -> list[SymbolicValue]:
    match step:
        case AccessStep(sources=sources):
            return [leaf for source in sources for leaf in list_leaves(source)]
        case DecisionStep(compared=compared):
            return list_leaves(compared)
        case FenceStep() | HoleStep():
            return []


def _is_next(now: SymbolicValue, before: AnyNumber) -> bool:
    """Whether a counter was increased by its step."""
    match now:
        case ComputedValue(operation=AluOperation.ADD, sources=(left, Number(value=step))):
            return left == before and step == before.step
        case ComputedValue(operation=AluOperation.SUB, sources=(left, Number(value=step))):
            return left == before and -step == before.step
        case _:
            return False


def _cut(steps: tuple[LockStep, ...], first: LoopVisit, last: LoopVisit) -> tuple[LockStep, ...]:
    """The steps without those between two visits; what depended on them depends on what the first visit depends on."""
    removed = last.steps - first.steps

    def move(guard: int | None) -> int | None:
        if guard is None or guard < first.steps:
            return guard
        return first.guard if guard < last.steps else guard - removed

    return (*steps[: first.steps], *(replace(step, guard=move(step.guard)) for step in steps[last.steps :]))


def _match_visits(before: LoopVisit, now: LoopVisit, state: WalkState) -> dict[SymbolicValue, SymbolicValue] | None:
    """The reads and clocks of an earlier visit with those that stand for them now; None if the visits differ."""
    places = {step.read: step.position for step in state.steps if isinstance(step, AccessStep) and step.read}
    renamed: dict[SymbolicValue, SymbolicValue] = {}
    if before.registers.keys() != now.registers.keys() or before.local.keys() != now.local.keys():
        return None
    pairs = [(value, now.registers[name]) for name, value in before.registers.items()]
    pairs += [(value, now.local[name]) for name, value in before.local.items()]
    for old, new in pairs:
        if not _match_values(old, new, renamed, places):
            return None
    changed = {old: new for old, new in renamed.items() if old != new}
    for fact in before.facts:
        concerned = any(leaf in changed or isinstance(leaf, AnyNumber) for leaf in list_leaves(fact))
        if concerned and _rename(fact, changed) not in now.facts:
            return None
    return renamed


def _match_values(
    old: SymbolicValue,
    new: SymbolicValue,
    renamed: dict[SymbolicValue, SymbolicValue],
    places: Mapping[ReadValue, int],
) -> bool:
    match old, new:
        case AnyNumber(step=None), AnyNumber(step=None):
            return renamed.setdefault(old, new) == new
        case ReadValue(), ReadValue():
            return places[old] == places[new] and renamed.setdefault(old, new) == new
        case ComputedValue(), ComputedValue():
            same = (old.operation, old.type, old.source_type) == (new.operation, new.type, new.source_type)
            sources = zip(old.sources, new.sources, strict=False)
            return same and all(_match_values(*pair, renamed, places) for pair in sources)
        case ComparedValues(), ComparedValues():
            same = (old.comparison, old.type, old.inverted) == (new.comparison, new.type, new.inverted)
            sides = ((old.left, new.left), (old.right, new.right))
            return same and all(_match_values(*pair, renamed, places) for pair in sides)
        case JoinedPredicates(), JoinedPredicates():
            pairs = zip(old.parts, new.parts, strict=True)
            return old.every == new.every and all(_match_values(*pair, renamed, places) for pair in pairs)
        case SymbolicAddress(), SymbolicAddress():
            return old.variable == new.variable and _match_values(old.offset, new.offset, renamed, places)
        case _:
            return old == new
