"""Logic, shifts, choices and permutations of bits: what the instructions write, as terms."""

from __future__ import annotations

from optcheck.operands import Registers, has_only, read_operand, write_result
from optcheck.sass import TRUE, UNIFORM_ZERO, NumberOperand, PredicateOperand, RegisterOperand, SassInstruction
from optcheck.sass import ZERO as ZERO_REGISTER
from optcheck.term import ZERO, Term, disjunction, negate, number, operate

CONVERSIONS: dict[tuple[str, ...], int] = {
    ("U32", "U32"): 32,
    ("S32", "S32"): 32,
    ("U32", "U16"): 16,
    ("S32", "S16"): 16,
}
# The tables of LOP, as those of LOP3 with a third word that does not matter.
TABLES = {"AND": 0xC0, "OR": 0xFC, "XOR": 0x3C, "PASS_B": 0xCC}


def combine_bits(instruction: SassInstruction, registers: Registers) -> dict[str, Term] | None:
    """LOP3: any function of three words, bit by bit."""
    sources = instruction.sources
    if not has_only(instruction) or len(sources) < 4 or not isinstance(sources[3], NumberOperand):
        return None
    a, b, c = (read_operand(one, registers) for one in sources[:3])
    value = operate("lop3", a, b, c, sources[3].value & 255)
    first, second = instruction.operands[0], instruction.operands[1]
    if not isinstance(first, PredicateOperand):
        return write_result(instruction, value)
    more = read_operand(sources[4], registers) if len(sources) > 4 else ZERO
    written = {} if first.name in TRUE else {first.name: disjunction(negate(operate("equal", value, ZERO)), more)}
    if isinstance(second, RegisterOperand) and second.name not in (ZERO_REGISTER, UNIFORM_ZERO):
        written[second.name] = value
    return written


def combine_two(instruction: SassInstruction, registers: Registers) -> dict[str, Term] | None:
    """LOP of sm_50 to sm_62 and older chips: a function of two words, and whether the result is 0."""
    modifiers, sources = instruction.modifiers, instruction.sources
    named = [modifier for modifier in modifiers if modifier in TABLES]
    tests = [modifier for modifier in modifiers if modifier in ("Z", "NZ")]
    if len(named) != 1 or len(named) + len(tests) != len(modifiers) or len(sources) != 2 or instruction.sets_code:
        return None
    a, b = (read_operand(one, registers) for one in sources)
    value = operate("lop3", a, b, ZERO, TABLES[named[0]])
    first = instruction.operands[0]
    if not isinstance(first, PredicateOperand):
        return None if tests else write_result(instruction, value)
    if len(tests) != 1:
        return None
    zero = operate("equal", value, ZERO)
    written = {} if first.name in TRUE else {first.name: zero if tests == ["Z"] else negate(zero)}
    second = instruction.operands[1]
    if isinstance(second, RegisterOperand) and second.name not in (ZERO_REGISTER, UNIFORM_ZERO):
        written[second.name] = value
    return written


def choose(instruction: SassInstruction, registers: Registers) -> dict[str, Term] | None:
    """SEL: one of two words."""
    if instruction.modifiers or len(instruction.sources) != 3:
        return None
    a, b, condition = (read_operand(one, registers) for one in instruction.sources)
    return write_result(instruction, operate("choose", condition, a, b) if a is not b else a)


def shift_pair(instruction: SassInstruction, registers: Registers) -> dict[str, Term] | None:
    """SHF: a shift of two words."""
    if "L" in instruction.modifiers and not {"U32", "S32", "HI"} & {*instruction.modifiers}:
        return None  # sm_50 to sm_62 give the upper word, later chips the lower one
    modifiers = instruction.modifiers
    if not has_only(instruction, "L", "R", "HI", "U64", "S64") or len(instruction.sources) != 3:
        return None
    low, distance, high = (read_operand(one, registers) for one in instruction.sources)
    if not distance.is_number or distance.number > 31:
        return None
    if "L" in modifiers:
        if "HI" not in modifiers:
            return write_result(instruction, operate("left", low, distance))
        return write_result(instruction, operate("left high", low, high, distance))
    half = "high" if "HI" in modifiers else "low"
    return write_result(
        instruction, operate(f"right {half}", high, low, distance, int(bool({"S32", "S64"} & {*modifiers})))
    )


def shift(instruction: SassInstruction, registers: Registers) -> dict[str, Term] | None:
    """SHL and SHR: a shift of one word."""
    if not has_only(instruction, "W") or len(instruction.sources) != 2:
        return None
    value, distance = (read_operand(one, registers) for one in instruction.sources)
    if not distance.is_number or distance.number > 31:
        return None
    if instruction.opcode in ("SHL", "USHL"):
        return write_result(instruction, operate("left", value, distance))
    signed = int("U32" not in instruction.modifiers)
    upper = operate("right high", value, ZERO, number(31), 1) if signed else ZERO
    return write_result(instruction, operate("right low", upper, value, distance, signed))


def extract_bits(instruction: SassInstruction, registers: Registers) -> dict[str, Term] | None:
    """BFE: some bits of a word; the second operand says from which place on, and how many."""
    if not has_only(instruction) or len(instruction.sources) != 2 or instruction.sets_code:
        return None
    value, places = (read_operand(one, registers) for one in instruction.sources)
    if not places.is_number:
        return None
    start, count = places.number & 255, places.number >> 8 & 255
    if not count or start + count > 32 or places.number >> 16:
        return None
    return write_result(instruction, operate("byte", value, start, count, int("U32" not in instruction.modifiers)))


def convert(instruction: SassInstruction, registers: Registers) -> dict[str, Term] | None:
    """I2I of sm_62 and older chips: a word from a word, or from its lower half."""
    bits = CONVERSIONS.get(instruction.modifiers)
    if bits is None or len(instruction.sources) != 1 or instruction.sets_code:
        return None
    value = read_operand(instruction.sources[0], registers)
    signed = int(instruction.modifiers[1][0] == "S")
    return write_result(instruction, value if bits == 32 else operate("byte", value, 0, bits, signed))


def permute_bytes(instruction: SassInstruction, registers: Registers) -> dict[str, Term] | None:
    """PRMT: four of eight bytes."""
    if instruction.modifiers or len(instruction.sources) != 3:
        return None
    a, selector, b = (read_operand(one, registers) for one in instruction.sources)
    return write_result(instruction, operate("permute", a, selector, b))
