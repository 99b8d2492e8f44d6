"""How instructions read their operands and write their results, as terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from optcheck.sass import (
    TRUE,
    UNIFORM_ZERO,
    ConstantOperand,
    NumberOperand,
    Operand,
    PredicateOperand,
    RegisterOperand,
    SassInstruction,
    successor,
)
from optcheck.sass import ZERO as ZERO_REGISTER
from optcheck.term import ONE, ZERO, Term, add, entry, negate, number, operate, symbol, unknown

HARMLESS = frozenset({"U32", "S32", "AND", "LUT"})  # they leave a result as it is, where an opcode has them
Registers = Mapping[str, Term]


def read_register(name: str, registers: Registers) -> Term:
    """The value of a register or predicate."""
    if name in (ZERO_REGISTER, UNIFORM_ZERO):
        return ZERO
    if name in TRUE:
        return ONE
    return registers.get(name) or entry(name)


def constant_name(bank: int, offset: int) -> str:
    """The name of a word of constant memory, by which it may be among the registers if its value is known."""
    return f"c[{bank}][{offset}]"


def read_operand(operand: Operand, registers: Registers, word: int = 0) -> Term:
    """The value of an operand; `word` 1 is the upper word of one of 64 bits."""
    match operand:
        case RegisterOperand(name=name):
            base = name if name in (ZERO_REGISTER, UNIFORM_ZERO) else successor(name, word)
            value = read_register(base, registers)
            odd = operand.part or ("CC" if operand.sets_code else "")
            return _apply_sign(unknown(odd, value) if odd else value, operand)
        case PredicateOperand(name=name, negated=negated):
            value = read_register(name, registers)
            return negate(value) if negated else value
        case NumberOperand(value=value_of_number):
            return number(value_of_number >> 32 * word)
        case ConstantOperand():
            place = add(read_register(operand.register, registers), number(operand.offset + 4 * word))
            bank = read_register(operand.bank, registers) if isinstance(operand.bank, str) else operand.bank
            if place.is_number and isinstance(bank, int):
                value = registers.get(constant_name(bank, place.number)) or symbol("constant", bank, place.number)
            else:
                value = unknown("constant", bank, place)
            return _apply_sign(unknown(operand.part, value) if operand.part else value, operand)
        case _:
            return symbol("operand", str(operand))


def read_plain(operand: Operand, registers: Registers) -> Term:
    """The value of an operand without its sign and part."""
    if isinstance(operand, (RegisterOperand, ConstantOperand)):
        operand = replace(operand, negated=False, inverted=False, part="")
    return read_operand(operand, registers)


def invert(value: Term) -> Term:
    """All bits of a word turned round."""
    return operate("lop3", value, ZERO, ZERO, 0x0F)


def is_negated(operand: Operand) -> bool:
    """Whether the sign of an operand is turned round."""
    return isinstance(operand, (RegisterOperand, ConstantOperand)) and operand.negated


def _apply_sign(value: Term, operand: RegisterOperand | ConstantOperand) -> Term:
    if operand.inverted:
        value = invert(value)
    return operate("multiply", value, number(-1)) if operand.negated else value


def write_result(instruction: SassInstruction, *words: Term) -> dict[str, Term]:
    """The one result of an instruction, of one or two words."""
    destination = instruction.operands[0] if instruction.operands else None
    if not isinstance(destination, RegisterOperand) or destination.name in (ZERO_REGISTER, UNIFORM_ZERO):
        return {}
    return {successor(destination.name, place): word for place, word in enumerate(words)}


def has_only(instruction: SassInstruction, *allowed: str) -> bool:
    """Whether an instruction has no modifiers but these and harmless ones."""
    return all(modifier in allowed or modifier in HARMLESS for modifier in instruction.modifiers)
