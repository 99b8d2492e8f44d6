"""Which reads an instruction depends on: through its address, the values it takes, and the branches before it.

There is one rule for one step, `DependencyState`. Whoever runs a thread path by path applies it as the run goes on;
`static_dependencies` applies it to the text of a thread and joins the paths that meet. It looks at the names of
registers only; `RealDependencyState` is the same rule without the reads that cannot change a value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from gpudiy.arguments import check_choice
from gpudiy.litmus import instruction as isa
from gpudiy.litmus.access import ScalarType
from gpudiy.litmus.condition import AddressOf
from gpudiy.litmus.instruction import address_of, destination_of, guard_of, operands_of
from gpudiy.litmus.register_value import Compared, HeldValue, Narrowed, RegisterValues, Selected

Reads = int  # a set of reads: bit n is set if read number n is in it


class DependencyRule(StrEnum):
    """What counts as a dependency: that a register is named, or that what a read returns can change the value."""

    SYNTACTIC = "syntactic"
    SEMANTIC = "semantic"


def choose_kinds(word: str) -> tuple[DependencyRule, ...]:
    """The kinds of dependencies that an option asks for, which may be both."""
    check_choice(word, (*DependencyRule, "both"), "kind of dependencies")
    return tuple(DependencyRule) if word == "both" else (DependencyRule(word),)


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

    def describe_register(self, name: str) -> object:
        """All that matters, for what comes, of how a register got its value."""
        return self.registers.get(name, 0)

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


@dataclass(slots=True)
class RealDependencyState(DependencyState):
    """Dependencies of a run, without the reads that cannot change a value, whatever they and the other reads return.

    What a register holds is kept as a function of the reads; a value that a guard lets through, or not, is a choice.
    `find_real_reads` gives those of some reads that such a function really depends on.
    """

    held: dict[str, HeldValue] = field(default_factory=dict)
    values: RegisterValues = field(default_factory=RegisterValues)
    find_real_reads: Callable[[HeldValue, Reads], Reads] = lambda _, reads: reads

    def copy(self) -> RealDependencyState:
        return RealDependencyState(
            dict(self.registers), self.branches, dict(self.held), self.values, self.find_real_reads
        )

    def describe_register(self, name: str) -> object:
        return self.registers.get(name, 0), self.held.get(name)

    def dependencies(self, instruction: isa.Instruction) -> Dependencies:
        found = DependencyState.dependencies(self, instruction)
        if not found.data or not isinstance(instruction, (isa.Store, isa.Atomic, isa.Reduce)):
            return found
        data, narrowed = 0, Narrowed(instruction.access.type)
        for operand in operands_of(instruction):
            stored = self.values.apply(narrowed, [self._value_of(operand)])
            data |= self.find_real_reads(stored, self.of(operand))
        return found._replace(data=data)

    def step(
        self, instruction: isa.Instruction, found: Dependencies, read: Reads = 0, runs: bool | None = None
    ) -> None:
        destination, guard = destination_of(instruction), guard_of(instruction)
        DependencyState.step(self, instruction, found, read, runs)
        if destination is None:
            return
        result = self._result_of(instruction, read)
        if guard is not None:
            ways = [result, self._value_of(destination)]
            ways = ways[::-1] if guard.negated else ways
            result = self.values.apply(Selected(), [self._value_of(guard.predicate), *ways])
        self.held[destination.name] = result
        self.registers[destination.name] = self.find_real_reads(result, self.registers[destination.name])

    def _result_of(self, instruction: isa.Instruction, read: Reads) -> HeldValue:
        """What an instruction gives its destination; of a load that does not run, nothing is known."""
        sources = [self._value_of(operand) for operand in operands_of(instruction)]
        match instruction:
            case isa.Alu():
                return self.values.apply(instruction, sources)
            case isa.SetPredicate():
                return self.values.apply(Compared(instruction.comparison, instruction.type), sources)
            case isa.Load() | isa.Atomic() if read:
                return self.values.read(read.bit_length() - 1, instruction.access.type)
            case _:
                return self.values.unknown(ScalarType.B64)

    def _value_of(self, operand: isa.Operand) -> HeldValue:
        if isinstance(operand, isa.Register):
            return self.held[operand.name]
        return operand.value if isinstance(operand, isa.Immediate) else self.values.constant(AddressOf(operand.name))


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
