"""Dependencies that a C compiler may remove: results that are the same whatever the reads return.

Every thread is computed with many values for each read, among them all literals of the thread, their neighbours and
their differences. If a result depends on a read and never changes, a compiler may know it too.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from gpudiy.litmus import instruction as isa
from gpudiy.litmus.access import ScalarType
from gpudiy.litmus.arithmetic import CannotCompute, compare_values, compute_value, wrap_value
from gpudiy.litmus.condition import AddressOf
from gpudiy.litmus.test import Test, Thread

SAMPLES = 64
SMALL = (0, 1, 2, 3, -1)
Values = list[int]


def known_result(test: Test, thread: int) -> tuple[str, int] | None:
    """The first operation on a value that was read whose result a compiler may know, and that result; else None."""
    if not any(isinstance(instruction, (isa.Alu, isa.SetPredicate)) for instruction in test.threads[thread]):
        return None
    return _Trial(test, thread).find_known_result()


def needless_branch(thread: Thread) -> bool:
    """Whether both ways of a branch, or of two guards, do the same, so that a compiler may remove it."""
    labels = {each.name: place for place, each in enumerate(thread) if isinstance(each, isa.Label)}
    return any(_opposite(one, other) for one, other in pairwise(thread)) or any(
        _same_both_ways(thread, place + 1, labels[branch.target], labels)
        for place, branch in enumerate(thread)
        if isinstance(branch, isa.Branch) and branch.guard is not None
    )


def _opposite(one: Any, other: Any) -> bool:
    """Whether these are the same instruction, under a guard and under its opposite."""
    here, there = isa.guard_of(one), isa.guard_of(other)
    if here is None or there is None or here.predicate != there.predicate or here.negated == there.negated:
        return False
    return bool(replace(one, guard=None) == replace(other, guard=None))


def _same_both_ways(thread: Thread, start: int, target: int, labels: dict[str, int]) -> bool:
    """Whether a forward branch jumps over nothing, or over the same instructions that follow its target."""
    over = [each for each in thread[start:target] if not isinstance(each, isa.Label)]
    if target < start:
        return False
    if not over:
        return True
    last = over[-1]
    if not isinstance(last, isa.Branch) or last.guard is not None:
        return False
    there = [each for each in thread[target : labels[last.target]] if not isinstance(each, isa.Label)]
    return there == over[:-1]


@dataclass(slots=True)
class _Trial:
    """A thread computed with many values at once, in the order in which it is written."""

    test: Test
    thread: int
    dice: random.Random = field(default_factory=lambda: random.Random(0))
    registers: dict[str, Values] = field(default_factory=dict)
    read: set[str] = field(default_factory=set)  # registers whose value depends on a read

    def find_known_result(self) -> tuple[str, int] | None:
        types = {found.name: found.type for found in self.test.registers_of(self.thread)}
        interesting = self._list_interesting()
        for declared in self.test.registers_of(self.thread):
            initial = declared.initial
            address = isinstance(initial, AddressOf)
            self.registers[declared.name] = (
                self._draw_values(declared.type, ()) if address else [int(str(initial))] * SAMPLES
            )
        for instruction in self.test.threads[self.thread]:
            if isinstance(instruction, isa.Label):  # after a jump to here registers may hold anything
                self.registers |= {
                    name: self._draw_values(types[name], interesting) for name in self._list_destinations()
                }
                continue
            destination = isa.destination_of(instruction)
            if destination is None:
                continue
            type = types[destination.name]
            if isinstance(instruction, (isa.Load, isa.Atomic)):
                self._assign(instruction, destination.name, self._draw_values(type, interesting), True)
            elif isinstance(instruction, (isa.Alu, isa.SetPredicate)):
                values = self._compute_all(instruction)
                made = any(
                    isinstance(each, isa.Register) and each.name in self.read for each in isa.operands_of(instruction)
                )
                if made and len(set(values)) == 1:
                    return str(getattr(instruction, "operation", "setp")), values[0]
                self._assign(instruction, destination.name, values, made)
        return None

    def _assign(self, instruction: object, name: str, values: Values, read: bool) -> None:
        guard = isa.guard_of(instruction)  # type: ignore[arg-type]
        if guard is not None:
            runs = [bool(value) != guard.negated for value in self.registers[guard.predicate.name]]
            values = [new if now else old for new, old, now in zip(values, self.registers[name], runs, strict=True)]
            read = read or name in self.read or guard.predicate.name in self.read
        self.registers[name] = values
        (self.read.add if read else self.read.discard)(name)

    def _compute_all(self, instruction: isa.Alu | isa.SetPredicate) -> Values:
        columns = [self._operand(operand) for operand in instruction.sources]
        return [self._compute_one(instruction, list(row)) for row in zip(*columns, strict=True)]

    def _compute_one(self, instruction: isa.Alu | isa.SetPredicate, values: Values) -> int:
        try:
            if isinstance(instruction, isa.SetPredicate):
                return int(compare_values(instruction.comparison, values[0], values[1], instruction.type))
            return compute_value(instruction, values)
        except CannotCompute:
            return self.dice.getrandbits(63)

    def _operand(self, operand: isa.Operand) -> Values:
        if isinstance(operand, isa.Register):
            return self.registers[operand.name]
        return (
            [operand.value] * SAMPLES if isinstance(operand, isa.Immediate) else self._draw_values(ScalarType.S64, ())
        )

    def _draw_values(self, type: ScalarType, interesting: tuple[int, ...]) -> Values:
        """Values that a read may return: every second one is `interesting`, the others are random."""
        drawn: Callable[[], int] = lambda: self.dice.getrandbits(64)  # noqa: E731
        chosen = [self.dice.choice(interesting) if interesting and n % 2 else drawn() for n in range(SAMPLES)]
        return [wrap_value(value, type) for value in chosen]

    def _list_interesting(self) -> tuple[int, ...]:
        literals = {
            operand.value
            for instruction in self.test.threads[self.thread]
            for operand in isa.operands_of(instruction)
            if isinstance(operand, isa.Immediate)
        }
        between = {one - other for one in literals for other in literals}
        beside = {literal + step for literal in literals | between for step in (-1, 0, 1)}
        return (*SMALL, *sorted(beside - set(SMALL)))

    def _list_destinations(self) -> set[str]:
        found = (isa.destination_of(instruction) for instruction in self.test.threads[self.thread])
        return {destination.name for destination in found if destination is not None}
