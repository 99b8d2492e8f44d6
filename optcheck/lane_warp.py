"""Instructions of a machine that are not in `optcheck.semantics`: those of whole warps, of floats, and a few others."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from optcheck.lane_machine import LaneMachine, read_source
from optcheck.lane_memory import MachineFailure
from optcheck.lane_values import Source, Threads, Words, halves, wide
from optcheck.sass import (
    NameOperand,
    NumberOperand,
    Operand,
    PredicateOperand,
    RegisterOperand,
    SassInstruction,
    successor,
)

Run = Callable[[LaneMachine, Threads, int], None]
WARP = 32


def _source(operand: Operand, word: int = 0) -> Source:
    """What reads an operand."""
    if isinstance(operand, NumberOperand) and word:
        value = np.full(1, 0xFFFFFFFF if operand.value >> 31 else 0, np.uint32)  # of 64 bits: its sign
        return lambda machine, threads: value
    return read_source(operand, word)


def _register(operand: Operand) -> str:
    if not isinstance(operand, RegisterOperand):
        raise ValueError("not a register")
    return operand.name


def _unary(
    apply: Callable[[LaneMachine, Words], NDArray[np.generic]], *modifiers: str
) -> Callable[[SassInstruction], Run | None]:
    """An instruction with one result and one source, and exactly these modifiers."""

    def make(instruction: SassInstruction) -> Run | None:
        if instruction.modifiers != modifiers or len(instruction.operands) != 2:
            return None
        to, source = _register(instruction.operands[0]), _source(instruction.operands[1])
        return lambda machine, threads, at: machine.write(threads, to, apply(machine, source(machine, threads)))

    return make


def _to_float(machine: LaneMachine, words: Words) -> Words:
    """Rounded up."""
    found = words.astype(np.float32)
    low = found.astype(np.float64) < words.astype(np.float64)
    return np.where(low, np.nextafter(found, np.float32(np.inf)), found).astype(np.float32).view(np.uint32)


def _reciprocal(machine: LaneMachine, words: Words) -> Words:
    """The hardware promises one unit in the last place: any of the three neighbours, at random."""
    exact = np.float32(1) / words.view(np.float32)
    near = exact.view(np.uint32) + machine.noise.integers(-1, 2, len(words)).astype(np.uint32)
    return np.where(np.isfinite(exact), near, exact.view(np.uint32)).astype(np.uint32)


def _to_word(machine: LaneMachine, words: Words) -> Words:
    value = words.view(np.float32).astype(np.float64)
    return np.nan_to_num(np.clip(value, 0, 0xFFFFFFFF), nan=0.0).astype(np.uint64).astype(np.uint32)


def _first_bit(machine: LaneMachine, words: Words) -> Words:
    """The number of the highest bit that is set; all ones if there is none."""
    found = np.full(len(words), 0xFFFFFFFF, np.uint32)
    for bit in range(32):
        found[(words >> np.uint32(bit) & 1) != 0] = bit
    return found


def _count_bits(machine: LaneMachine, words: Words) -> Words:
    bits = [words >> np.uint32(bit) & 1 for bit in range(32)]
    found: Words = np.sum(bits, axis=0, dtype=np.uint32)
    return found


# Warps.


def _by_warp(
    machine: LaneMachine, threads: Threads, words: Words
) -> tuple[NDArray[np.uint32], NDArray[np.bool_], Threads]:
    """The words of the threads that run, in rows of 32 for each warp; which are there; and the row of each thread."""
    warps, rows = np.unique(machine.lanes.warp[threads], return_inverse=True)
    table = machine.noise.integers(0, 1 << 32, (len(warps), WARP), dtype=np.uint32)  # lanes that do not run: anything
    there = np.zeros((len(warps), WARP), bool)
    lanes = machine.lanes.lane[threads]
    table[rows, lanes] = np.broadcast_to(words, len(threads))
    there[rows, lanes] = True
    return table, there, rows


def _vote(instruction: SassInstruction) -> Run | None:
    """VOTE.ANY of a register, of no predicate: the lanes that run and for which the last operand holds."""
    operands = instruction.operands
    if instruction.modifiers != ("ANY",) or len(operands) != 3 or not isinstance(operands[1], PredicateOperand):
        return None
    if operands[1].name not in ("PT", "UPT"):
        return None
    to, source = _register(operands[0]), _source(operands[2])

    def run(machine: LaneMachine, threads: Threads, at: int) -> None:
        table, there, rows = _by_warp(machine, threads, source(machine, threads))
        bits = ((table != 0) & there).astype(np.uint64) << np.arange(WARP, dtype=np.uint64)
        machine.write(threads, to, bits.sum(axis=1)[rows].astype(np.uint32))

    return run


def _sum_of_warp(instruction: SassInstruction) -> Run | None:
    if instruction.modifiers != ("SUM",) or len(instruction.operands) != 2:
        return None
    to, source = _register(instruction.operands[0]), _source(instruction.operands[1])

    def run(machine: LaneMachine, threads: Threads, at: int) -> None:
        table, there, rows = _by_warp(machine, threads, source(machine, threads))
        sums = np.where(there, table, 0).astype(np.uint64).sum(axis=1)
        machine.write(threads, to, sums[rows].astype(np.uint32))

    return run


def _shuffle(instruction: SassInstruction) -> Run | None:
    """The word of another lane; the predicate says whether there is one."""
    operands, ways = instruction.operands, instruction.modifiers
    if len(ways) != 1 or ways[0] not in ("UP", "BFLY", "IDX") or len(operands) != 5:
        return None
    predicate, to, way = operands[0], _register(operands[1]), ways[0]
    if not isinstance(predicate, PredicateOperand):
        return None
    value, distance, limit = (_source(one) for one in operands[2:])

    def run(machine: LaneMachine, threads: Threads, at: int) -> None:
        lane = machine.lanes.lane[threads]
        by, clamp = (np.broadcast_to(one(machine, threads), len(threads)).astype(np.int64) for one in (distance, limit))
        if (clamp != (0 if way == "UP" else 0x1F)).any():
            raise MachineFailure("a shuffle inside parts of a warp is not understood", False)
        from_lane = {"UP": lane - by, "BFLY": lane ^ by, "IDX": by}[way]
        valid = (from_lane >= 0) & (from_lane < WARP)
        table, _, rows = _by_warp(machine, threads, value(machine, threads))
        machine.write(threads, to, table[rows, np.where(valid, from_lane, lane)])
        machine.write(threads, predicate.name, valid)

    return run


def _to_uniform(instruction: SassInstruction) -> Run | None:
    """R2UR: the threads of a warp that run must agree on the word."""
    if instruction.modifiers or len(instruction.operands) != 2:
        return None
    to, source = _register(instruction.operands[0]), _source(instruction.operands[1])

    def run(machine: LaneMachine, threads: Threads, at: int) -> None:
        words = np.broadcast_to(source(machine, threads), len(threads))
        table, there, _ = _by_warp(machine, threads, words)
        if (np.where(there, table, 0).max(axis=1) != np.where(there, table, 0xFFFFFFFF).min(axis=1)).any():
            raise MachineFailure("the threads of a warp disagree on a uniform register")
        machine.write(threads, to, words)

    return run


# Others.


def _logic_of_predicates(instruction: SassInstruction) -> Run | None:
    """PLOP3.LUT: two functions of three predicates, as tables."""
    operands = instruction.operands
    if instruction.modifiers != ("LUT",) or len(operands) != 7:
        return None
    outputs, tables = operands[:2], operands[5:]
    sources = [_source(one) for one in operands[2:5]]
    pairs = [
        (output.name, table.value)
        for output, table in zip(outputs, tables, strict=True)
        if isinstance(output, PredicateOperand) and isinstance(table, NumberOperand)
    ]
    if len(pairs) != 2:
        return None

    def run(machine: LaneMachine, threads: Threads, at: int) -> None:
        a, b, c = (one(machine, threads) for one in sources)
        row = (a << np.uint32(2)) + (b << np.uint32(1)) + c
        for name, table in pairs:
            machine.write(threads, name, np.uint32(table) >> row & 1)

    return run


def _predicates_to_register(instruction: SassInstruction) -> Run | None:
    """P2R R, PR, RZ, mask."""
    operands = instruction.operands
    if instruction.modifiers or len(operands) != 4 or operands[1] != NameOperand("PR"):
        return None
    to, mask = _register(operands[0]), operands[3]
    if operands[2] != RegisterOperand("RZ") or not isinstance(mask, NumberOperand):
        return None

    def run(machine: LaneMachine, threads: Threads, at: int) -> None:
        bits = [
            machine.read(threads, f"P{number}") << np.uint32(number) for number in range(7) if mask.value >> number & 1
        ]
        machine.write(threads, to, sum(bits, np.zeros(len(threads), np.uint32)))

    return run


def _choose_wide(instruction: SassInstruction) -> Run | None:
    if instruction.modifiers != ("64",) or len(instruction.operands) != 4:
        return None
    to = _register(instruction.operands[0])
    words = [[_source(one, word) for word in (0, 1)] for one in instruction.operands[1:3]]
    condition = _source(instruction.operands[3])

    def run(machine: LaneMachine, threads: Threads, at: int) -> None:
        holds = condition(machine, threads) != 0
        chosen = [
            np.where(holds, words[0][word](machine, threads), words[1][word](machine, threads)) for word in (0, 1)
        ]
        for word in (0, 1):
            machine.write(threads, successor(to, word), chosen[word])

    return run


def _shift_by_register(instruction: SassInstruction) -> Run | None:
    """SHF.L.U32 and SHF.L.U64.HI by a distance in a register that is below 32."""
    if instruction.modifiers not in (("L", "U32"), ("L", "U64", "HI")) or len(instruction.operands) != 4:
        return None
    if isinstance(instruction.operands[2], NumberOperand):
        return None
    to, upper = _register(instruction.operands[0]), "HI" in instruction.modifiers
    low, distance, high = (_source(one) for one in instruction.operands[1:])

    def run(machine: LaneMachine, threads: Threads, at: int) -> None:
        by = distance(machine, threads)
        if (by > 31).any():
            raise MachineFailure("a shift by 32 or more is not understood", False)
        whole = wide(low(machine, threads), high(machine, threads)) << by.astype(np.uint64)
        machine.write(threads, to, halves(whole)[upper])

    return run


def _add_wide(instruction: SassInstruction) -> Run | None:
    """IADD.64 of two values, each of which may be negated or a number with its sign."""
    if instruction.modifiers != ("64",) or len(instruction.operands) != 3:
        return None
    to, text = _register(instruction.operands[0]), instruction.text
    parts = []
    for operand in instruction.operands[1:]:
        if isinstance(operand, NumberOperand) and operand.value >> 31 and "-0x" not in text:
            return None  # the listing does not show how such a number is extended
        plain = operand
        negated = isinstance(operand, RegisterOperand) and operand.negated
        if isinstance(operand, RegisterOperand):
            if operand.inverted or operand.part:
                return None
            plain = RegisterOperand(operand.name)
        parts.append((_source(plain), _source(plain, 1), negated))

    def run(machine: LaneMachine, threads: Threads, at: int) -> None:
        total = np.zeros(1, np.uint64)
        for low, high, negated in parts:
            value = wide(low(machine, threads), high(machine, threads))
            total = total - value if negated else total + value
        for word, half in enumerate(halves(total)):
            machine.write(threads, successor(to, word), half)

    return run


NATIVES: dict[str, Callable[[SassInstruction], Run | None]] = {
    "I2F": _unary(_to_float, "U32", "RP"),
    "MUFU": _unary(_reciprocal, "RCP"),
    "F2I": _unary(_to_word, "FTZ", "U32", "TRUNC", "NTZ"),
    "POPC": _unary(_count_bits),
    **dict.fromkeys(("FLO", "UFLO"), _unary(_first_bit, "U32")),
    **dict.fromkeys(("VOTE", "VOTEU"), _vote),
    "REDUX": _sum_of_warp,
    "SHFL": _shuffle,
    "R2UR": _to_uniform,
    "PLOP3": _logic_of_predicates,
    "P2R": _predicates_to_register,
    "SEL": _choose_wide,
    "SHF": _shift_by_register,
    "IADD": _add_wide,
}
