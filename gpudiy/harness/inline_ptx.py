"""`ThreadPtx`: one thread of a test as inline PTX, with its inputs and outputs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gpudiy.litmus.access import ScalarType

OTHERS_AT_BARRIER = "it waits at a barrier of the CTA, in which other instances run too"  # who would release each other


class Unrealisable(Exception):
    """A model can decide this thread, but no GPU can run it; the message says why."""

    def __init__(self, thread: int, index: int | None, message: str) -> None:
        super().__init__(message)
        self.thread = thread
        self.index = index


class InputKind(StrEnum):
    """What the harness passes to the block in an input."""

    ADDRESS = "address"  # of `variable`: 64 bits in global memory, the 32-bit offset of the window in shared memory
    VALUE = "value"  # the constant `value`: passed at run time, or the compiler would fold it
    SPECIFICATION = "specification"  # where specification results go: 64 bits, global, 0 in a real run


@dataclass(frozen=True, slots=True)
class Input:
    """An input of the block; `constraint` is l, r or h."""

    kind: InputKind
    constraint: str
    variable: str = ""
    copy: int = 0  # of the address: the compiler does not know that two copies are equal
    value: int = 0


@dataclass(frozen=True, slots=True)
class Output:
    """An observed register: its final value is part of the outcome."""

    register: str
    constraint: str
    type: ScalarType


@dataclass(frozen=True, slots=True)
class PtxLine:
    """A line of the block and the index of its instruction in the thread; None for a line that the harness adds."""

    text: str
    instruction: int | None = None


@dataclass(frozen=True, slots=True)
class ThreadPtx:
    """The parts of `asm volatile (lines : outputs : inputs : "memory")`; operands count outputs, then inputs."""

    thread: int
    lines: tuple[PtxLine, ...]
    outputs: tuple[Output, ...]
    inputs: tuple[Input, ...]
    specification_words: int  # results that are stored behind the SPECIFICATION input, four bytes each

    @property
    def values(self) -> tuple[int, ...]:
        """The constants of the inputs of kind VALUE, in order."""
        return tuple(entry.value for entry in self.inputs if entry.kind is InputKind.VALUE)


def constraint_of(type: ScalarType) -> str:
    """The constraint letter of `asm` for a register of this type."""
    return {64: "l", 16: "h"}.get(type.bits, "r")
