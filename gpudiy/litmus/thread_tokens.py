"""The normal form of one thread: registers numbered by their first use, constants in place of registers never written.

Content hashes use it; so generated tests can be hashed before they are built.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpudiy.litmus import instruction as isa
from gpudiy.litmus.access import ScalarType
from gpudiy.litmus.instruction import address_of, destination_of, guard_of, operand_type, operands_of
from gpudiy.litmus.traits import hash_words


@dataclass(frozen=True, slots=True)
class VariableUse:
    """A variable among the tokens of a thread; it gets its name when the tokens are written."""

    name: str


Token = str | VariableUse
InitialToken = int | VariableUse  # an initial value: a number, or the address of a variable
DeclaredTokens = Mapping[str, tuple[ScalarType, InitialToken]]


class ThreadTokens:
    """The tokens of a thread whose registers are declared as given; `numbers` are those of its registers."""

    def __init__(self, thread: Sequence[isa.Instruction], declared: DeclaredTokens) -> None:
        self.declared = declared
        self.numbers: dict[str, int] = {}
        self._kept = _kept_registers(thread)
        self._positions = _label_positions(thread)
        self._tokens: list[Token] = []
        for instruction in thread:
            if not isinstance(instruction, isa.Label):
                self._write(instruction)
        for name in self.numbers:
            self._tokens.append(f"{declared[name][0]}=")
            self._write_value(self._initial(name))
        self.tokens = tuple(self._tokens)

    def final(self, name: str) -> str | InitialToken:
        """A register in a condition: its normal name, or its initial value if it has no normal name."""
        return f"r{self.numbers[name]}" if name in self.numbers else self._initial(name)

    def _initial(self, name: str) -> InitialToken:
        type, value = self.declared[name]
        return value if isinstance(value, VariableUse) else value % (1 << type.bits)

    def _write(self, instruction: isa.Instruction) -> None:
        tokens = self._tokens
        guard = guard_of(instruction)
        if guard is not None:
            tokens += ["unless" if guard.negated else "if", self._register(guard.predicate.name)]
        tokens.append(hash_words(instruction, self._positions.__getitem__))
        destination = destination_of(instruction)
        if destination is not None:
            tokens.append(self._register(destination.name))
        address = address_of(instruction)
        if address is not None:
            tokens.append("@")
            self._write_operand(address, 64)
        operands = operands_of(instruction)
        if operands:
            type = operand_type(instruction)
            bits = 64 if type is None else type.bits
            for operand in operands:
                self._write_operand(operand, bits)
        tokens.append(";")

    def _write_operand(self, operand: isa.Operand, bits: int) -> None:
        if isinstance(operand, isa.Immediate):
            self._tokens.append(f"#{operand.value % (1 << bits)}")
        elif isinstance(operand, isa.Variable):
            self._tokens.append(VariableUse(operand.name))
        elif operand.name in self._kept:
            self._tokens.append(self._register(operand.name))
        else:
            self._write_value(self._initial(operand.name))

    def _write_value(self, value: InitialToken) -> None:
        self._tokens.append(value if isinstance(value, VariableUse) else f"#{value}")

    def _register(self, name: str) -> str:
        return f"r{self.numbers.setdefault(name, len(self.numbers))}"


def _kept_registers(thread: Sequence[isa.Instruction]) -> set[str]:
    """Registers that keep their names: those that are written, and guards."""
    kept: set[str] = set()
    for instruction in thread:
        destination, guard = destination_of(instruction), guard_of(instruction)
        if destination is not None:
            kept.add(destination.name)
        if guard is not None:
            kept.add(guard.predicate.name)
    return kept


def _label_positions(thread: Sequence[isa.Instruction]) -> dict[str, int]:
    """The positions of labels among the other instructions."""
    positions: dict[str, int] = {}
    position = 0
    for instruction in thread:
        if isinstance(instruction, isa.Label):
            positions[instruction.name] = position
        else:
            position += 1
    return positions
