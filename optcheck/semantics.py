"""What an instruction that does not access memory writes into its registers, as terms."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from optcheck.sass import (
    ADDS,
    MOVES,
    TRUE,
    UNIFORM_ZERO,
    ConstantOperand,
    NameOperand,
    NumberOperand,
    Operand,
    PredicateOperand,
    RegisterOperand,
    SassInstruction,
    successor,
)
from optcheck.sass import ZERO as ZERO_REGISTER
from optcheck.term import (
    ONE,
    ZERO,
    Term,
    add,
    conjunction,
    disjunction,
    entry,
    negate,
    number,
    operate,
    symbol,
    unknown,
)

COMPARISONS = frozenset({"EQ", "NE", "LT", "LE", "GT", "GE"})
HARMLESS = frozenset({"U32", "S32", "reuse", "AND", "LUT"})  # modifiers that leave a result as it is
Registers = Mapping[str, Term]


def read_register(name: str, registers: Registers) -> Term:
    """The value of a register or predicate."""
    if name in (ZERO_REGISTER, UNIFORM_ZERO):
        return ZERO
    if name in TRUE:
        return ONE
    return registers.get(name) or entry(name)


def read_operand(operand: Operand, registers: Registers, word: int = 0) -> Term:
    """The value of an operand; `word` 1 is the upper word of one of 64 bits."""
    match operand:
        case RegisterOperand(name=name):
            base = name if name in (ZERO_REGISTER, UNIFORM_ZERO) else successor(name, word)
            value = read_register(base, registers)
            return _apply_sign(unknown(operand.part, value) if operand.part else value, operand)
        case PredicateOperand(name=name, negated=negated):
            value = read_register(name, registers)
            return negate(value) if negated else value
        case NumberOperand(value=value_of_number):
            return number(value_of_number >> 32 * word)
        case ConstantOperand():
            place = add(read_register(operand.register, registers), number(operand.offset + 4 * word))
            bank = read_register(operand.bank, registers) if isinstance(operand.bank, str) else operand.bank
            if place.is_number and isinstance(bank, int):
                return _apply_sign(symbol("constant", bank, place.number), operand)
            return _apply_sign(unknown("constant", bank, place), operand)
        case _:
            return symbol("operand", str(operand))


def _apply_sign(value: Term, operand: RegisterOperand | ConstantOperand) -> Term:
    if operand.inverted:
        value = operate("lop3", value, ZERO, ZERO, 0x0F)
    return operate("multiply", value, number(-1)) if operand.negated else value


def results(instruction: SassInstruction, registers: Registers, unique: int) -> dict[str, Term]:
    """The registers that an instruction writes, with their new values; `unique` tells its executions apart."""
    known = SEMANTICS.get(instruction.opcode)
    found = known(instruction, registers) if known is not None else None
    if found is None:
        operands = [read_operand(one, registers) for one in instruction.sources]
        name = ".".join((instruction.opcode, *instruction.modifiers))
        if instruction.opcode not in PURE:
            operands.append(number(unique))
        return {register: unknown(name, *operands, index) for index, register in enumerate(instruction.writes)}
    return found


# Opcodes whose results depend on their operands only.
PURE = frozenset({
    "BFE", "BFI", "BMSK", "BREV", "FLO", "IABS", "IADD", "IADD2", "IADD3", "IADD32I", "ICMP", "IMAD", "IMAD32I",
    "IMNMX", "IMUL", "IMUL32I", "ISCADD", "ISCADD32I", "ISET", "ISETP", "LEA", "LOP", "LOP3", "LOP32I", "POPC",
    "PSET", "PSETP",
    "SHF", "SHL", "SHR", "SGXT", "VIADD", "VIADDMNMX", "VIMNMX", "XMAD", "PLOP3", "PRMT",
    "SEL", "MOV", "R2UR", "R2P", "P2R", "I2I",
    "UIADD3", "UIMAD", "UIMNMX", "UISETP", "ULEA", "ULOP3",
    "UMOV", "UPLOP3", "UPRMT", "USEL", "USHF", "UIADD", "UVIADD",
    "UVIMNMX", "HFMA2",
})  # fmt: skip


def _write(instruction: SassInstruction, *words: Term) -> dict[str, Term]:
    """The one result of an instruction, of one or two words."""
    destination = instruction.operands[0]
    if not isinstance(destination, RegisterOperand) or destination.name in (ZERO_REGISTER, UNIFORM_ZERO):
        return {}
    return {successor(destination.name, place): word for place, word in enumerate(words)}


def _only(instruction: SassInstruction, *allowed: str) -> bool:
    return all(modifier in allowed or modifier in HARMLESS for modifier in instruction.modifiers)


def _move(instruction: SassInstruction, registers: Registers) -> dict[str, Term] | None:
    operands = instruction.operands
    if len(operands) < 2 or isinstance(operands[1], (NameOperand, PredicateOperand)) or not _only(instruction, "64"):
        return None
    if not isinstance(operands[0], RegisterOperand):
        return None
    if len(operands) > 2 and operands[2:] != (NumberOperand(15),):  # the mask of bytes of older chips
        return None
    words = range(2 if "64" in instruction.modifiers else 1)
    return _write(instruction, *(read_operand(operands[1], registers, word) for word in words))


def _load_constant(instruction: SassInstruction, registers: Registers) -> dict[str, Term] | None:
    if not isinstance(instruction.operands[1], ConstantOperand) or not _only(instruction, "64", "128"):
        return None
    return _write(
        instruction, *(read_operand(instruction.operands[1], registers, word) for word in range(instruction.words))
    )


def _special(instruction: SassInstruction, registers: Registers) -> dict[str, Term] | None:
    source = instruction.operands[1]
    if not isinstance(source, NameOperand):
        return None
    words = range(instruction.words)
    if source.text == "SRZ":
        return _write(instruction, *(ZERO for _ in words))
    if "CLOCK" in source.text or "TIMER" in source.text:
        return None
    return _write(instruction, *(symbol("special", source.text, word) for word in words))


def _add(instruction: SassInstruction, registers: Registers) -> dict[str, Term] | None:
    if not _only(instruction, "X", "64", "CC"):
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
        return _write(instruction, add(*terms), add(*upper, operate("carry", *terms)))
    if "X" in instruction.modifiers:
        if not carries:
            return None
        terms += [read_operand(one, registers) for one in carries]
    written = _write(instruction, add(*terms))
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


def _multiply(instruction: SassInstruction, registers: Registers) -> dict[str, Term] | None:
    modifiers, sources = instruction.modifiers, instruction.sources
    if not _only(instruction, "MOV", "IADD", "SHL", "WIDE", "X", "HI") or len(sources) < 3:
        return None
    signed = int("U32" not in modifiers)
    a, b, low = (read_operand(one, registers) for one in sources[:3])
    if "WIDE" in modifiers:
        return _multiply_wide(instruction, registers, a, b, low, signed)
    if instruction.result_count > 1:
        return None
    if "HI" in modifiers:
        return _write(instruction, operate("product high", a, b, low, read_operand(sources[2], registers, 1), signed))
    terms = [low]
    if a is not ZERO and b is not ZERO:
        terms.append(a if b is ONE else b if a is ONE else operate("multiply", a, b))
    if "X" in modifiers:
        if len(sources) < 4:
            return None
        terms.append(read_operand(sources[3], registers))
    return _write(instruction, add(*terms))


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
    written = _write(instruction, *parts[:2])
    for predicate in instruction.operands[1 : instruction.result_count]:
        if not isinstance(predicate, PredicateOperand) or signed:
            return None
        if predicate.name not in TRUE:
            written[predicate.name] = parts[2]
    return written


def _logic(instruction: SassInstruction, registers: Registers) -> dict[str, Term] | None:
    sources = instruction.sources
    if not _only(instruction) or len(sources) < 4 or not isinstance(sources[3], NumberOperand):
        return None
    a, b, c = (read_operand(one, registers) for one in sources[:3])
    value = operate("lop3", a, b, c, sources[3].value & 255)
    first, second = instruction.operands[0], instruction.operands[1]
    if not isinstance(first, PredicateOperand):
        return _write(instruction, value)
    more = read_operand(sources[4], registers) if len(sources) > 4 else ZERO
    written = {} if first.name in TRUE else {first.name: disjunction(negate(operate("equal", value, ZERO)), more)}
    if isinstance(second, RegisterOperand) and second.name not in (ZERO_REGISTER, UNIFORM_ZERO):
        written[second.name] = value
    return written


def _compare(instruction: SassInstruction, registers: Registers) -> dict[str, Term] | None:
    modifiers, sources = instruction.modifiers, instruction.sources
    words = [modifier for modifier in modifiers if modifier in COMPARISONS]
    if len(words) != 1 or not _only(instruction, *COMPARISONS, "OR", "XOR", "EX", "U64", "S64") or len(sources) < 3:
        return None
    signed = int("U32" not in modifiers and "U64" not in modifiers)
    low = [read_operand(one, registers) for one in sources[:2]]
    if "U64" in modifiers or "S64" in modifiers:
        high = [read_operand(one, registers, 1) for one in sources[:2]]
        holds = _compare_wide(words[0], high, _compare_words(words[0], low, 0), signed)
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


def _choose(instruction: SassInstruction, registers: Registers) -> dict[str, Term] | None:
    if instruction.modifiers or len(instruction.sources) != 3:
        return None
    a, b, condition = (read_operand(one, registers) for one in instruction.sources)
    return _write(instruction, operate("choose", condition, a, b) if a is not b else a)


def _shift(instruction: SassInstruction, registers: Registers) -> dict[str, Term] | None:
    modifiers = instruction.modifiers
    if not _only(instruction, "L", "R", "HI", "U64", "S64") or len(instruction.sources) != 3:
        return None
    low, distance, high = (read_operand(one, registers) for one in instruction.sources)
    if not distance.is_number or distance.number > 31:
        return None
    if "L" in modifiers:
        if "HI" not in modifiers:
            return _write(instruction, operate("left", low, distance))
        return _write(instruction, operate("left high", low, high, distance))
    half = "high" if "HI" in modifiers else "low"
    return _write(instruction, operate(f"right {half}", high, low, distance, int(bool({"S32", "S64"} & {*modifiers}))))


def _shift_simply(instruction: SassInstruction, registers: Registers) -> dict[str, Term] | None:
    if not _only(instruction, "W") or len(instruction.sources) != 2:
        return None
    value, distance = (read_operand(one, registers) for one in instruction.sources)
    if not distance.is_number or distance.number > 31:
        return None
    if instruction.opcode in ("SHL", "USHL"):
        return _write(instruction, operate("left", value, distance))
    signed = int("U32" not in instruction.modifiers)
    upper = operate("right low", value, ZERO, number(31), 1) if signed else ZERO
    return _write(instruction, operate("right low", upper, value, distance, signed))


def _scale(instruction: SassInstruction, registers: Registers) -> dict[str, Term] | None:
    """LEA: a shifted to the left, plus b; with HI the upper word of that."""
    modifiers, sources = instruction.modifiers, instruction.sources
    if not _only(instruction, "HI", "X"):
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
        return _write(instruction, add(*terms))
    terms = [operate("left", a, distance), b]
    written = _write(instruction, add(*terms))
    outputs = [one for one in instruction.operands[1 : instruction.result_count] if isinstance(one, PredicateOperand)]
    for predicate in outputs:
        if predicate.name not in TRUE:
            written[predicate.name] = operate("carry", *terms)
    return written


def _minimum(instruction: SassInstruction, registers: Registers) -> dict[str, Term] | None:
    """The smaller or greater of two values; the first of them may be a sum."""
    values = [read_operand(one, registers) for one in instruction.sources]
    if instruction.opcode == "VIADDMNMX" and len(values) == 4:
        values[:2] = [add(*values[:2])]
    if not _only(instruction) or len(values) != 3:
        return None
    a, b, condition = values
    if not condition.is_number:
        return None
    name = "minimum" if condition is ONE else "maximum"
    return _write(instruction, operate(name, a, b, int("U32" not in instruction.modifiers)))


def _permute(instruction: SassInstruction, registers: Registers) -> dict[str, Term] | None:
    if instruction.modifiers or len(instruction.sources) != 3:
        return None
    a, selector, b = (read_operand(one, registers) for one in instruction.sources)
    return _write(instruction, operate("permute", a, selector, b))


def _halves(instruction: SassInstruction, registers: Registers) -> dict[str, Term] | None:
    packed = instruction.packed_halves if instruction.modifiers in ((), ("MMA",)) else None
    return None if packed is None else _write(instruction, number(packed))


SEMANTICS: dict[str, Callable[[SassInstruction, Registers], dict[str, Term] | None]] = {
    **dict.fromkeys(MOVES - {"S2UR"}, _move),
    **dict.fromkeys(("LDC", "LDCU", "ULDC"), _load_constant),
    **dict.fromkeys(("S2R", "S2UR", "CS2R"), _special),
    **dict.fromkeys(ADDS, _add),
    **dict.fromkeys(("IMAD", "UIMAD"), _multiply),
    **dict.fromkeys(("LOP3", "ULOP3"), _logic),
    **dict.fromkeys(("ISETP", "UISETP"), _compare),
    **dict.fromkeys(("SEL", "USEL", "FSEL"), _choose),
    **dict.fromkeys(("SHF", "USHF"), _shift),
    **dict.fromkeys(("SHL", "SHR", "USHL", "USHR"), _shift_simply),
    **dict.fromkeys(("LEA", "ULEA"), _scale),
    **dict.fromkeys(("IMNMX", "VIMNMX", "UIMNMX", "VIADDMNMX"), _minimum),
    **dict.fromkeys(("PRMT", "UPRMT"), _permute),
    "HFMA2": _halves,
}
