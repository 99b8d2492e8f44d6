"""Loads, stores and atomics of a machine; see `optcheck.lane_machine`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from optcheck.lane_machine import LaneMachine, read_source
from optcheck.lane_memory import (
    SHARED_ATOMIC,
    SHARED_LOAD,
    SHARED_STORE,
    STACK_TOP,
    STACK_WORDS,
    STRENGTHS,
    WINDOW,
    MachineFailure,
    event_kind,
    strength_of,
)
from optcheck.lane_values import Source, Threads, Words, wide
from optcheck.sass import AddressOperand, Operand, RegisterOperand, SassInstruction, Touch, successor

Run = Callable[[LaneMachine, Threads, int], None]
Find = Callable[[LaneMachine, Threads], NDArray[np.uint64]]
DESCRIPTOR = 0x5A17_0000_33CC_0001  # of global memory
SCALES = {"": 1, "X4": 4, "X8": 8, "X16": 16}  # of a register in an address of shared memory
CONSTANT_REGION = 1  # the parameters of the launch: nobody may write them


def access_operation(instruction: SassInstruction, weak: tuple[str, ...]) -> Run:
    """What runs an access; raises `MachineFailure` or `ValueError` if it is not understood."""
    match instruction.space:
        case "local":
            return _access_stack(instruction)
        case "shared":
            return _access_shared(instruction)
        case "global" | "generic":
            return _access_global(instruction, weak)
        case _:
            raise ValueError(instruction.text)


def _source(operand: Operand, word: int) -> Source:
    read = read_source(operand, word)
    return lambda machine, threads: np.broadcast_to(read(machine, threads), len(threads))


def _data(instruction: SassInstruction) -> list[Source]:
    return [_source(one, word) for one in instruction.data for word in range(instruction.words)]


def _address(operand: AddressOperand | None, wide_address: bool) -> Find:
    """The sum of the registers and the offset."""
    if operand is None:
        raise ValueError
    offset = operand.offset - (1 << 32) if operand.offset >> 31 else operand.offset
    registers = [one for one in operand.registers if one.name not in ("RZ", "URZ")]
    if any(one.negated or one.inverted for one in registers) or (wide_address and not _is_wide(registers)):
        raise ValueError
    if wide_address and any(one.part for one in registers):
        raise ValueError
    scales = [np.uint64(SCALES[one.part]) for one in registers]
    plain = [RegisterOperand(one.name) for one in registers]
    sources = [(read_source(one), read_source(one, 1), scale) for one, scale in zip(plain, scales, strict=True)]
    step = np.uint64(offset & 0xFFFFFFFFFFFFFFFF)

    def find(machine: LaneMachine, threads: Threads) -> NDArray[np.uint64]:
        total = np.full(len(threads), step, np.uint64)
        for low, high, scale in sources:
            one = wide(low(machine, threads), high(machine, threads)) if wide_address else low(machine, threads)
            total = total + one.astype(np.uint64) * scale
        return total if wide_address else total & np.uint64(0xFFFFFFFF)

    return find


def _is_wide(registers: list[RegisterOperand]) -> bool:
    """Whether all registers of an address have 64 bits: one, or R4.64+UR4 of sm_75."""
    if len(registers) == 2:
        return registers[0].wide and registers[0].name[0] == "R" and registers[1].name[0] == "U"
    return len(registers) < 2


def _results(instruction: SassInstruction) -> list[str]:
    """The registers that receive what is read."""
    for operand in instruction.operands[: instruction.result_count]:
        if isinstance(operand, RegisterOperand):
            return [successor(operand.name, word) for word in range(instruction.words)]
    return []


def _access_stack(instruction: SassInstruction) -> Run:
    if not set(instruction.modifiers) <= {"64", "128", "LU"}:  # LU: the last use of the word
        raise ValueError
    find, data, names = _address(instruction.address, False), _data(instruction), _results(instruction)

    def run(machine: LaneMachine, threads: Threads, at: int) -> None:
        places = find(machine, threads).astype(np.int64) - (STACK_TOP - 4 * STACK_WORDS)
        last = places + 4 * instruction.words
        if (places % (4 * instruction.words)).any() or (places < 0).any() or (last > 4 * STACK_WORDS).any():
            raise MachineFailure("an access is outside the stack")
        if instruction.touch is Touch.STORE:
            for word, source in enumerate(data):
                machine.local[threads, places // 4 + word] = source(machine, threads)
            return
        for word, name in enumerate(names):
            machine.write(threads, name, machine.local[threads, places // 4 + word])

    return run


class _Words:
    """Words of memory that a group of threads accesses."""

    def __init__(self, machine: LaneMachine, places: tuple[Threads, ...], shared: bool) -> None:
        self.array = machine.shared if shared else machine.memory.words
        self.places = places

    def get(self, word: int) -> Words:
        found: Words = self.array[(*self.places[:-1], self.places[-1] + word)]
        return found

    def put(self, word: int, values: Words) -> None:
        self.array[(*self.places[:-1], self.places[-1] + word)] = values


def _access_shared(instruction: SassInstruction) -> Run:
    kinds = {"ATOMS": ({"ADD"}, {"CAS"}, {"POPC", "INC", "32"}), "LDS": (set(), {"U"}), "STS": (set(),)}
    if {*instruction.modifiers} - {"64", "128"} not in kinds.get(instruction.opcode, ()):
        raise ValueError
    find, data, names = _address(instruction.address, False), _data(instruction), _results(instruction)

    def run(machine: LaneMachine, threads: Threads, at: int) -> None:
        offsets = find(machine, threads)
        places = _shared_places(machine, threads, offsets, instruction.words)
        values = [source(machine, threads) for source in data]
        if instruction.touch is Touch.ATOMIC:
            noted = values or [np.ones(len(threads), np.uint32)]  # ATOMS.POPC.INC adds 1
            machine.events.note(threads, SHARED_ATOMIC, np.zeros(len(threads), np.int64), places[1], *noted)
        else:
            stressed = places[1] >= machine.stressed_words[machine.lanes.launch[threads]]
            kind = SHARED_STORE if instruction.touch is Touch.STORE else SHARED_LOAD
            nowhere, stored = np.zeros(int(stressed.sum()), np.int64), [value[stressed] for value in values]
            machine.events.note(threads[stressed], kind, nowhere, places[1][stressed], *stored)
        _transfer(machine, threads, instruction, _Words(machine, places, True), values, names)

    return run


def _shared_places(
    machine: LaneMachine, threads: Threads, offsets: NDArray[np.uint64], words: int
) -> tuple[Threads, ...]:
    rank = machine.lanes.special["SR_CgaCtaId"][threads].astype(np.int64) if machine.shared_base else 0
    places = offsets.astype(np.int64) - machine.shared_base - (rank << 24)
    limit = 4 * (machine.shared_words - words)
    if (places % (4 * words)).any() or (places < 0).any() or (places > limit).any():
        raise MachineFailure("an access is misaligned or outside the shared memory of its CTA")
    return machine.lanes.cta[threads], places // 4


def _access_global(instruction: SassInstruction, weak: tuple[str, ...]) -> Run:
    strength = strength_of(instruction, weak)
    find, data, names = _address(instruction.address, True), _data(instruction), _results(instruction)
    descriptor = instruction.address.descriptor if instruction.address else ""
    kind = event_kind(instruction.touch, strength)
    generic = instruction.space == "generic"

    def run(machine: LaneMachine, threads: Threads, at: int) -> None:
        if descriptor:
            found = wide(machine.read(threads, descriptor), machine.read(threads, successor(descriptor, 1)))
            if (found != np.uint64(DESCRIPTOR)).any():
                raise MachineFailure("the descriptor of memory is another")
        addresses = find(machine, threads)
        values = [source(machine, threads) for source in data]
        if generic and (addresses >> np.uint64(32) == WINDOW >> 32).any():
            raise MachineFailure("a generic access to shared memory is not understood", False)
        places = machine.memory.find(addresses, machine.lanes.launch[threads], 4 * instruction.words)
        regions = machine.memory.regions[places]
        if (regions == CONSTANT_REGION).any() and (instruction.touch is not Touch.LOAD or strength):
            raise MachineFailure("the parameters of the launch are accessed in another way")
        if instruction.touch is Touch.ATOMIC:
            summed = np.isin(regions, machine.summed)
            several = machine.several[machine.lanes.launch[threads]]
            if (summed & (np.where(several, STRENGTHS["SYS"], STRENGTHS["GPU"]) != strength)).any():
                raise MachineFailure("a counter is changed by an atomic of another scope")
            noted = ~summed
        else:
            noted = np.isin(regions, machine.watched) | (strength > 0)
        if noted.any():
            offsets = places - machine.memory.starts[places]
            stored = [value[noted] for value in values]
            machine.events.note(threads[noted], kind, regions[noted], offsets[noted], *stored)
        _transfer(machine, threads, instruction, _Words(machine, (places,), False), values, names)

    return run


def _transfer(
    machine: LaneMachine,
    threads: Threads,
    instruction: SassInstruction,
    words: _Words,
    values: list[Words],
    names: list[str],
) -> None:
    """Move the words, for atomics one thread after the other."""
    match instruction.touch:
        case Touch.LOAD:
            for word, name in enumerate(names):
                machine.write(threads, name, words.get(word))
        case Touch.STORE:
            for word, value in enumerate(values):
                words.put(word, value)
        case Touch.ATOMIC if instruction.words == 1:
            before = _change(machine, instruction, words, values)
            for name in names:
                machine.write(threads, name, before)
        case _:
            raise MachineFailure(f"{instruction.opcode} is not understood", False)


def _change(machine: LaneMachine, instruction: SassInstruction, words: _Words, values: list[Words]) -> Words:
    """Run an atomic for each thread, in any order; what each found."""
    count = len(words.places[0])
    before = np.zeros(count, np.uint32)
    order = list(range(count))
    machine.dice.shuffle(order)
    array = words.array
    places = list(zip(*(one.tolist() for one in words.places), strict=True))
    for one in order:
        found = int(array[places[one]])
        before[one] = found
        if "CAS" in instruction.modifiers:
            expected, new = values
            if found == int(expected[one]):
                array[places[one]] = new[one]
        elif "ADD" in instruction.modifiers and len(values) == 1:
            array[places[one]] = (found + int(values[0][one])) & 0xFFFFFFFF
        elif "INC" in instruction.modifiers and not values:
            array[places[one]] = (found + 1) & 0xFFFFFFFF
        else:
            raise MachineFailure(f"{instruction.opcode} is not understood", False)
    return before
