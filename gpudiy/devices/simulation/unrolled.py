"""Threads without loops: the code of a thread, repeated so that every jump goes forward."""

from __future__ import annotations

from dataclasses import dataclass

from gpudiy.litmus.instruction import Branch, Instruction, Label
from gpudiy.litmus.test import Thread

PASSES = 4  # passes of a loop, after which an instance is given up


@dataclass(frozen=True, slots=True)
class UnrolledStep:
    """One instruction of the unrolled code; `jump` is the target of a branch; None after the last pass.

    A step without an instruction ends the thread.
    """

    position: int  # in the thread as written
    instruction: Instruction | None
    jump: int | None = None


def unroll_thread(thread: Thread) -> tuple[UnrolledStep, ...]:
    """The thread, with its loops repeated once for each pass; what lies before all loops is there only once."""
    labels = {each.name: position for position, each in enumerate(thread) if isinstance(each, Label)}
    backward = [
        labels[each.target]
        for position, each in enumerate(thread)
        if isinstance(each, Branch) and labels[each.target] <= position
    ]
    passes = PASSES if backward else 1
    starts: list[tuple[int, int]] = []  # of each pass: its first step, and the position in the thread it begins at
    total = 0
    for number in range(passes):
        begin = 0 if number == 0 else min(backward)
        starts.append((total, begin))
        total += len(thread) - begin + 1
    steps: list[UnrolledStep] = []
    for number, (_, begin) in enumerate(starts):
        for position in range(begin, len(thread)):
            instruction = thread[position]
            jump = None
            if isinstance(instruction, Branch):
                target = labels[instruction.target]
                goal = number + (target <= position)
                if goal < passes:
                    jump = starts[goal][0] + target - starts[goal][1]
            steps.append(UnrolledStep(position, instruction, jump))
        steps.append(UnrolledStep(len(thread), None))
    return tuple(steps)
