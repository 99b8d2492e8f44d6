"""Instructions of a machine after which threads may go on elsewhere, or wait."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from optcheck.lane_machine import GONE, ROWS, LaneMachine
from optcheck.lane_memory import BARRIER, MachineFailure
from optcheck.lane_values import Threads, wide
from optcheck.machine_code import CODE, NATIVE, STEP
from optcheck.sass import NameOperand, NumberOperand, PredicateOperand, RegisterOperand, SassInstruction, successor

Run = Callable[[LaneMachine, Threads, int], None]
OF_CTA, OF_WARP = -1, -2  # what threads wait for
RETURN = "R20"


def _target(machine: LaneMachine, at: int) -> int:
    target = machine.code.targets.get(at)
    if target is None:
        raise MachineFailure("the target of a jump is not in the listing", False)
    return target


def jump_to(machine: LaneMachine, threads: Threads, addresses: NDArray[np.uint64]) -> None:
    """Threads go on at addresses of instructions, or call functions that are not in the code."""
    native = addresses >> np.uint64(32) == NATIVE >> 32
    if native.any():
        machine.native(machine, threads[native], addresses[native].astype(np.uint32))
    threads, addresses = threads[~native], addresses[~native]
    places = (addresses - np.uint64(CODE)).astype(np.int64)
    if (places % STEP).any() or (places < 0).any() or (places >= STEP * len(machine.code.instructions)).any():
        raise MachineFailure("a jump goes to an address that is not code")
    machine.place[threads] = places // STEP


def return_from(machine: LaneMachine, threads: Threads) -> None:
    """Threads go back to where a function was called, by the ABI."""
    low, high = machine.read(threads, RETURN), machine.read(threads, successor(RETURN, 1))
    jump_to(machine, threads, wide(low, high))


def _branch(instruction: SassInstruction) -> Run:
    conditions = [one for one in instruction.operands if isinstance(one, PredicateOperand)]
    if instruction.modifiers not in ((), ("U",)) or len(instruction.operands) > 2:
        raise ValueError

    def run(machine: LaneMachine, threads: Threads, at: int) -> None:
        taken = threads
        for one in conditions:
            taken = taken[(machine.read(taken, one.name) != 0) != one.negated]
        if len(taken) < len(threads):
            machine.coverage.skipped[at] = True
        machine.place[taken] = _target(machine, at)

    return run


def _call(instruction: SassInstruction) -> Run:
    """CALL.NOINC keeps no return address: it jumps."""
    if instruction.modifiers not in (("ABS", "NOINC"), ("REL", "NOINC")) or len(instruction.operands) != 1:
        raise ValueError
    place = instruction.operands[0]

    def run(machine: LaneMachine, threads: Threads, at: int) -> None:
        if isinstance(place, RegisterOperand):
            low, high = machine.read(threads, place.name), machine.read(threads, successor(place.name, 1))
            jump_to(machine, threads, wide(low, high))
        else:
            machine.place[threads] = _target(machine, at)

    return run


def _return(instruction: SassInstruction) -> Run:
    if instruction.modifiers != ("ABS", "NODEC") or len(instruction.operands) != 2:
        raise ValueError
    place, offset = instruction.operands
    if not isinstance(place, RegisterOperand) or offset != NumberOperand(0):
        raise ValueError

    def run(machine: LaneMachine, threads: Threads, at: int) -> None:
        low, high = machine.read(threads, place.name), machine.read(threads, successor(place.name, 1))
        jump_to(machine, threads, wide(low, high))

    return run


def _exit(instruction: SassInstruction) -> Run:
    if instruction.modifiers or instruction.operands:
        raise ValueError

    def run(machine: LaneMachine, threads: Threads, at: int) -> None:
        machine.place[threads] = GONE
        machine.release_groups(OF_CTA, machine.lanes.cta)
        machine.release_groups(OF_WARP, machine.lanes.warp)

    return run


def _barrier_row(instruction: SassInstruction, place: int = 0) -> int:
    operand = instruction.operands[place]
    if not isinstance(operand, NameOperand) or operand.text[:1] != "B":
        raise ValueError
    return ROWS[operand.text]


def _begin_barrier(instruction: SassInstruction) -> Run:
    row = _barrier_row(instruction)
    if instruction.modifiers not in ((), ("RECONVERGENT",), ("RELIABLE",)) or len(instruction.operands) != 2:
        raise ValueError

    def run(machine: LaneMachine, threads: Threads, at: int) -> None:
        machine.registers[row, threads] = machine.new_barriers(threads, _target(machine, at))

    return run


def _end_barrier(instruction: SassInstruction) -> Run:
    row = _barrier_row(instruction)
    if instruction.modifiers not in ((), ("RECONVERGENT",), ("RELIABLE",)) or len(instruction.operands) != 1:
        raise ValueError

    def run(machine: LaneMachine, threads: Threads, at: int) -> None:
        barriers = machine.registers[row, threads].astype(np.int64)
        if (barriers == 0).any() or (barriers >= machine.barriers).any() or (machine.ends[barriers] != at + 1).any():
            raise MachineFailure("threads meet where they should not")
        machine.stop(threads, 0, at + 1)
        machine.meeting[threads] = barriers
        np.add.at(machine.arrived, barriers, 1)
        machine.registers[row, threads] = 0
        machine.release_complete(barriers)

    return run


def _leave_barrier(instruction: SassInstruction) -> Run:
    row = _barrier_row(instruction)
    if instruction.modifiers not in ((), ("RELIABLE",)) or len(instruction.operands) != 1:
        raise ValueError

    def run(machine: LaneMachine, threads: Threads, at: int) -> None:
        barriers = machine.registers[row, threads].astype(np.int64)
        if (barriers == 0).any() or (barriers >= machine.barriers).any():
            raise MachineFailure("threads leave a barrier that they did not enter")
        np.add.at(machine.members, barriers, -1)
        machine.registers[row, threads] = 0
        machine.release_complete(barriers)

    return run


def _move_barrier(instruction: SassInstruction) -> Run:
    """BMOV: to a register, and then cleared; or from a register."""
    to, source = instruction.operands
    if isinstance(to, RegisterOperand) and instruction.modifiers == ("32", "CLEAR"):
        row, name = _barrier_row(instruction, 1), to.name

        def save(machine: LaneMachine, threads: Threads, at: int) -> None:
            machine.write(threads, name, machine.registers[row, threads])
            machine.registers[row, threads] = 0

        return save
    if not isinstance(source, RegisterOperand) or instruction.modifiers != ("32",):
        raise ValueError
    row, kept = _barrier_row(instruction), source.name

    def restore(machine: LaneMachine, threads: Threads, at: int) -> None:
        machine.registers[row, threads] = machine.read(threads, kept)

    return restore


def _synchronise_warp(instruction: SassInstruction) -> Run:
    whole = instruction.modifiers == ("ALL",) and not instruction.operands
    if not whole and (instruction.modifiers or instruction.operands != (NumberOperand(0xFFFFFFFF),)):
        raise ValueError

    def run(machine: LaneMachine, threads: Threads, at: int) -> None:
        machine.stop(threads, OF_WARP, at + 1)
        machine.release_groups(OF_WARP, machine.lanes.warp)

    return run


def _synchronise_cta(instruction: SassInstruction) -> Run:
    if instruction.modifiers not in (("SYNC",), ("SYNC", "DEFER_BLOCKING")):
        raise ValueError
    if instruction.operands != (NumberOperand(0),):
        raise ValueError

    def run(machine: LaneMachine, threads: Threads, at: int) -> None:
        nowhere = np.zeros(len(threads), np.int64)
        machine.events.note(threads, BARRIER, nowhere, nowhere)
        machine.stop(threads, OF_CTA, at + 1)
        machine.release_groups(OF_CTA, machine.lanes.cta)

    return run


def _yield(instruction: SassInstruction) -> Run:
    return lambda machine, threads, at: None


CONTROLS: dict[str, Callable[[SassInstruction], Run]] = {
    "BRA": _branch,
    "JMP": _branch,
    "CALL": _call,
    "RET": _return,
    "EXIT": _exit,
    "BSSY": _begin_barrier,
    "BSYNC": _end_barrier,
    "BREAK": _leave_barrier,
    "BMOV": _move_barrier,
    "WARPSYNC": _synchronise_warp,
    "BAR": _synchronise_cta,
    "YIELD": _yield,
}
