"""Products of halves of words, of which sm_50 to sm_62 make all others, and the products of older chips."""

from __future__ import annotations

from optcheck.operands import Registers, has_only, is_negated, read_operand, read_plain, write_result
from optcheck.sass import ConstantOperand, NumberOperand, Operand, RegisterOperand, SassInstruction
from optcheck.term import ZERO, Term, add, number, operate

HALF = number(16)
TYPES = ("U16", "S16")
PARTS = {"": 0, "H0": 0, "H1": 16}
MODES = ("CLO", "CHI", "CBCC")  # what becomes of the third operand


def multiply_halves(instruction: SassInstruction, registers: Registers) -> dict[str, Term] | None:
    """XMAD: the product of a half of one word and a half of another, plus a third word or half."""
    sources = instruction.sources
    types = [modifier for modifier in instruction.modifiers if modifier in TYPES] or ["U16", "U16"]
    if not has_only(instruction, *TYPES, *MODES, "PSL", "MRG") or len(sources) != 3 or len(types) != 2:
        return None
    if instruction.sets_code or any(map(is_negated, sources)):
        return None
    halves = [_read_half(one, type == "S16", registers) for one, type in zip(sources[:2], types, strict=True)]
    modes = [modifier for modifier in instruction.modifiers if modifier in MODES]
    if None in halves or len(modes) > 1 or _part(sources[2]):
        return None
    product = operate("multiply", *(one for one in halves if one is not None))
    if "PSL" in instruction.modifiers:
        product = operate("left", product, HALF)
    whole = read_plain(sources[1], registers)
    total = add(product, _read_third(modes, read_operand(sources[2], registers), whole))
    if "MRG" in instruction.modifiers:
        total = add(operate("byte", total, 0, 16, 0), operate("left", whole, HALF))
    return write_result(instruction, total)


def add_and_shift(instruction: SassInstruction, registers: Registers) -> dict[str, Term] | None:
    """IADD3.RS and IADD3.LS: a sum of 33 bits, shifted by half a word, plus a third word."""
    sources = instruction.sources
    if instruction.modifiers not in (("RS",), ("LS",)) or len(sources) != 3 or instruction.sets_code:
        return None
    if any(map(is_negated, sources)) or any(map(_part, sources)):
        return None
    a, b, c = (read_operand(one, registers) for one in sources)
    right = "RS" in instruction.modifiers
    return write_result(instruction, add(operate("sum right", a, b) if right else operate("left", add(a, b), HALF), c))


def multiply_words(instruction: SassInstruction, registers: Registers) -> dict[str, Term] | None:
    """IMUL: a word of a product of two words."""
    modifiers = [modifier for modifier in instruction.modifiers if modifier != "HI"]
    if modifiers not in ([], ["U32", "U32"]) or len(instruction.sources) != 2 or instruction.sets_code:
        return None
    a, b = (read_operand(one, registers) for one in instruction.sources)
    half = "high" if "HI" in instruction.modifiers else "low"
    return write_result(instruction, operate(f"product {half}", a, b, ZERO, ZERO, int(not modifiers)))


def _part(operand: Operand) -> str:
    return operand.part if isinstance(operand, (RegisterOperand, ConstantOperand)) else ""


def _read_half(operand: Operand, signed: bool, registers: Registers) -> Term | None:
    place = PARTS.get(_part(operand))
    if place is None or (isinstance(operand, NumberOperand) and operand.value >> 16):
        return None
    return operate("byte", read_plain(operand, registers), place, 16, int(signed))


def _read_third(modes: list[str], value: Term, whole: Term) -> Term:
    if "CLO" in modes:
        return operate("byte", value, 0, 16, 0)
    if "CHI" in modes:
        return operate("byte", value, 16, 16, 0)
    return add(value, operate("left", whole, HALF)) if "CBCC" in modes else value
