"""Accesses on a path: their addresses and data as terms, and what they read; words of the stack are like registers."""

from __future__ import annotations

from optcheck.condition_code import generic_address
from optcheck.operands import read_operand, read_register
from optcheck.path_state import PathState
from optcheck.path_steps import NotUnderstood, SassAccess
from optcheck.sass import UNIFORM_ZERO as UNIFORM_ZERO_REGISTER
from optcheck.sass import ZERO as ZERO_REGISTER
from optcheck.sass import AddressOperand, PredicateOperand, RegisterOperand, SassInstruction, Touch, successor
from optcheck.stack_words import find_stack_offset, stack_word
from optcheck.term import ZERO, Term, add, number, operate, symbol


def perform_access(state: PathState, instruction: SassInstruction, index: int) -> None:
    """Tell the watcher of an access, and write what it reads into registers; raises `NotUnderstood`."""
    address = instruction.address
    if address is None:
        raise NotUnderstood(f"{instruction.opcode} without an address", index)
    if instruction.space == "local":
        _access_stack(state, instruction, address, index)
        return
    place = _address(address, instruction, state, index)
    for one in instruction.sources:
        if isinstance(one, PredicateOperand) and read_operand(one, state.registers) is not generic_address(*place):
            raise NotUnderstood("the space of a generic address is not understood", index)
    words = range(instruction.words)
    data = tuple([tuple([read_operand(one, state.registers, word) for word in words]) for one in instruction.data])
    offset = address.offset - (1 << 32) if address.offset >> 31 else address.offset
    descriptor = None
    if address.descriptor:
        high = successor(address.descriptor, 1)
        descriptor = read_register(address.descriptor, state.registers), read_register(high, state.registers)
    known = state.watcher.access(SassAccess(index, instruction, place, offset, data, descriptor))
    for name, word in instruction.writes.items():
        if name[0] == "P" or word >= len(known):
            state.unknowns += 1
            state.registers[name] = symbol("loaded", state.unknowns, name)
        else:
            state.registers[name] = known[word]


def _access_stack(state: PathState, instruction: SassInstruction, address: AddressOperand, index: int) -> None:
    """Words of the stack are like registers."""
    base = address.registers[0] if address.registers else None
    place = add(read_operand(base, state.registers), number(address.offset)) if base else number(address.offset)
    offset = find_stack_offset(place)
    if offset is None or not set(instruction.modifiers) <= {"64", "128"}:
        raise NotUnderstood("an access to the stack is not understood", index)
    for word in range(instruction.words):
        name = stack_word(offset + 4 * word)
        if instruction.touch is Touch.STORE:
            state.registers[name] = read_operand(instruction.data[0], state.registers, word)
            continue
        register = instruction.operands[0]
        if isinstance(register, RegisterOperand) and register.name != ZERO_REGISTER:
            state.registers[successor(register.name, word)] = read_register(name, state.registers)


def _is_pair(registers: list[RegisterOperand]) -> bool:
    """Whether there is at most one register, or two as sm_75 adds them, both of 64 bits: R4.64+UR4."""
    if len(registers) < 2:
        return True
    return len(registers) == 2 and registers[0].wide and registers[0].name[0] == "R" and registers[1].name[0] == "U"


def _address(operand: AddressOperand, instruction: SassInstruction, state: PathState, index: int) -> tuple[Term, Term]:
    """The two words of the sum of the registers of an address; the upper one is 0 if it has 32 bits."""
    registers = [one for one in operand.registers if one.name not in (ZERO_REGISTER, UNIFORM_ZERO_REGISTER)]
    wide = "E" in instruction.modifiers
    if not wide:
        return add(*(read_operand(one, state.registers) for one in registers), ZERO), ZERO
    if any(one.part or one.negated for one in registers) or not _is_pair(registers):
        raise NotUnderstood("an address of two registers is not understood", index)
    if not registers:
        return ZERO, ZERO
    if len(registers) == 2:
        low, high = ([read_operand(one, state.registers, word) for one in registers] for word in (0, 1))
        return add(*low), add(*high, operate("carry", *low))
    return read_operand(registers[0], state.registers), read_operand(registers[0], state.registers, 1)
