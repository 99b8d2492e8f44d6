"""What the grammar of SASS allows, but no chip has: registers, modifiers and operands that do not exist."""

from __future__ import annotations

import re

from gpudiy.errors import near_name
from optcheck.sass import NameOperand, SassInstruction, Touch

REGISTERS, PREDICATES = 255, 7  # from these numbers on there are none
NUMBERED = re.compile(r"(?<![\w.$])(UR|R|UP|P)(\d+)(?![\w$])")
PLAIN = frozenset({"LD", "LDG", "LDS", "LDL", "ST", "STG", "STS", "STL"})
ATOMIC = frozenset({"ATOM", "ATOMG", "ATOMS", "RED", "REDG"})
BRACKETS = re.compile(r"\[[^\]]*\]|\{[^}]*\}|\([^)]*\)")
ACCESS_MODIFIERS = frozenset({
    "E", "U", "S", "U8", "S8", "U16", "S16", "32", "64", "128", "256", "STRONG", "WEAK", "MMIO", "PRIVATE", "CONSTANT",
    "CTA", "SM", "GPU", "SYS", "VC", "CG", "CV", "CA", "CI", "CS", "WT", "LU", "EF", "EL", "EU", "EN", "NA", "ENL2",
    "EFL2", "ELL2", "EUL2", "NAL2", "LTC64B", "LTC128B", "LTC256B", "ZD", "PF",
})  # fmt: skip
FENCE_MODIFIERS = frozenset({"SC", "ALL", "CTA", "SM", "GPU", "SYS", "VC", "GL", "IVALLD", "MMIO", "ACQ_REL", "CGA"})


def find_mistake(instruction: SassInstruction) -> tuple[str, int] | None:
    """What is wrong with an instruction that could be parsed, and where in its text, from 1; None if nothing is."""
    text = instruction.text
    for found in NUMBERED.finditer(text):
        most = REGISTERS if found[1].endswith("R") else PREDICATES
        if int(found[2]) >= most:
            return f"there is no register {found[0]}", found.start() + 1
    for operand in instruction.operands:
        if isinstance(operand, NameOperand) and operand.text in ("c", "cx", "desc", "gdesc"):
            return "a bracket of this operand is missing", text.find(f"{operand.text}[") + 1
    if instruction.opcode in PLAIN:
        return _find_modifier(instruction, ACCESS_MODIFIERS) or _find_operand(instruction)
    if instruction.opcode in ATOMIC:
        return _find_operand(instruction)
    return _find_modifier(instruction, FENCE_MODIFIERS) if instruction.opcode == "MEMBAR" else None


def _find_modifier(instruction: SassInstruction, known: frozenset[str]) -> tuple[str, int] | None:
    for modifier in instruction.modifiers:
        if modifier not in known:
            near = near_name(modifier, sorted(known))
            message = f"{instruction.opcode} has no modifier {modifier!r}" + (f": {near}" if near else "")
            return message, instruction.text.find(f".{modifier}") + 2
    return None


def _find_operand(instruction: SassInstruction) -> tuple[str, int] | None:
    """An access has an address, stores have a value, and all operands are separated by commas."""
    text = instruction.text
    bare = BRACKETS.sub(lambda found: "_" * len(found[0]), text)
    if instruction.address is None:
        return f"{instruction.opcode} has no address", len(text)
    if any(one.negated for one in instruction.address.registers):
        return "a register is subtracted in an address", text.find("-", text.find("[")) + 1
    for operand in instruction.operands:
        if isinstance(operand, NameOperand):
            return f"{operand.text!r} is no operand of {instruction.opcode}", text.rfind(operand.text) + 1
    if bare.count(",") != len(instruction.operands) - 1:
        return "a comma is missing between operands", len(text)
    needs = {Touch.STORE: 1, Touch.ATOMIC: 1, Touch.REDUCE: 1}.get(instruction.touch or Touch.LOAD, 0)
    if len(instruction.data) < needs and not {"INC", "DEC"} & {*instruction.modifiers}:
        return f"{instruction.opcode} has no value", len(text)
    return None
