"""Sums and comparisons of sm_50 to sm_62 and older chips, which carry from word to word in the condition code."""

from __future__ import annotations

from optcheck.operands import Registers, has_only, invert, is_negated, read_operand, read_plain, read_register
from optcheck.sass import (
    CARRY,
    IS_ZERO,
    RESULT,
    UNIFORM_ZERO,
    NumberOperand,
    Operand,
    PredicateOperand,
    RegisterOperand,
    SassInstruction,
)
from optcheck.sass import ZERO as ZERO_REGISTER
from optcheck.term import ONE, ZERO, Term, add, conjunction, disjunction, negate, number, operate, unknown

Written = dict[str, Term] | None
GENERIC = "generic address"


def uses_code(instruction: SassInstruction) -> bool:
    """Whether an instruction reads or writes the condition code: the carries of later chips are predicates."""
    if instruction.sets_code:
        return True
    return "X" in instruction.modifiers and not any(isinstance(one, PredicateOperand) for one in instruction.sources)


def generic_address(low: Term, high: Term) -> Term:
    """The predicate that LEA.HI.X computes beside a generic address, which LD and ST read with it."""
    return unknown(GENERIC, low, high)


def add_with_code(instruction: SassInstruction, registers: Registers) -> Written:
    """IADD: to subtract, it adds the complement and 1, or with .X the complement and the carry."""
    sources = instruction.sources
    if not has_only(instruction, "X") or len(sources) != 2 or sum(map(is_negated, sources)) > 1:
        return None
    terms = [_read_summand(one, registers) for one in sources]
    subtracts = any(map(is_negated, sources))
    if "X" in instruction.modifiers:
        if registers.get(CARRY) is None:
            return None
        return _write_sum(instruction, [*terms, read_register(CARRY, registers)], None)
    return _write_sum(instruction, [*terms, ONE] if subtracts else terms, subtracts)


def scale_with_code(instruction: SassInstruction, registers: Registers) -> Written:
    """ISCADD and LEA: the first operand shifted to the left, plus the second."""
    sources = instruction.sources
    if instruction.modifiers or not 2 <= len(sources) <= 3 or any(map(is_negated, sources)):
        return None
    distance = sources[2] if len(sources) == 3 else NumberOperand(0)
    if not isinstance(distance, NumberOperand) or distance.value > 31:
        return None
    a, b = (read_operand(one, registers) for one in sources[:2])
    return _write_sum(instruction, [operate("left", a, number(distance.value)) if distance.value else a, b], False)


def scale_high_with_code(instruction: SassInstruction, registers: Registers) -> Written:
    """LEA.HI.X: the upper word of a sum of 64 bits, and the predicate of a generic address."""
    sources = instruction.sources
    if (
        instruction.modifiers != ("HI", "X")
        or instruction.sets_code
        or not 3 <= len(sources) <= 4
        or any(map(is_negated, sources))
    ):
        return None
    distance = sources[3] if len(sources) == 4 else NumberOperand(0)
    if not isinstance(distance, NumberOperand) or distance.value > 31:
        return None
    if any(map(is_negated, sources)) or registers.get(CARRY) is None:
        return None
    low, b, high = (read_operand(one, registers) for one in sources[:3])
    shifted = operate("left high", low, high, number(distance.value)) if distance.value else high
    value = add(shifted, b, read_register(CARRY, registers))
    written: dict[str, Term] = {}
    for one in instruction.operands[: instruction.result_count]:
        if isinstance(one, RegisterOperand):
            written |= _write_register(one, value)
        elif isinstance(one, PredicateOperand) and one.name != "PT":
            written[one.name] = generic_address(read_register(RESULT, registers), value)
    return written


def compare_with_code(comparison: str, pair: list[Term], signed: int, registers: Registers) -> Term:
    """ISETP.X: a comparison of 64 bits whose lower words IADD subtracted."""
    same = operate("equal", *pair)
    equal = conjunction(same, read_register(IS_ZERO, registers))
    borrows = conjunction(same, negate(read_register(CARRY, registers)))
    less = disjunction(operate("less", *pair, signed), borrows)
    match comparison:
        case "EQ":
            return equal
        case "NE":
            return negate(equal)
        case "LT":
            return less
        case "GE":
            return negate(less)
        case "LE":
            return disjunction(less, equal)
        case _:
            return negate(disjunction(less, equal))


def _read_summand(operand: Operand, registers: Registers) -> Term:
    value = read_plain(operand, registers) if is_negated(operand) else read_operand(operand, registers)
    return invert(value) if is_negated(operand) else value


def _write_sum(instruction: SassInstruction, terms: list[Term], subtracts: bool | None) -> Written:
    """A sum and, if asked for, its condition code; whether all words are 0 is known after a subtraction only."""
    destination = instruction.operands[0]
    if not isinstance(destination, RegisterOperand):
        return None
    total = add(*terms)
    written = _write_register(destination, total)
    if instruction.sets_code:
        zero = operate("equal", total, ZERO) if subtracts else unknown(IS_ZERO, *terms)
        written |= {CARRY: operate("carry", *terms), IS_ZERO: zero, RESULT: total}
    return written


def _write_register(destination: RegisterOperand, value: Term) -> dict[str, Term]:
    return {} if destination.name in (ZERO_REGISTER, UNIFORM_ZERO) else {destination.name: value}
