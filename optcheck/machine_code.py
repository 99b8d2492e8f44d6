"""`MachineCode`: the functions of a module as one list of instructions, each with the place where it lies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from optcheck.listing import SassFunction
from optcheck.sass import SassInstruction

CODE = 0x7C00_FFFF_F000  # the address of the first instruction
STEP = 16
NATIVE = 0x7D00_0000_0000  # addresses of functions that are not in the code: those of tests


@dataclass(frozen=True, slots=True)
class Place:
    """Where an instruction is: its function, and its index there."""

    function: SassFunction
    index: int

    def __str__(self) -> str:
        return f"{self.function.name}: {self.function.show_instruction(self.index)}"


class MachineCode:
    """All instructions, where functions and labels begin, and the words of relocations."""

    def __init__(self, functions: Sequence[SassFunction], symbols: dict[str, int]) -> None:
        self.instructions: list[SassInstruction] = []
        self.places: list[Place] = []
        self.starts: dict[str, int] = {}
        self.labels: set[int] = set()
        self.targets: dict[int, int | None] = {}
        self.relocations = {_name_relocation(half, name): value >> shift & 0xFFFFFFFF
                            for name, value in symbols.items() for half, shift in (("lo", 0), ("hi", 32))}  # fmt: skip
        for function in functions:
            self._add(function)
        for place, where in enumerate(self.places):
            if where.index in where.function.named_targets:
                self.targets[place] = self._find_target(where)

    def _add(self, function: SassFunction) -> None:
        start = len(self.instructions)
        self.starts[function.name] = start
        self.labels.add(start)
        for label, index in function.labels.items():
            self.labels.add(start + index)
            address = code_address(start + index)
            for half, word in (("lo", address & 0xFFFFFFFF), ("hi", address >> 32)):
                self.relocations[_name_relocation(half, f"({function.name} + {label}@srel)")] = word
        self.instructions += function.instructions
        self.places += (Place(function, index) for index in range(len(function.instructions)))

    def _find_target(self, where: Place) -> int | None:
        found = where.function.targets_of(where.index)
        start = self.starts[where.function.name]
        if found:
            return start + found[0] if len(found) == 1 else None
        names = where.function.named_targets[where.index]
        return self.starts.get(names[0]) if len(names) == 1 else None


def code_address(place: int) -> int:
    """The address of the instruction at a place."""
    return CODE + STEP * place


def _name_relocation(half: str, what: str) -> str:
    """How a listing that was read names a relocation."""
    return "_" + re.sub("[^A-Za-z0-9_]", "_", f"32@{half}({what})")
