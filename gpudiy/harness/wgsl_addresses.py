"""Registers that hold addresses: WGSL has none, so in its code an address is a number of bytes of 32 bits.

That is right as long as an address only becomes another address, by operations whose lower bits depend on lower bits
only. `find_misuse` finds what else a thread does with one.
"""

from __future__ import annotations

from gpudiy.litmus import instruction as isa
from gpudiy.litmus.condition import AddressOf, FinalRegister
from gpudiy.litmus.test import Test

KEEP_LOWER_BITS = frozenset((
    isa.AluOperation.MOV, isa.AluOperation.CVT, isa.AluOperation.ADD, isa.AluOperation.SUB, isa.AluOperation.MUL,
    isa.AluOperation.AND, isa.AluOperation.OR, isa.AluOperation.XOR, isa.AluOperation.NOT, isa.AluOperation.SHL,
    isa.AluOperation.SELP,
))  # fmt: skip


def find_misuse(test: Test, thread: int) -> str | None:
    """What a thread does with an address, or with a number of 64 bits, that 32 bits cannot show; None if nothing."""
    held = find_address_registers(test, thread)
    for item in test.observed:
        if isinstance(item, FinalRegister) and item.thread == thread and item.name in held:
            return f"it observes {item.name}, which holds an address or has 64 bits"
    for instruction in test.threads[thread]:
        if not any(_holds_address(operand, held) for operand in isa.operands_of(instruction)):
            continue
        if not isinstance(instruction, isa.Alu):
            return "it uses an address, or a register of 64 bits, as a value"
        if instruction.operation not in KEEP_LOWER_BITS:
            return f"it computes with an address, or in 64 bits: {instruction.operation}"
    return None


def find_address_registers(test: Test, thread: int) -> set[str]:
    """The registers that have 64 bits, or begin with an address, and those computed from them."""
    held = {
        found.name
        for found in test.registers_of(thread)
        if found.type.bits == 64 or isinstance(found.initial, AddressOf)
    }
    while True:
        more = {
            instruction.destination.name
            for instruction in test.threads[thread]
            if isinstance(instruction, isa.Alu)
            and any(_holds_address(operand, held) for operand in instruction.sources)
        }
        if more <= held:
            return held
        held |= more


def _holds_address(operand: isa.Operand, held: set[str]) -> bool:
    return isinstance(operand, isa.Variable) or (isinstance(operand, isa.Register) and operand.name in held)
