"""Runs of instructions that only compute, with what they computed before."""

from __future__ import annotations

from optcheck.noted_values import Cases, NotedValues
from optcheck.operands import read_register
from optcheck.sass import SassInstruction
from optcheck.semantics import PURE, results
from optcheck.term import Term

MOST_COMPUTATIONS = 1 << 15


class Computation:
    """Instructions one after the other that only compute.

    What they wrote is kept, with all that they read for it: paths and functions have much code in common.
    """

    def __init__(self, instructions: tuple[SassInstruction, ...]) -> None:
        self.instructions = instructions
        self.length = len(instructions)
        self._cases: Cases[str, Term, dict[str, Term]] = Cases()

    def run(self, registers: dict[str, Term]) -> dict[str, Term]:
        """The registers that are written, with their values; nobody may change them."""
        known = self._cases.find(registers.get)
        if known is not None:
            return known
        noted = NotedValues(registers)
        for instruction in self.instructions:
            move = instruction.plain_move
            noted.update(results(instruction, noted, 0) if move is None else {move[0]: read_register(move[1], noted)})
        for name in noted.read:
            registers.get(name)  # these may be noted too
        self._cases.keep(noted.read, noted.written)
        return noted.written


_COMPUTATIONS: dict[tuple[int, ...], Computation] = {}  # by the identities of their instructions, which are kept


def computation_of(identities: tuple[int, ...], instructions: list[SassInstruction]) -> Computation:
    """The computation of these instructions, with what it computed before."""
    found = _COMPUTATIONS.get(identities)
    if found is None:
        if len(_COMPUTATIONS) >= MOST_COMPUTATIONS:
            forget_computations()
        found = _COMPUTATIONS[identities] = Computation(tuple(instructions))
    return found


def forget_computations() -> None:
    """Forget what was computed before: its terms are no longer those of today."""
    _COMPUTATIONS.clear()


def only_computes(instruction: SassInstruction) -> bool:
    """Whether all that an instruction does is to write registers, always, from its operands."""
    alone = instruction.guard is None and not instruction.joins
    return alone and instruction.opcode in PURE and instruction.is_known
