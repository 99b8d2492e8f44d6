"""`LaneMachine`: runs the machine code of kernels, for all threads of many launches at once.

Every instruction has its exact meaning, for each thread; what has none here ends the run. Threads of a warp that are at
the same instruction run it together, as votes and shuffles need it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random

import numpy as np
from numpy.typing import NDArray

from optcheck.lane_memory import STACK_TOP, STACK_WORDS, EventLog, LaunchMemory, MachineFailure
from optcheck.lane_values import Source, Threads, Words, compile_term
from optcheck.machine_code import MachineCode
from optcheck.operands import read_operand
from optcheck.sass import TRUE, UNIFORM_ZERO, ZERO, Operand, PredicateOperand

WAITING, GONE = 1 << 40, 1 << 41  # instead of the next instruction
MOST_STEPS = 20_000
REGISTERS = [f"R{number}" for number in range(255)] + [f"UR{number}" for number in range(80)]
PREDICATES = [f"P{number}" for number in range(7)] + [f"UP{number}" for number in range(7)]
BARRIERS = [f"B{number}" for number in range(16)]
ROWS = {name: row for row, name in enumerate((*REGISTERS, *PREDICATES, *BARRIERS))}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lanes:
    """Who the threads are: the launch, CTA and warp of each (numbered over all launches), and its places in them."""

    launch: Threads
    cta: Threads
    warp: Threads
    lane: Threads
    special: Mapping[str, Words]  # the special registers, by name
    start: Threads  # the first instruction of each


@dataclass(slots=True)
class MachineOperation:
    """An instruction made ready to run: its guard, and whether it decides itself where threads go on."""

    run: Callable[[LaneMachine, Threads, int], None]
    guard: tuple[int, bool] | None
    control: bool


@dataclass
class Coverage:
    """Which instructions ran, and which of those with a guard were skipped."""

    ran: NDArray[np.bool_]
    skipped: NDArray[np.bool_]


@dataclass(kw_only=True)
class LaneMachine:
    """One run of many launches; `native` is called where a thread calls a function that is not in the code."""

    code: MachineCode
    operations: list[MachineOperation]
    lanes: Lanes
    memory: LaunchMemory
    constants: Mapping[int, Words]  # words of bank 0 by offset, one for each launch
    tables: Mapping[int, Words]  # whole banks of constant memory
    shared_words: int
    shared_base: int  # of the shared memory of a CTA
    regions: int
    summed: tuple[int, ...]  # regions whose atomics are compared by what they add up to, not as events
    watched: tuple[int, ...]  # regions whose weak loads are events too
    several: NDArray[np.bool_]  # the launches on several GPUs: their counters need the scope of the system
    stressed_words: Threads  # for each launch, the first word of shared memory whose loads and stores are events
    dice: Random
    native: Callable[[LaneMachine, Threads, Words], None]
    fair: bool = False  # threads take turns, instead of those going first that are furthest behind
    registers: Words = field(init=False)
    place: Threads = field(init=False)
    resume: Threads = field(init=False)

    def __post_init__(self) -> None:
        threads = len(self.lanes.launch)
        self.noise = np.random.default_rng(self.dice.getrandbits(32))
        self.registers = self.noise.integers(0, 1 << 32, (len(ROWS), threads), dtype=np.uint32)
        for name in PREDICATES:
            self.registers[ROWS[name]] &= 1
        for name in BARRIERS:
            self.registers[ROWS[name]] = 0
        self.place = self.lanes.start.copy()
        self.resume = np.zeros(threads, np.int64)
        self.local = self.noise.integers(0, 1 << 32, (threads, STACK_WORDS), dtype=np.uint32)
        ctas = int(self.lanes.cta.max()) + 1
        self.shared = self.noise.integers(0, 1 << 32, (ctas, self.shared_words), dtype=np.uint32)
        self.events = EventLog(threads, self.regions)
        size = len(self.code.instructions)
        self.coverage = Coverage(np.zeros(size, bool), np.zeros(size, bool))
        self.stack_top = np.full(1, STACK_TOP, np.uint32)
        self.meeting = np.zeros(threads, np.int64)  # what a thread waits for: a barrier of its warp, or below 0 others
        self.members = np.zeros(1024, np.int64)  # of each barrier of a warp
        self.arrived = np.zeros(1024, np.int64)
        self.ends = np.zeros(1024, np.int64)  # where the threads of a barrier go on
        self.barriers = 1
        self.where = 0

    def run(self) -> None:
        """Run all threads to their end; raises `MachineFailure`."""
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            try:
                for _ in range(MOST_STEPS):
                    if not self._run_block():
                        return
            except MachineFailure as failure:
                where = self.code.places[self.where] if self.where < len(self.code.places) else "after the code"
                raise MachineFailure(f"{failure.why} ({where})", failure.understood) from None
        raise MachineFailure(f"the kernels do not end ({self.code.places[self.where]})")

    def _run_block(self) -> bool:
        """Run the threads that are at one place up to the next label or jump; whether any thread is left."""
        ready = self.place[self.place < WAITING]
        if not len(ready):
            if (self.place == WAITING).any():
                raise MachineFailure("threads wait for ever")
            return False
        first = int(ready[self.dice.randrange(len(ready))] if self.fair else ready.min())
        threads = np.flatnonzero(self.place == first)
        if self.fair and first and self.code.instructions[first - 1].opcode == "YIELD":
            chosen = self.noise.random(len(threads)) < 0.7  # threads of a warp may separate here
            threads = threads[chosen] if chosen.any() else threads
        at, labels = first, self.code.labels
        while True:
            self.where = at
            if at >= len(self.operations):
                raise MachineFailure("the code has no end")
            operation = self.operations[at]
            active = threads
            if operation.guard is not None:
                row, negated = operation.guard
                holds = (
                    (self.registers[row, threads] != 0) != negated if row >= 0 else np.full(len(threads), not negated)
                )
                active = threads[holds]
                if len(active) < len(threads):
                    self.coverage.skipped[at] = True
            if len(active):
                self.coverage.ran[at] = True
            if operation.control:
                self.place[threads] = at + 1
                if len(active):
                    operation.run(self, active, at)
                return True
            if len(active):
                operation.run(self, active, at)
            at += 1
            if at in labels:
                self.place[threads] = at
                return True

    # What operations read and write.

    def read(self, threads: Threads, name: str) -> Words:
        """The words of a register."""
        if name in (ZERO, UNIFORM_ZERO):
            return np.zeros(len(threads), np.uint32)
        if name in TRUE:
            return np.ones(len(threads), np.uint32)
        words: Words = self.registers[ROWS[name], threads]
        return words

    def write(self, threads: Threads, name: str, words: NDArray[np.generic]) -> None:
        """Write a register; those that are constant stay as they are."""
        if name not in (ZERO, UNIFORM_ZERO) and name not in TRUE:
            self.registers[ROWS[name], threads] = words

    def read_special(self, threads: Threads, name: str) -> Words:
        """The words of a special register."""
        found = self.lanes.special.get(name)
        if found is None:
            raise MachineFailure(f"the special register {name} is not understood", False)
        words: Words = found[threads]
        return words

    def read_constant(self, threads: Threads, bank: int, offsets: Threads) -> Words:
        """Words of constant memory."""
        if bank == 0 and len(offsets) == 1 and int(offsets[0]) in self.constants:
            return self.constants[int(offsets[0])][self.lanes.launch[threads]]
        table = self.tables.get(bank)
        if table is None or (offsets % 4).any() or (offsets >= 4 * len(table)).any() or (offsets < 0).any():
            raise MachineFailure("a constant is read that is not there")
        return table[offsets // 4]

    # Where threads meet.

    def stop(self, threads: Threads, what: int, resume: int) -> None:
        """Threads wait, and go on at `resume` later."""
        self.place[threads] = WAITING
        self.meeting[threads] = what
        self.resume[threads] = resume

    def release(self, threads: Threads) -> None:
        """Threads that waited go on."""
        self.place[threads] = self.resume[threads]
        self.meeting[threads] = 0

    def new_barriers(self, threads: Threads, end: int) -> Words:
        """One barrier for those of each warp, which go on at `end`."""
        warps, numbers, counts = np.unique(self.lanes.warp[threads], return_inverse=True, return_counts=True)
        first = self.barriers
        self.barriers += len(warps)
        while self.barriers > len(self.members):
            self.members, self.arrived, self.ends = (
                np.resize(one, 2 * len(one)) for one in (self.members, self.arrived, self.ends)
            )
        self.members[first : self.barriers] = counts
        self.arrived[first : self.barriers] = 0
        self.ends[first : self.barriers] = end
        return (numbers + first).astype(np.uint32)

    def release_complete(self, barriers: NDArray[np.generic]) -> None:
        """Release the threads of those barriers of warps at which all of their threads have arrived."""
        numbers = np.unique(barriers.astype(np.int64))
        full = numbers[(self.arrived[numbers] > 0) & (self.arrived[numbers] == self.members[numbers])]
        if len(full):
            ready = np.flatnonzero((self.place == WAITING) & np.isin(self.meeting, full))
            self.arrived[full] = 0
            self.members[full] = 0
            self.release(ready)

    def release_groups(self, what: int, groups: Threads) -> None:
        """Release the threads of CTAs or warps, all of whose threads wait for the same."""
        waits = (self.place == WAITING) & (self.meeting == what)
        late = np.unique(groups[(self.place != GONE) & ~waits])
        ready = np.flatnonzero(waits & ~np.isin(groups, late))
        self.release(ready)


def read_symbol(name: tuple[object, ...]) -> Source:
    """What reads a register, a constant or a special register; raises `MachineFailure` for anything else."""
    match name:
        case ("entry", str(register)) if register in ROWS:
            row = ROWS[register]
            return lambda machine, threads: machine.registers[row, threads]
        case ("constant", int(bank), int(offset)):
            place = np.full(1, offset, np.int64)
            return lambda machine, threads: machine.read_constant(threads, bank, place)
        case ("special", str(text), 0):
            return lambda machine, threads: machine.read_special(threads, text)
        case _:
            raise MachineFailure(f"{name} is not understood", False)


def read_source(operand: Operand, word: int = 0) -> Source:
    """What reads an operand, or its upper word."""
    return compile_term(read_operand(operand, {}, word), read_symbol)


def guard_of(guard: PredicateOperand | None) -> tuple[int, bool] | None:
    """The row of a guard and whether it is negated; row -1 always holds."""
    if guard is None:
        return None
    return (-1 if guard.name in TRUE else ROWS[guard.name]), guard.negated
