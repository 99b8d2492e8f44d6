"""The registers of a thread, given the values that its reads have returned so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpudiy.devices.simulation.event import SimulatedEvent
from gpudiy.devices.simulation.program import SimulatedProgram
from gpudiy.litmus import instruction as isa
from gpudiy.litmus.arithmetic import compare_values, compute_value, wrap_value
from gpudiy.litmus.instruction import destination_of, guard_of

Held = dict[str, int | None]  # None: not known yet, it depends on a read that has not returned


class NotKnownYet(Exception):
    """The next instruction depends on a read that has not returned yet."""


@dataclass(slots=True)
class Reached:
    """The registers of a thread at a step; `there` is false if it has jumped past the step."""

    registers: Held
    there: bool
    given_up: bool = False  # a loop would need one more pass than was unrolled


def run_to(program: SimulatedProgram, thread: int, goal: int, values: Mapping[int, int]) -> Reached:
    """Run the thread from its start to a step; `values` are those that reads have returned, by event."""
    steps = program.steps[thread]
    held: Held = dict(program.start[thread])
    index = 0
    while index < goal:
        step = steps[index]
        instruction = step.instruction
        if instruction is None:
            return Reached(held, goal >= len(steps))
        guard = guard_of(instruction)
        runs: bool | None = True
        if guard is not None:
            predicate = held[guard.predicate.name]
            runs = None if predicate is None else bool(predicate) != guard.negated
        index += 1
        if isinstance(instruction, isa.Branch):
            if runs is None:
                raise NotKnownYet
            if runs:
                if step.jump is None:
                    return Reached(held, False, given_up=True)
                index = step.jump
            continue
        destination = destination_of(instruction)
        if destination is None or runs is False:
            continue
        if runs is None:
            held[destination.name] = None
        elif isinstance(instruction, (isa.Load, isa.Atomic)):
            event = program.by_step[thread, index - 1]
            value = values.get(event.number)
            held[destination.name] = None if value is None else wrap_value(value, instruction.access.type)
        else:
            assert isinstance(instruction, (isa.Alu, isa.SetPredicate))
            held[destination.name] = _calculate(program, held, instruction)
    return Reached(held, index == goal)


def runs_here(event: SimulatedEvent, registers: Held) -> bool:
    """Whether the guard of the event lets it run."""
    guard = guard_of(event.instruction)
    if guard is None:
        return True
    predicate = registers[guard.predicate.name]
    if predicate is None:
        raise NotKnownYet
    return bool(predicate) != guard.negated


def operand_value(program: SimulatedProgram, registers: Held, operand: isa.Operand) -> int | None:
    """The value of an operand; None if it is not known yet."""
    if isinstance(operand, isa.Immediate):
        return operand.value
    return registers[operand.name] if isinstance(operand, isa.Register) else program.address(operand.name)


def _calculate(program: SimulatedProgram, registers: Held, instruction: isa.Alu | isa.SetPredicate) -> int | None:
    numbers: list[int] = []
    for source in instruction.sources:
        value = operand_value(program, registers, source)
        if value is None:
            return None
        numbers.append(value)
    if isinstance(instruction, isa.SetPredicate):
        return int(compare_values(instruction.comparison, numbers[0], numbers[1], instruction.type))
    return compute_value(instruction, numbers)
