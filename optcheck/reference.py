"""`ReferenceRun`: one run of a thread of the test on samples: the accesses and fences that the SASS must make."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gpudiy.litmus import instruction as isa
from gpudiy.litmus.access import ScalarType
from gpudiy.litmus.arithmetic import CannotCompute, compare_values, compute_value
from gpudiy.litmus.condition import AddressOf
from gpudiy.litmus.dependencies import branch_targets
from gpudiy.litmus.test import RegisterDeclaration, Thread
from optcheck.frame import SAMPLES, read_symbol, read_words
from optcheck.term import WIDE, Term

Words = list[int]
Decide = Callable[[Words, bool], bool]  # from the values of a condition, and whether loads decide it


class NotDefined(Exception):
    """A thread that has no result on the samples."""


@dataclass(frozen=True, slots=True)
class DueAccess:
    """The next access: its instruction and its operands on the samples."""

    index: int
    position: int
    instruction: isa.MemoryInstruction
    address: Words
    data: tuple[Words, ...]


@dataclass(frozen=True, slots=True)
class DueFence:
    """The next fence."""

    index: int
    fence: isa.Fence | isa.ProxyFence | isa.Barrier


@dataclass(frozen=True, slots=True)
class LabelCounts:
    """What a thread had done when it came to a label: all its accesses, and its fences since the last of them."""

    accesses: int
    fences: int


@dataclass(frozen=True, slots=True)
class LoopBack:
    """The thread goes back to a label."""

    label: int


Due = DueAccess | DueFence | LoopBack | None


def loop_symbol(label: int, register: str, word: int, special: tuple[int, ...]) -> Term:
    """A word of what a register of the test holds in any round of the loop at a label."""
    return read_symbol(f"{register} at {label}", 32, False, word, special)


class ReferenceRun:
    """Runs a thread step by step; registers hold bit patterns, one for each sample."""

    def __init__(
        self,
        thread: Thread,
        declared: tuple[RegisterDeclaration, ...],
        places: Mapping[str, Words],
        special: tuple[int, ...],
    ) -> None:
        self.thread = thread
        self.places = places
        self.count = SAMPLES
        self.special = special  # words that decide something
        self.types = {one.name: one.type for one in declared}
        self.registers = {
            one.name: places[one.initial.variable] if isinstance(one.initial, AddressOf) else self._number(one.initial)
            for one in declared
        }
        self.loaded: set[str] = set()  # registers whose values loads decide
        self.targets = branch_targets(thread)
        self.heads: dict[int, LabelCounts] = {}  # labels to which the thread may go back
        self.index = 0
        self.accesses = 0
        self.fences = 0  # since the last access
        self.seen: dict[int, Words] = {}  # by position: what an access read or stored
        self._positions = _number_accesses(thread)

    def fork(self) -> ReferenceRun:
        """A copy that goes another way."""
        other = object.__new__(ReferenceRun)
        other.__dict__.update(self.__dict__)
        other.registers, other.seen, other.heads = dict(self.registers), dict(self.seen), dict(self.heads)
        other.loaded = set(self.loaded)
        return other

    def _number(self, value: int) -> Words:
        return [value & WIDE] * self.count

    def due(self, decide: Decide) -> Due:
        """Go on to the next access or fence, or to a branch back; None at the end."""
        while self.index < len(self.thread):
            index, instruction = self.index, self.thread[self.index]
            self.index += 1
            guard = isa.guard_of(instruction)
            if guard is not None:
                held = self.registers[guard.predicate.name]
                holds = decide([word & 1 for word in held], guard.predicate.name in self.loaded)
                if holds == guard.negated:
                    continue
            match instruction:
                case isa.Load() | isa.Store() | isa.Atomic() | isa.Reduce():
                    self.accesses += 1
                    self.fences = 0
                    sources = _sources(instruction)
                    data = tuple(self._operand(one) for one in sources)
                    position = self._positions[index]
                    if data:
                        self.seen[position] = data[0]
                    return DueAccess(index, position, instruction, self._address(instruction), data)
                case isa.Fence() | isa.ProxyFence() | isa.Barrier():
                    self.fences += 1
                    return DueFence(index, instruction)
                case isa.Alu():
                    self._compute(instruction)
                case isa.SetPredicate():
                    self._compare(instruction)
                case isa.Branch():
                    target = self.targets[index]
                    if target <= index:
                        return LoopBack(target)
                    self.index = target
                case isa.Label():
                    self._enter(index)
        return None

    def give(self, access: DueAccess, words: Words) -> None:
        """Give a load or an atomic its result."""
        destination = isa.destination_of(access.instruction)
        if destination is not None:
            self.registers[destination.name] = self.seen[access.position] = words
            self.loaded.add(destination.name)

    def loop_body(self, index: int) -> Thread:
        """The instructions from a label to the last branch back to it; none if there is no such branch."""
        lasts = [branch for branch, target in self.targets.items() if target == index and branch > index]
        return self.thread[index : max(lasts) + 1] if lasts else ()

    def find_loop(self, mask: Sequence[int]) -> tuple[int, dict[str, Words]] | None:
        """The label of a loop that begins before the next access, and what the registers hold there.

        `mask` are the samples that take the path: they say which way a branch goes, or there is no answer.
        """
        other = self.fork()
        while other.index < len(self.thread):
            index, instruction = other.index, self.thread[other.index]
            other.index += 1
            guard = isa.guard_of(instruction)
            if guard is not None:
                held = {other.registers[guard.predicate.name][place] & 1 for place in mask}
                if not isinstance(instruction, isa.Branch) or len(held) != 1:
                    return None
                if held == {int(guard.negated)}:
                    continue
            match instruction:
                case isa.Branch() if self.targets[index] > index:
                    other.index = self.targets[index]
                case isa.Label():
                    if index not in self.heads and self.loop_body(index):
                        return index, other.registers
                case isa.Alu():
                    other._compute(instruction)
                case isa.SetPredicate():
                    other._compare(instruction)
                case isa.Fence() | isa.ProxyFence() | isa.Barrier():
                    pass
                case isa.Load() | isa.Store() | isa.Atomic() | isa.Reduce() | isa.Branch():
                    return None
        return None

    def _enter(self, index: int) -> None:
        """At a label to which the thread may come back, registers that it writes since then are unknown."""
        body = self.loop_body(index)
        if not body or index in self.heads:
            return
        self.heads[index] = LabelCounts(self.accesses, self.fences)
        for written in map(isa.destination_of, body):
            if written is not None:
                symbols = (loop_symbol(index, written.name, word, self.special) for word in range(2))
                low, high = (read_words(one.arguments) for one in symbols)
                self.registers[written.name] = [a | b << 32 for a, b in zip(low, high, strict=True)]
                self.loaded.add(written.name)

    def _operand(self, operand: isa.Operand) -> Words:
        match operand:
            case isa.Register():
                return self.registers[operand.name]
            case isa.Immediate():
                return self._number(operand.value)
            case isa.Variable():
                return self.places[operand.name]

    def _address(self, instruction: isa.MemoryInstruction) -> Words:
        return self._operand(instruction.address)

    def _taint(self, name: str, sources: tuple[isa.Operand, ...], guarded: bool) -> None:
        if any(isinstance(one, isa.Register) and one.name in self.loaded for one in sources):
            self.loaded.add(name)
        elif not guarded:
            self.loaded.discard(name)

    def _compute(self, alu: isa.Alu) -> None:
        name = alu.destination.name
        self._taint(name, alu.sources, False)
        operands = [self._operand(one) for one in alu.sources]
        if alu.operation is isa.AluOperation.MOV and alu.source_type is None:
            mask = (1 << alu.type.bits) - 1
            self.registers[name] = [word & mask for word in operands[0]]
            return
        try:
            self.registers[name] = [compute_value(alu, list(row)) & WIDE for row in zip(*operands, strict=True)]
        except CannotCompute as error:
            raise NotDefined(str(error)) from None

    def _compare(self, setp: isa.SetPredicate) -> None:
        name = setp.destination.name
        self._taint(name, setp.sources, False)
        one, other = (self._operand(source) for source in setp.sources)
        self.registers[name] = [
            int(compare_values(setp.comparison, a, b, setp.type)) for a, b in zip(one, other, strict=True)
        ]

    def final(self, name: str) -> Words:
        """The value of a register, cut to its type."""
        bits = self.types.get(name, ScalarType.B64).bits
        return [word & (1 << bits) - 1 for word in self.registers[name]]


def _sources(instruction: isa.MemoryInstruction) -> tuple[isa.Operand, ...]:
    match instruction:
        case isa.Load():
            return ()
        case isa.Store():
            return (instruction.source,)
        case isa.Atomic() | isa.Reduce():
            return instruction.sources


def _number_accesses(thread: Thread) -> dict[int, int]:
    accesses = [
        index for index, one in enumerate(thread) if isinstance(one, (isa.Load, isa.Store, isa.Atomic, isa.Reduce))
    ]
    return {index: position for position, index in enumerate(accesses)}
