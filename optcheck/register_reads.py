"""Which registers, predicates and uniform registers an instruction reads, with all words of wide operands."""

from __future__ import annotations

from functools import lru_cache

from optcheck.sass import (
    TRUE,
    UNIFORM_ZERO,
    ZERO,
    AddressOperand,
    ConstantOperand,
    NameOperand,
    Operand,
    PredicateOperand,
    RegisterOperand,
    SassInstruction,
    successor,
)

PREDICATES = tuple(f"P{number}" for number in range(7))
PLACES = frozenset({"CALL", "RET", "BRX", "JMX", "BRXU", "JMXU"})  # a register holds an address of code
ONE_WORD = frozenset({
    "MOV", "UMOV", "MOV32I", "R2UR", "R2P", "SEL", "USEL", "IADD", "IADD3", "IADD32I", "UIADD3", "UIADD", "VIADD",
    "UVIADD", "IMAD", "UIMAD", "LEA", "ULEA", "ISCADD", "IMNMX", "VIMNMX", "UIMNMX", "UVIMNMX", "VIADDMNMX", "LOP3",
    "ULOP3", "LOP", "SHF", "USHF", "SHL", "SHR", "FLO", "UFLO", "POPC", "UPOPC", "PRMT", "UPRMT", "ISETP", "UISETP",
    "BMOV", "I2F", "MUFU", "F2I", "SHFL", "REDUX", "VOTE", "VOTEU", "LDC", "LDCU", "ULDC", "HFMA2", "I2I", "I2FP",
    "BMSK", "SGXT", "BREV", "IABS",
})  # fmt: skip
WIDE = frozenset({"64", "U64", "S64", "F64", "128"})


@lru_cache(1 << 14)
def registers_read(instruction: SassInstruction) -> frozenset[str]:
    """The names of all that the instruction may read; none for one that never runs."""
    if instruction.never:
        return frozenset()
    found: set[str] = set()
    if instruction.guard is not None:
        found.add(instruction.guard.name)
    sources = instruction.sources
    for place, operand in enumerate(sources):
        found |= _read_by(operand, _words_of(instruction, place), "E" in instruction.modifiers)
    return frozenset(found - TRUE - {ZERO, UNIFORM_ZERO})


def _words_of(instruction: SassInstruction, place: int) -> int:
    """How many registers an operand may have: two if that is not known."""
    if instruction.touch is not None:
        return max(instruction.words, 1)
    if instruction.opcode in PLACES or not WIDE.isdisjoint(instruction.modifiers):
        return 2
    if instruction.opcode not in ONE_WORD:
        return 2
    return 2 if place == 2 and not {"WIDE", "HI"}.isdisjoint(instruction.modifiers) else 1


def _read_by(operand: Operand, words: int, wide_address: bool) -> set[str]:
    match operand:
        case RegisterOperand():
            return {successor(operand.name, word) for word in range(2 if operand.wide else words)}
        case PredicateOperand():
            return {operand.name}
        case ConstantOperand():
            return {operand.register, *([operand.bank] if isinstance(operand.bank, str) else [])}
        case AddressOperand():
            count = 2 if wide_address else 1
            names = {successor(one.name, word) for one in operand.registers for word in range(count)}
            described = {operand.descriptor, successor(operand.descriptor, 1)} if operand.descriptor else set()
            return names | described
        case NameOperand(text="PR"):
            return set(PREDICATES)
        case _:
            return set()
