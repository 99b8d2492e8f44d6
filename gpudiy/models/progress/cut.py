"""Tests cut short: each thread runs to its end, or up to a place where it stops for ever, and no loop goes round.

An execution of such a test says what memory and registers hold when threads are stuck.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpudiy.litmus import instruction as isa
from gpudiy.litmus.access import ScalarType
from gpudiy.litmus.comparison import Comparison
from gpudiy.litmus.condition import And, Compare, Condition, Constant, Expression, FinalRegister, Observable, Quantifier
from gpudiy.litmus.test import RegisterDeclaration, Test

ENDED, STOPPED, ROUND_AGAIN = 0, 1, 2  # how a thread came to its end


@dataclass(frozen=True, slots=True)
class CutTest:
    """A test cut short; `passed` are the registers that say that a thread is behind a barrier, by thread and place."""

    test: Test
    passed: dict[tuple[int, int], FinalRegister]


def cut_test(test: Test, stops: Sequence[int | None], shown: Sequence[Observable]) -> CutTest:
    """The test in which each thread stops before the instruction at its position; None lets it end.

    Only executions count in which each thread does so and no loop goes round. `shown` is what outcomes show beside the
    barriers that were passed.
    """
    fate = _fresh("fate", test)
    threads = []
    registers = list(test.registers)
    passed: dict[tuple[int, int], FinalRegister] = {}
    wanted: list[Expression] = []
    for number, stop in enumerate(stops):
        cut = _Cut(test, number, fate, stop)
        threads.append(cut.code())
        registers.append(RegisterDeclaration(number, fate, ScalarType.S32))
        for place, name in cut.passed.items():
            registers.append(RegisterDeclaration(number, name, ScalarType.S32))
            passed[number, place] = FinalRegister(number, name)
        how = Constant(ENDED if stop is None else STOPPED)
        wanted.append(Compare(Comparison.EQ, FinalRegister(number, fate), how))
    asked = wanted[0] if len(wanted) == 1 else And(tuple(wanted))
    return CutTest(
        replace(
            test,
            threads=tuple(threads),
            registers=tuple(registers),
            condition=Condition(Quantifier.EXISTS, asked),
            filter=asked,
            locations=(*shown, *passed.values()),
        ),
        passed,
    )


class _Cut:
    """One thread of a test cut short."""

    def __init__(self, test: Test, number: int, fate: str, stop: int | None) -> None:
        self.test = test
        self.thread = test.threads[number]
        self.fate = fate
        self.stop = stop
        self.labels = {each.name: index for index, each in enumerate(self.thread) if isinstance(each, isa.Label)}
        self.end, self.again = _fresh("END", test), _fresh("AGAIN", test)
        self.passed: dict[int, str] = {}

    def code(self) -> tuple[isa.Instruction, ...]:
        if self.stop == 0:
            return (self._set(self.fate, STOPPED, None),)
        made: list[isa.Instruction] = []
        for index, instruction in enumerate(self.thread):
            guard = isa.guard_of(instruction)
            if index == self.stop:
                at_barrier = guard if isinstance(instruction, isa.Barrier) else None
                made += [self._set(self.fate, STOPPED, at_barrier), isa.Branch(self.end, at_barrier)]
            if isinstance(instruction, isa.Branch) and self.labels[instruction.target] <= index:
                instruction = replace(instruction, target=self.again)
            made.append(instruction)
            if isinstance(instruction, isa.Barrier):
                self.passed[index] = _fresh(f"passed{index}", self.test)
                made.append(self._set(self.passed[index], 1, guard))
        tail: list[isa.Instruction] = [
            isa.Branch(self.end),
            isa.Label(self.again),
            self._set(self.fate, ROUND_AGAIN, None),
            isa.Label(self.end),
        ]
        return (*made, *tail)

    @staticmethod
    def _set(name: str, value: int, guard: isa.Guard | None) -> isa.Alu:
        return isa.Alu(isa.AluOperation.MOV, ScalarType.S32, isa.Register(name), (isa.Immediate(value),), guard=guard)


def _fresh(name: str, test: Test) -> str:
    """A name that nothing in the test has."""
    taken = {declaration.name for declaration in test.registers} | set(test.memory_map.names)
    taken |= {each.name for thread in test.threads for each in thread if isinstance(each, isa.Label)}
    while name in taken:
        name += "_"
    return name
