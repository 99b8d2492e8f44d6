"""Runs of instructions that only compute, with what they computed before."""

from __future__ import annotations

from optcheck.operands import Registers, read_register
from optcheck.sass import SassInstruction
from optcheck.semantics import PURE, results
from optcheck.term import Term


class _ReadRegisters(dict[str, Term]):
    """Registers that note what is read of them before it is written."""

    def __init__(self, registers: Registers) -> None:
        super().__init__(registers)
        self.read: dict[str, Term | None] = {}
        self.written: dict[str, Term] = {}

    def get(self, name: str, default: object = None) -> Term | None:  # type: ignore[override]
        found = super().get(name)
        if name not in self.written:
            self.read[name] = found
        return found

    def write(self, words: dict[str, Term]) -> None:
        """What an instruction writes."""
        self.update(words)
        self.written.update(words)


class Computation:
    """Instructions one after the other that only compute.

    What they wrote is kept, with all that they read for it: paths and functions have much code in common.
    """

    def __init__(self, instructions: tuple[SassInstruction, ...]) -> None:
        self.instructions = instructions
        self._known: list[tuple[tuple[str, ...], dict[tuple[Term | None, ...], dict[str, Term]]]] = []

    def run(self, registers: dict[str, Term]) -> dict[str, Term]:
        """The registers that are written, with their values; nobody may change them."""
        for names, found in self._known:
            written = found.get(tuple(map(registers.get, names)))
            if written is not None:
                return written
        noted = _ReadRegisters(registers)
        for instruction in self.instructions:
            move = instruction.plain_move
            noted.write(results(instruction, noted, 0) if move is None else {move[0]: read_register(move[1], noted)})
        names, words = tuple(noted.read), tuple(noted.read.values())
        for others, found in self._known:
            if others == names:
                found[words] = noted.written
                return noted.written
        self._known.append((names, {words: noted.written}))
        return noted.written


_COMPUTATIONS: dict[tuple[str, ...], Computation] = {}  # by the texts of their instructions


def computation_of(instructions: tuple[SassInstruction, ...]) -> Computation:
    """The computation of these instructions, with what it computed before."""
    texts = tuple([one.text for one in instructions])
    found = _COMPUTATIONS.get(texts)
    if found is None:
        found = _COMPUTATIONS[texts] = Computation(instructions)
    return found


def forget_computations() -> None:
    """Forget what was computed before: its terms are no longer those of today."""
    _COMPUTATIONS.clear()


def only_computes(instruction: SassInstruction) -> bool:
    """Whether all that an instruction does is to write registers, always, from its operands."""
    return instruction.guard is None and instruction.opcode in PURE and not instruction.joins
