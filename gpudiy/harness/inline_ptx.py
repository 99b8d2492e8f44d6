"""`ThreadPtx`: one thread of a test as inline PTX, with what goes into and comes out of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gpudiy.litmus.access import ScalarType


class Unrealisable(Exception):
    """The thread is something a model can decide, but no GPU can run; the message says why."""

    def __init__(self, thread: int, index: int | None, message: str) -> None:
        super().__init__(message)
        self.thread = thread
        self.index = index


class InputKind(StrEnum):
    ADDRESS = "address"  # of `variable`: 64 bits in global memory, the 32-bit offset of the window in shared memory
    VALUE = "value"  # the constant `value`: a kernel parameter of its own, or the compiler folds it
    SPECIFICATION = "specification"  # where specification results go: 64 bits, global, 0 in a real run


@dataclass(frozen=True, slots=True)
class Input:
    """An input of the block; `constraint` is l, r or h."""

    kind: InputKind
    constraint: str
    variable: str = ""
    value: int = 0


@dataclass(frozen=True, slots=True)
class Output:
    """The final value of a register that an outcome consists of."""

    register: str
    constraint: str
    type: ScalarType


@dataclass(frozen=True, slots=True)
class PtxLine:
    """A line of the block and the index of the instruction of the thread it is; None for what the harness adds."""

    text: str
    instruction: int | None = None


@dataclass(frozen=True, slots=True)
class ThreadPtx:
    """What goes into `asm volatile (lines : outputs : inputs : "memory")`; operands count outputs, then inputs."""

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
    """The letter that `asm` has for a register of this type."""
    return {64: "l", 16: "h"}.get(type.bits, "r")
