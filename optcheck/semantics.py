"""What an instruction that does not access memory writes into its registers, as terms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from optcheck.arithmetic import add_operands, choose_extreme, multiply, scale_and_add
from optcheck.bits import choose, combine_bits, combine_two, convert, extract_bits, permute_bytes, shift, shift_pair
from optcheck.comparison import combine_predicates, compare
from optcheck.half_product import multiply_halves, multiply_words
from optcheck.operands import Registers, has_only, read_operand, write_result
from optcheck.sass import (
    ADDS,
    CARRY,
    CONDITION_CODE,
    MOVES,
    ConstantOperand,
    NameOperand,
    NumberOperand,
    PredicateOperand,
    RegisterOperand,
    SassInstruction,
)
from optcheck.term import ZERO, Term, number, operate, symbol, unknown

UNIFORM_SPECIAL = (
    "SR_CTAID",
    "SR_NCTAID",
    "SR_CgaCtaId",
    "SR_SWINHI",
    "SRZ",
)  # special registers with one value in a warp


def results(instruction: SassInstruction, registers: Registers, unique: int) -> dict[str, Term]:
    """The registers that an instruction writes, with their new values; `unique` tells its executions apart.

    What the known meaning of an instruction does not mention, but the instruction writes, is not known.
    """
    known = SEMANTICS.get(instruction.opcode) if instruction.is_known else None
    found = known(instruction, registers) if known is not None else None
    if found is not None and instruction.sets_code and CARRY not in found:
        found |= {name: unknown(instruction.text, *found.values(), unique) for name in CONDITION_CODE}
    if found is not None and found.keys() >= instruction.writes.keys():
        return found
    operands = [read_operand(one, registers) for one in instruction.sources]
    name = ".".join((instruction.opcode, *instruction.modifiers))
    if instruction.opcode not in PURE:
        operands.append(number(unique))
    others = {register: unknown(name, *operands, index) for index, register in enumerate(instruction.writes)}
    return others if found is None else others | found


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


def move(instruction: SassInstruction, registers: Registers) -> dict[str, Term] | None:
    """A copy of one word or two."""
    operands = instruction.operands
    if len(operands) < 2 or isinstance(operands[1], (NameOperand, PredicateOperand)) or not has_only(instruction, "64"):
        return None
    if not isinstance(operands[0], RegisterOperand):
        return None
    if len(operands) > 2 and operands[2:] != (NumberOperand(15),):  # the mask of bytes of older chips
        return None
    words = range(2 if "64" in instruction.modifiers else 1)
    return write_result(instruction, *(read_operand(operands[1], registers, word) for word in words))


def make_uniform(instruction: SassInstruction, registers: Registers) -> dict[str, Term] | None:
    """A copy into a register that the warp shares: known only if all its threads have the same value."""
    found = move(instruction, registers)
    return found if found is not None and all(map(_is_uniform, found.values())) else None


def _is_uniform(term: Term) -> bool:
    """Whether a value is the same for all threads of a warp: it is computed from constant memory and numbers only."""
    if term.operation == "unknown":
        return False
    if term.operation == "symbol":
        kind, *name = term.arguments
        return kind == "constant" or (kind == "special" and str(name[0]).startswith(UNIFORM_SPECIAL))
    return all(_is_uniform(one) for one in term.arguments if isinstance(one, Term))


def load_constant(instruction: SassInstruction, registers: Registers) -> dict[str, Term] | None:
    """Words of a constant bank."""
    source = instruction.operands[-1] if len(instruction.operands) == 2 else None
    if not isinstance(source, ConstantOperand):
        return None
    if instruction.modifiers == ("U16",) and not (source.negated or source.inverted or source.part):
        return write_result(instruction, _load_half(source, registers))
    if not has_only(instruction, "64", "128"):
        return None
    return write_result(instruction, *(read_operand(source, registers, word) for word in range(instruction.words)))


def _load_half(source: ConstantOperand, registers: Registers) -> Term:
    """A half of a word of a constant bank."""
    whole = replace(source, offset=source.offset & ~3)
    return operate("byte", read_operand(whole, registers), 8 * (source.offset & 3), 16, 0)


def is_clock(instruction: SassInstruction) -> bool:
    """Whether an instruction reads a clock."""
    source = instruction.operands[-1] if len(instruction.operands) == 2 else None
    return (
        instruction.opcode in ("S2R", "S2UR", "CS2R", "CS2UR")
        and isinstance(source, NameOperand)
        and ("CLOCK" in source.text or "TIMER" in source.text)
    )


def read_special(instruction: SassInstruction, registers: Registers) -> dict[str, Term] | None:
    """A special register: it keeps its value, unless it is a clock."""
    source = instruction.operands[-1] if len(instruction.operands) == 2 else None
    if not isinstance(source, NameOperand):
        return None
    words = range(instruction.words)
    if instruction.opcode == "S2UR" and not source.text.startswith(UNIFORM_SPECIAL):
        return None
    if source.text == "SRZ":
        return write_result(instruction, *(ZERO for _ in words))
    if is_clock(instruction):
        return None
    return write_result(instruction, *(symbol("special", source.text, word) for word in words))


def pack_halves(instruction: SassInstruction, registers: Registers) -> dict[str, Term] | None:
    """HFMA2 of zeros, by which compilers write some constants."""
    packed = instruction.packed_halves if instruction.modifiers in ((), ("MMA",)) else None
    return None if packed is None else write_result(instruction, number(packed))


SEMANTICS: dict[str, Callable[[SassInstruction, Registers], dict[str, Term] | None]] = {
    **dict.fromkeys(MOVES - {"S2UR", "R2UR"}, move),
    "R2UR": make_uniform,
    **dict.fromkeys(("LDC", "LDCU", "ULDC"), load_constant),
    **dict.fromkeys(("S2R", "S2UR", "CS2R"), read_special),
    **dict.fromkeys(ADDS, add_operands),
    **dict.fromkeys(("IMAD", "UIMAD"), multiply),
    **dict.fromkeys(("LOP3", "ULOP3"), combine_bits),
    **dict.fromkeys(("ISETP", "UISETP"), compare),
    **dict.fromkeys(("SEL", "USEL", "FSEL"), choose),
    **dict.fromkeys(("SHF", "USHF"), shift_pair),
    **dict.fromkeys(("SHL", "SHR", "USHL", "USHR"), shift),
    **dict.fromkeys(("LEA", "ULEA", "ISCADD"), scale_and_add),
    **dict.fromkeys(("LOP", "LOP32I"), combine_two),
    **dict.fromkeys(("IMUL", "IMUL32I"), multiply_words),
    "XMAD": multiply_halves,
    "BFE": extract_bits,
    "I2I": convert,
    **dict.fromkeys(("IMNMX", "VIMNMX", "UIMNMX", "VIADDMNMX"), choose_extreme),
    **dict.fromkeys(("PRMT", "UPRMT"), permute_bytes),
    **dict.fromkeys(("PLOP3", "UPLOP3"), combine_predicates),
    "HFMA2": pack_halves,
}
