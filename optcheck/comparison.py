"""What comparisons of integers and combinations of predicates write into predicates, as terms."""

from __future__ import annotations

from optcheck.condition_code import compare_with_code
from optcheck.operands import Registers, has_only, read_operand
from optcheck.sass import CARRY, TRUE, NumberOperand, PredicateOperand, SassInstruction
from optcheck.term import Term, apply_table, conjunction, disjunction, negate, operate

COMPARISONS = frozenset({"EQ", "NE", "LT", "LE", "GT", "GE"})
OTHERS = ("OR", "XOR", "EX", "U64", "S64", "X")


def compare(instruction: SassInstruction, registers: Registers) -> dict[str, Term] | None:
    """A comparison of one or two words, combined with a predicate."""
    modifiers, sources = instruction.modifiers, instruction.sources
    words = [modifier for modifier in modifiers if modifier in COMPARISONS]
    if (
        len(words) != 1
        or not has_only(instruction, *COMPARISONS, "OR", "XOR", "EX", "U64", "S64", "X")
        or len(sources) < 3
    ):
        return None
    signed = int("U32" not in modifiers and "U64" not in modifiers)
    low = [read_operand(one, registers) for one in sources[:2]]
    if "U64" in modifiers or "S64" in modifiers:
        high = [read_operand(one, registers, 1) for one in sources[:2]]
        holds = _compare_wide(words[0], high, _compare_words(words[0], low, 0), signed)
    elif "X" in modifiers:
        if "EX" in modifiers or registers.get(CARRY) is None:
            return None
        holds = compare_with_code(words[0], low, signed, registers)
    elif "EX" in modifiers:
        if len(sources) < 4:
            return None
        holds = _compare_wide(words[0], low, read_operand(sources[3], registers), signed)
    else:
        holds = _compare_words(words[0], low, signed)
    other = read_operand(sources[2], registers)
    written = {}
    for destination, value in zip(instruction.operands[:2], (holds, negate(holds)), strict=True):
        if isinstance(destination, PredicateOperand) and destination.name not in TRUE:
            written[destination.name] = _combine(modifiers, value, other)
    return written


def _compare_words(comparison: str, pair: list[Term], signed: int) -> Term:
    a, b = pair
    match comparison:
        case "EQ":
            return operate("equal", a, b)
        case "NE":
            return negate(operate("equal", a, b))
        case "LT":
            return operate("less", a, b, signed)
        case "GE":
            return negate(operate("less", a, b, signed))
        case "GT":
            return operate("less", b, a, signed)
        case _:
            return negate(operate("less", b, a, signed))


def _compare_wide(comparison: str, high: list[Term], low: Term, signed: int) -> Term:
    """A comparison of 64 bits: that of the upper words decides, unless they are equal."""
    same = operate("equal", *high)
    if comparison == "EQ":
        return conjunction(same, low)
    if comparison == "NE":
        return negate(conjunction(same, negate(low)))
    strict = "LT" if comparison in ("LT", "LE") else "GT"
    return disjunction(_compare_words(strict, high, signed), conjunction(same, low))


def _combine(modifiers: tuple[str, ...], one: Term, other: Term) -> Term:
    if "OR" in modifiers:
        return disjunction(one, other)
    return operate("different", one, other) if "XOR" in modifiers else conjunction(one, other)


def combine_predicates(instruction: SassInstruction, registers: Registers) -> dict[str, Term] | None:
    """PLOP3: two truth tables of three predicates, one for each result."""
    sources = instruction.sources
    if instruction.modifiers != ("LUT",) or len(sources) != 5:
        return None
    a, b, c = (read_operand(one, registers) for one in sources[:3])
    written = {}
    for result, table in zip(instruction.operands[:2], sources[3:], strict=True):
        if not isinstance(result, PredicateOperand) or not isinstance(table, NumberOperand):
            return None
        if result.name not in TRUE:
            written[result.name] = apply_table(a, b, c, table.value)
    return written
