"""Tests as a harness runs them: loops end after so many passes, and then the thread says that it was cut.

A thread that waits for a store it never sees, as behind a stale line of L1, would wait for ever, and all other
instances of the launch with it. A thread with loops counts their passes; when there are too many, it leaves them and
goes on. One more observed value per such thread says whether this happened: those instances are discarded.

The counter starts far from 0, so that seven of eight values are below the end of it: which keeps both ways open for the
samples of optcheck. It goes on beyond the end, so that loops that come later are left at once.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import lru_cache
from itertools import chain, count
from typing import NamedTuple

from gpudiy.litmus.access import ScalarType
from gpudiy.litmus.comparison import Comparison
from gpudiy.litmus.condition import FinalRegister
from gpudiy.litmus.dependencies import branch_targets
from gpudiy.litmus.instruction import (
    Alu,
    AluOperation,
    Branch,
    Guard,
    Immediate,
    Instruction,
    Register,
    SetPredicate,
)
from gpudiy.litmus.test import RegisterDeclaration, Test, Thread

MOST_PASSES = 1 << 14  # of all loops of a thread: some milliseconds on a GPU
END_OF_PASSES = 0x60000000


def has_loops(thread: Thread) -> bool:
    """Whether the thread may come back to an instruction."""
    return bool(_back_branches(thread))


def count_cut_flags(test: Test) -> int:
    """The observed values, the last ones of the test as it runs, that say whether a thread was cut."""
    return sum(map(has_loops, test.threads))


@lru_cache(1 << 12)
def bound_loops(test: Test) -> Test:
    """The test as it runs: itself if it has no loops."""
    if not any(map(has_loops, test.threads)):
        return test
    threads, registers, flags = [], list(test.registers), []
    for number, thread in enumerate(test.threads):
        if not has_loops(thread):
            threads.append(thread)
            continue
        taken = {declaration.name for declaration in test.registers_of(number)}
        names = _Names(*(_find_unused(name, taken) for name in _Names._fields))
        threads.append(_bound_thread(thread, names))
        registers += (
            RegisterDeclaration(number, names.passes, ScalarType.S32, END_OF_PASSES - MOST_PASSES),
            RegisterDeclaration(number, names.again, ScalarType.PRED),
            RegisterDeclaration(number, names.cut, ScalarType.S32),
        )
        flags.append(FinalRegister(number, names.cut))
    return replace(
        test,
        threads=tuple(threads),
        registers=tuple(sorted(registers, key=lambda declaration: declaration.thread)),
        locations=(*test.locations, *flags),
    )


class _Names(NamedTuple):
    """The registers that a thread with loops has besides its own."""

    passes: str
    again: str
    cut: str


def _bound_thread(thread: Thread, names: _Names) -> Thread:
    """A branch back is taken only if there were not too many; otherwise the thread goes on as if the loop had ended."""
    back = _back_branches(thread)
    bounded: list[Instruction] = []
    for position, instruction in enumerate(thread):
        bounded += _bound_branch(instruction, names) if position in back else (instruction,)
    passes, again = Register(names.passes), Register(names.again)
    flag = Alu(AluOperation.SELP, ScalarType.S32, Register(names.cut), (Immediate(0), Immediate(1), again))
    return (*bounded, _compare(passes, again), flag)


def _bound_branch(branch: Instruction, names: _Names) -> Thread:
    assert isinstance(branch, Branch)
    passes, again = Register(names.passes), Register(names.again)
    counted = Alu(AluOperation.ADD, ScalarType.S32, passes, (passes, Immediate(1)))
    bounded = Branch(branch.target, Guard(again))
    if branch.guard is None:
        return counted, _compare(passes, again), bounded
    holds = branch.guard.predicate
    if not branch.guard.negated:
        both = Alu(AluOperation.AND, ScalarType.PRED, again, (again, holds))
        return counted, _compare(passes, again), both, bounded
    either = Alu(AluOperation.OR, ScalarType.PRED, again, (again, holds))
    return (
        counted,
        SetPredicate(Comparison.GE, ScalarType.S32, again, (passes, Immediate(END_OF_PASSES))),
        either,
        Branch(branch.target, Guard(again, negated=True)),
    )


def _compare(passes: Register, again: Register) -> SetPredicate:
    return SetPredicate(Comparison.LT, ScalarType.S32, again, (passes, Immediate(END_OF_PASSES)))


def _back_branches(thread: Thread) -> set[int]:
    """The places of branches to a place before them, or to themselves."""
    if not any(isinstance(instruction, Branch) for instruction in thread):
        return set()
    return {place for place, target in branch_targets(thread).items() if target <= place}


def _find_unused(name: str, taken: Collection[str]) -> str:
    names = chain((name,), (f"{name}_{number}" for number in count()))
    return next(one for one in names if one not in taken)
