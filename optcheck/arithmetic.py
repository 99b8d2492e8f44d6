"""Sums, products, scaled sums and extremes of integers: what the instructions write, as terms."""

from __future__ import annotations

from optcheck.condition_code import add_with_code, scale_high_with_code, scale_with_code, uses_code
from optcheck.half_product import add_and_shift
from optcheck.operands import Registers, has_only, read_operand, write_result
from optcheck.sass import TRUE, NumberOperand, PredicateOperand, SassInstruction
from optcheck.term import ONE, ZERO, Term, add, operate, unknown


def add_operands(instruction: SassInstruction, registers: Registers) -> dict[str, Term] | None:
    """A sum of up to three summands, with carries into it and out of it."""
    if uses_code(instruction):
        return add_with_code(instruction, registers)
    if "RS" in instruction.modifiers or "LS" in instruction.modifiers:
        return add_and_shift(instruction, registers)
    if not has_only(instruction, "X", "64", "CC"):
        return None
    sources = [one for one in instruction.sources if not isinstance(one, PredicateOperand)]
    carries = [one for one in instruction.sources if isinstance(one, PredicateOperand)]
    if "CC" in instruction.modifiers:
        return None
    terms = [read_operand(one, registers) for one in sources]
    if "64" in instruction.modifiers:
        if any(isinstance(one, NumberOperand) and one.value >> 31 for one in sources):
            return None  # the listing does not show how such a number is extended
        upper = [read_operand(one, registers, 1) for one in sources]
        return write_result(instruction, add(*terms), add(*upper, operate("carry", *terms)))
    if "X" in instruction.modifiers:
        if not carries:
            return None
        terms += [read_operand(one, registers) for one in carries]
    written = write_result(instruction, add(*terms))
    outputs = [one for one in instruction.operands[1 : instruction.result_count] if isinstance(one, PredicateOperand)]
    negative = any(getattr(one, "negated", False) for one in sources)
    summands = sum(not (term.is_number and term.number == 0) for term in terms)
    known = not negative and (summands <= 2 or all(predicate.name not in TRUE for predicate in outputs))
    for place, predicate in enumerate(outputs):
        if predicate.name not in TRUE:
            exact = known and (place == 0 or len(outputs) == 2)
            carry = operate("carries", place + 1, *terms) if exact else unknown("carry", place, *terms)
            written[predicate.name] = carry
    return written


def multiply(instruction: SassInstruction, registers: Registers) -> dict[str, Term] | None:
    """IMAD: a product and a sum."""
    modifiers, sources = instruction.modifiers, instruction.sources
    if not has_only(instruction, "MOV", "IADD", "SHL", "WIDE", "X", "HI") or len(sources) < 3:
        return None
    if {"WIDE", "HI"} <= set(modifiers):  # no chip has both
        return None
    signed = int("U32" not in modifiers)
    a, b, low = (read_operand(one, registers) for one in sources[:3])
    if "WIDE" in modifiers:
        return _multiply_wide(instruction, registers, a, b, low, signed)
    if instruction.result_count > 1:
        return None
    if "HI" in modifiers:
        return write_result(
            instruction, operate("product high", a, b, low, read_operand(sources[2], registers, 1), signed)
        )
    terms = [low]
    if a is not ZERO and b is not ZERO:
        terms.append(a if b is ONE else b if a is ONE else operate("multiply", a, b))
    if "X" in modifiers:
        if len(sources) < 4:
            return None
        terms.append(read_operand(sources[3], registers))
    return write_result(instruction, add(*terms))


def _multiply_wide(
    instruction: SassInstruction, registers: Registers, a: Term, b: Term, low: Term, signed: int
) -> dict[str, Term] | None:
    """A product of 64 bits and a sum, with a carry into it or out of it."""
    high = read_operand(instruction.sources[2], registers, 1)
    if "X" in instruction.modifiers:
        if len(instruction.sources) != 4 or instruction.result_count > 1:
            return None
        carry = read_operand(instruction.sources[3], registers)
        low, high = add(low, carry), add(high, operate("carry", low, carry))
    parts = [low, high, ZERO]
    if ZERO not in (a, b):
        parts = [operate(f"product {part}", a, b, low, high, signed) for part in ("low", "high", "carry")]
    written = write_result(instruction, *parts[:2])
    for predicate in instruction.operands[1 : instruction.result_count]:
        if not isinstance(predicate, PredicateOperand) or signed:
            return None
        if predicate.name not in TRUE:
            written[predicate.name] = parts[2]
    return written


def scale_and_add(instruction: SassInstruction, registers: Registers) -> dict[str, Term] | None:
    """LEA and ISCADD: a shifted to the left, plus b; with HI the upper word of that."""
    modifiers, sources = instruction.modifiers, instruction.sources
    if uses_code(instruction):
        scale = scale_high_with_code if "HI" in modifiers else scale_with_code
        return scale(instruction, registers)
    if not has_only(instruction, "HI", "X"):
        return None
    numbers = [place for place, one in enumerate(sources) if place >= 2 and isinstance(one, NumberOperand)]
    if not numbers:
        return None
    distance = read_operand(sources[numbers[-1]], registers)
    a, b = (read_operand(one, registers) for one in sources[:2])
    if "HI" in modifiers:
        if numbers[-1] != 3:
            return None
        terms = [operate("left high", a, read_operand(sources[2], registers), distance), b]
        if "X" in modifiers:
            terms.append(read_operand(sources[4], registers))
        return write_result(instruction, add(*terms))
    terms = [operate("left", a, distance), b]
    written = write_result(instruction, add(*terms))
    outputs = [one for one in instruction.operands[1 : instruction.result_count] if isinstance(one, PredicateOperand)]
    for predicate in outputs:
        if predicate.name not in TRUE:
            written[predicate.name] = operate("carry", *terms)
    return written


def choose_extreme(instruction: SassInstruction, registers: Registers) -> dict[str, Term] | None:
    """The smaller or greater of two values; the first of them may be a sum."""
    values = [read_operand(one, registers) for one in instruction.sources]
    if instruction.opcode == "VIADDMNMX" and len(values) == 4:
        values[:2] = [add(*values[:2])]
    if not has_only(instruction) or len(values) != 3:
        return None
    a, b, condition = values
    if not condition.is_number:
        return None
    name = "minimum" if condition is ONE else "maximum"
    return write_result(instruction, operate(name, a, b, int("U32" not in instruction.modifiers)))
