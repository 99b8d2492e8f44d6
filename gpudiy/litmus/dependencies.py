"""Which reads an instruction depends on: through its address, the values it takes, and the branches before it.

There is one rule for one step, `DependencyState`. Whoever runs a thread path by path applies it as the run goes on;
`static_dependencies` applies it to the text of a thread and joins the paths that meet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from gpudiy.litmus import instruction as isa
from gpudiy.litmus.instruction import address_of, destination_of, guard_of, operands_of

Reads = int  # a set of reads: bit n is set if read number n is in it


class Dependencies(NamedTuple):
    """The reads that one instruction depends on."""

    address: Reads
    data: Reads
    guard: Reads  # its own guard decides whether it runs
    branches: Reads  # all branches before it decide whether control gets there

    @property
    def control(self) -> Reads:
        return self.guard | self.branches

    @property
    def all(self) -> Reads:
        return self.address | self.data | self.guard | self.branches


@dataclass(slots=True)
class DependencyState:
    """What the registers of a thread depend on at one point, and what decided that control came here."""

    registers: dict[str, Reads] = field(default_factory=dict)
    branches: Reads = 0

    def copy(self) -> DependencyState:
        return DependencyState(dict(self.registers), self.branches)

    def join(self, other: DependencyState) -> None:
        """Become the state after either of two paths."""
        for name, reads in other.registers.items():
            self.registers[name] = self.registers.get(name, 0) | reads
        self.branches |= other.branches

    def of(self, operand: isa.Operand | isa.Address | None) -> Reads:
        return self.registers.get(operand.name, 0) if isinstance(operand, isa.Register) else 0

    def dependencies(self, instruction: isa.Instruction) -> Dependencies:
        """What an instruction that comes next depends on."""
        data = 0
        for operand in operands_of(instruction):
            data |= self.of(operand)
        guard = guard_of(instruction)
        guarded = 0 if guard is None else self.of(guard.predicate)
        return Dependencies(self.of(address_of(instruction)), data, guarded, self.branches)

    def step(
        self, instruction: isa.Instruction, found: Dependencies, read: Reads = 0, runs: bool | None = None
    ) -> None:
        """Go past an instruction that depends on `found`.

        `read` is the read that the instruction does if it is one. `runs` is whether the guard lets it run, None if that
        is not known: a register that is written under a guard depends on the guard, on what it held if it may keep it,
        and on the new value if it may get it.
        """
        if isinstance(instruction, isa.Branch):
            self.branches |= found.guard
            return
        destination = destination_of(instruction)
        if destination is None:
            return
        reads = found.guard
        if runs is not False:
            reads |= read if isinstance(instruction, (isa.Load, isa.Atomic)) else found.data
        if runs is False or (runs is None and guard_of(instruction) is not None):
            reads |= self.registers.get(destination.name, 0)
        self.registers[destination.name] = reads


def static_dependencies(steps: Sequence[isa.Instruction | None], jumps: Mapping[int, int]) -> list[Dependencies | None]:
    """What each step may depend on, whichever way control goes; None for a step that control cannot reach.

    A read has the number of its step. A step that is None ends the thread. `jumps` says where each branch goes; jumps
    back are left out, so that what a loop carries from one pass to the next is seen only in unrolled steps.
    """
    arriving: list[DependencyState | None] = [None] * (len(steps) + 1)
    arriving[0] = DependencyState()
    found: list[Dependencies | None] = []
    for index, instruction in enumerate(steps):
        state = arriving[index]
        if state is None or instruction is None:
            found.append(None)
            continue
        depends = state.dependencies(instruction)
        found.append(depends)
        state.step(instruction, depends, 1 << index)
        if isinstance(instruction, isa.Branch):
            if jumps.get(index, -1) > index:
                _arrive(arriving, jumps[index], state.copy())
            if instruction.guard is None:
                continue
        _arrive(arriving, index + 1, state)
    return found


def thread_dependencies(thread: Sequence[isa.Instruction]) -> list[Dependencies | None]:
    """What each instruction of a thread may depend on; a read has the index of its instruction."""
    return static_dependencies(thread, branch_targets(thread))


def branch_targets(thread: Sequence[isa.Instruction]) -> dict[int, int]:
    """Where each branch of a thread goes, by index."""
    labels = {instruction.name: index for index, instruction in enumerate(thread) if isinstance(instruction, isa.Label)}
    return {
        index: labels[instruction.target]
        for index, instruction in enumerate(thread)
        if isinstance(instruction, isa.Branch)
    }


def list_reads(reads: Reads) -> Iterator[int]:
    """The numbers of the reads in a set, in order."""
    while reads:
        low = reads & -reads
        yield low.bit_length() - 1
        reads ^= low


def _arrive(arriving: list[DependencyState | None], index: int, state: DependencyState) -> None:
    known = arriving[index]
    if known is None:
        arriving[index] = state
    else:
        known.join(state)
