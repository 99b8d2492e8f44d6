"""What sm_50 to sm_62 compute, for the machine of `sass_machine`: carries in a condition code, products of halves.

Written after the public descriptions of these instructions, without the semantics of optcheck: all values are numbers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from optcheck.sass import ConstantOperand, Operand, PredicateOperand, RegisterOperand, SassInstruction

if TYPE_CHECKING:
    from sass_machine import SassMachine

WORD = 0xFFFFFFFF
LOGIC = {"AND": lambda a, b: a & b, "OR": lambda a, b: a | b, "XOR": lambda a, b: a ^ b, "PASS_B": lambda a, b: b}


def sign(number: int, bits: int = 32) -> int:
    return number - (1 << bits) if number >> bits - 1 & 1 else number


def carries_in_code(instruction: SassInstruction) -> bool:
    predicates = [one for one in instruction.sources if isinstance(one, PredicateOperand)]
    return instruction.sets_code or ("X" in instruction.modifiers and not predicates)


def bare(machine: SassMachine, operand: Operand) -> int:
    """The whole word of an operand, without sign and half."""
    if isinstance(operand, (RegisterOperand, ConstantOperand)):
        operand = replace(operand, negated=False, inverted=False, part="")
    return machine.value(operand)


def set_code(machine: SassMachine, instruction: SassInstruction, total: int) -> None:
    if instruction.sets_code:
        machine.registers |= {"CC.C": total >> 32 & 1, "CC.Z": int(total & WORD == 0), "CC.R": total & WORD}


def add_with_code(machine: SassMachine, instruction: SassInstruction, values: list[int]) -> bool:
    if len(instruction.sources) != 2:
        return False
    total = 0
    for operand in instruction.sources:
        minus = getattr(operand, "negated", False)
        total += bare(machine, operand) ^ WORD if minus else machine.value(operand)
        total += int(minus and "X" not in instruction.modifiers)
    total += machine.read("CC.C") & 1 if "X" in instruction.modifiers else 0
    machine.write(instruction.operands[0], total)
    set_code(machine, instruction, total)
    return True


def scale_old(machine: SassMachine, instruction: SassInstruction, values: list[int]) -> bool:
    """LEA and ISCADD; LEA.HI.X also writes a predicate, which says something of a generic address."""
    if "HI" not in instruction.modifiers:
        shift = values[2] if len(values) > 2 else 0
        total = (values[0] << shift & WORD) + values[1]
        machine.write(instruction.operands[0], total)
        set_code(machine, instruction, total)
        return True
    shift = values[3] if len(values) > 3 else 0
    shifted = (values[2] << 32 | values[0]) << shift >> 32
    total = shifted + values[1] + (machine.read("CC.C") & 1 if "X" in instruction.modifiers else 0)
    for operand in instruction.operands[: instruction.result_count]:
        machine.write(operand, total if isinstance(operand, RegisterOperand) else total.bit_count())
    return True


def multiply_halves(machine: SassMachine, instruction: SassInstruction, values: list[int]) -> bool:
    modifiers = instruction.modifiers
    if len(values) != 3 or "CSFU" in modifiers or instruction.sets_code:
        return False
    types = [one for one in modifiers if one in ("U16", "S16")] or ["U16", "U16"]
    halves = []
    for operand, kind in zip(instruction.sources, types, strict=False):
        half = bare(machine, operand) >> (16 if getattr(operand, "part", "") == "H1" else 0) & 0xFFFF
        halves.append(sign(half, 16) if kind == "S16" else half)
    second, third = bare(machine, instruction.sources[1]), values[2]
    if "CLO" in modifiers:
        third &= 0xFFFF
    if "CHI" in modifiers:
        third >>= 16
    if "CBCC" in modifiers:
        third += second << 16
    total = halves[0] * halves[1] * (0x10000 if "PSL" in modifiers else 1) + third
    machine.write(instruction.operands[0], total & 0xFFFF | second << 16 if "MRG" in modifiers else total)
    return True


def add_and_shift(machine: SassMachine, instruction: SassInstruction, values: list[int]) -> bool:
    a, b, c = values
    machine.write(instruction.operands[0], (a + b >> 16 if "RS" in instruction.modifiers else a + b << 16) + c)
    return True


def multiply_words(machine: SassMachine, instruction: SassInstruction, values: list[int]) -> bool:
    a, b = values if "U32" in instruction.modifiers else map(sign, values)
    machine.write(instruction.operands[0], a * b >> (32 if "HI" in instruction.modifiers else 0))
    return True


def logic_old(machine: SassMachine, instruction: SassInstruction, values: list[int]) -> bool:
    names = [one for one in instruction.modifiers if one in LOGIC]
    if len(names) != 1 or instruction.sets_code:
        return False
    result = LOGIC[names[0]](*values) & WORD
    for operand in instruction.operands[: instruction.result_count]:
        holds = result == 0 if "Z" in instruction.modifiers else result != 0
        machine.write(operand, int(holds) if isinstance(operand, PredicateOperand) else result)
    return True


def shift_word(machine: SassMachine, instruction: SassInstruction, values: list[int]) -> bool:
    word, distance = values[0], min(values[1], 32)
    if instruction.opcode == "SHL":
        result = word << distance
    else:
        result = (word if "U32" in instruction.modifiers else sign(word)) >> distance
    machine.write(instruction.operands[0], result)
    return True


def shift_pair(machine: SassMachine, instruction: SassInstruction, values: list[int]) -> bool:
    if instruction.modifiers == ("L", "U32"):
        machine.write(instruction.operands[0], values[0] << values[1] if values[1] < 32 else 0)
        return True
    if instruction.modifiers == ("R", "S32", "HI"):
        machine.write(instruction.operands[0], sign(values[2]) >> min(values[1], 31))
        return True
    if instruction.modifiers not in (("R", "U64"), ("R", "S64")):
        return False
    machine.write(instruction.operands[0], (values[2] << 32 | values[0]) >> values[1])
    return True


def extract_bits(machine: SassMachine, instruction: SassInstruction, values: list[int]) -> bool:
    start, count = values[1] & 255, values[1] >> 8
    bits = values[0] >> start & (1 << count) - 1
    machine.write(instruction.operands[0], bits if "U32" in instruction.modifiers else sign(bits, count))
    return True


def choose_extreme(machine: SassMachine, instruction: SassInstruction, values: list[int]) -> bool:
    others = instruction.operands[1 : instruction.result_count]
    if any(isinstance(one, PredicateOperand) and one.name != "PT" for one in others):
        return False
    if len(values) == 4:  # the first of the two is a sum
        values = [values[0] + values[1] & WORD, *values[2:]]
    pair = values[:2] if "U32" in instruction.modifiers else [sign(one) for one in values[:2]]
    machine.write(instruction.operands[0], min(pair) if values[2] else max(pair))
    return True


def compares(machine: SassMachine, word: str, a: int, b: int) -> bool:
    """A comparison of 64 bits whose lower words were subtracted before; `a` and `b` have their signs."""
    borrow = 1 - (machine.read("CC.C") & 1)
    difference, zero = a - b - borrow, bool(machine.read("CC.Z") & 1) and a == b
    return {
        "EQ": zero,
        "NE": not zero,
        "LT": difference < 0,
        "GE": difference >= 0,
        "LE": difference < 0 or zero,
        "GT": difference >= 0 and not zero,
    }[word]


def choose(machine: SassMachine, instruction: SassInstruction, values: list[int]) -> bool:
    machine.write(instruction.operands[0], values[0] if values[2] else values[1])
    return True
