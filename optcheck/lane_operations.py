"""Makes the instructions of a machine ready to run; see `optcheck.lane_machine`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from optcheck.lane_access import access_operation
from optcheck.lane_control import CONTROLS
from optcheck.lane_machine import LaneMachine, MachineOperation, guard_of, read_symbol
from optcheck.lane_memory import MachineFailure
from optcheck.lane_values import NoArithmetic, Threads, compile_term
from optcheck.lane_warp import NATIVES
from optcheck.machine_code import MachineCode
from optcheck.sass import ConstantOperand, NameOperand, RegisterOperand, SassInstruction
from optcheck.semantics import results
from optcheck.term import Term

SILENT = frozenset({"NOP", "MEMBAR", "ERRBAR", "CGAERRBAR", "CCTL"})
WITH_PARTS = frozenset({"HFMA2", "I2I", "PRMT", "IDP", "I2F"})  # operands may be halves or bytes
Run = Callable[[LaneMachine, Threads, int], None]


def make_operations(code: MachineCode, weak: tuple[str, ...]) -> list[MachineOperation]:
    """One operation for each instruction; those that are not understood fail when they run."""
    known: dict[tuple[SassInstruction, bool], MachineOperation] = {}
    found = []
    for instruction in code.instructions:
        key = (instruction, instruction.opcode in CONTROLS)
        if key not in known:
            known[key] = _make_operation(instruction, code, weak)
        found.append(known[key])
    return found


def _make_operation(instruction: SassInstruction, code: MachineCode, weak: tuple[str, ...]) -> MachineOperation:
    guard = guard_of(instruction.guard)
    try:
        if _has_odd_suffix(instruction) or not instruction.is_known:
            return MachineOperation(_refuse(instruction), guard, False)
        if instruction.opcode in CONTROLS:
            return MachineOperation(CONTROLS[instruction.opcode](instruction), guard, True)
        return MachineOperation(_computation(instruction, code, weak), guard, False)
    except (NoArithmetic, MachineFailure, IndexError, ValueError, KeyError):
        return MachineOperation(_refuse(instruction), guard, False)


def _has_odd_suffix(instruction: SassInstruction) -> bool:
    """Whether a register is written in part, or the condition code with it: no chip from sm_70 on does that here."""
    registers = [one for one in instruction.operands if isinstance(one, RegisterOperand)]
    written = registers[: instruction.result_count] if instruction.result_count else []
    parts = written if instruction.opcode in WITH_PARTS else registers
    return any(one.sets_code for one in registers) or any(one.part for one in parts)


def _refuse(instruction: SassInstruction) -> Run:
    def run(machine: LaneMachine, threads: Threads, at: int) -> None:
        raise MachineFailure(f"{instruction.opcode} is not understood", False)

    return run


def _computation(instruction: SassInstruction, code: MachineCode, weak: tuple[str, ...]) -> Run:
    if instruction.touch is not None:
        return access_operation(instruction, weak)
    if instruction.opcode in SILENT or instruction.never:
        return lambda machine, threads, at: None
    relocated = _relocation(instruction, code)
    if relocated is not None:
        return relocated
    native = NATIVES.get(instruction.opcode)
    made = native(instruction) if native is not None else None
    if made is not None:
        return made
    if instruction.opcode == "LDC" and isinstance(instruction.operands[1], ConstantOperand):
        gather = _gather_constants(instruction, instruction.operands[1])
        if gather is not None:
            return gather
    return _terms(results(instruction, {}, 0))


def _terms(written: dict[str, Term]) -> Run:
    compiled = [(name, compile_term(term, read_symbol)) for name, term in written.items()]
    if len(compiled) == 1:
        ((only, compute),) = compiled
        return lambda machine, threads, at: machine.write(threads, only, compute(machine, threads))

    def run(machine: LaneMachine, threads: Threads, at: int) -> None:
        values = [(name, term(machine, threads)) for name, term in compiled]
        for name, words in values:
            machine.write(threads, name, words)

    return run


def _relocation(instruction: SassInstruction, code: MachineCode) -> Run | None:
    """MOV of a half of the address of a label or a table."""
    source = instruction.operands[-1] if instruction.operands else None
    if instruction.opcode not in ("MOV", "UMOV") or not isinstance(source, NameOperand) or instruction.modifiers:
        return None
    to, word = instruction.operands[0], code.relocations.get(source.text)
    if word is None or not isinstance(to, RegisterOperand) or len(instruction.operands) != 2:
        return None
    words = np.full(1, word, np.uint32)
    return lambda machine, threads, at: machine.write(threads, to.name, words)


def _gather_constants(instruction: SassInstruction, operand: ConstantOperand) -> Run | None:
    """LDC with a register in its address."""
    to = instruction.operands[0]
    if operand.register == "RZ" or instruction.modifiers or not isinstance(operand.bank, int):
        return None
    if not isinstance(to, RegisterOperand) or len(instruction.operands) != 2 or operand.bank == 0:
        return None
    bank, offset, register = operand.bank, operand.offset, operand.register

    def run(machine: LaneMachine, threads: Threads, at: int) -> None:
        offsets = machine.read(threads, register).astype(np.int64) + offset
        machine.write(threads, to.name, machine.read_constant(threads, bank, offsets))

    return run
