"""`ThreadPtx`: one thread of a test as inline PTX, with its inputs and outputs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from gpudiy.litmus.access import ScalarType

PLAIN_NAME = re.compile(r"[rp]\d+\Z", re.ASCII)  # no keyword of PTX, and no other name in a block


class BodyClock(StrEnum):
    """The clock that times the bodies of the threads: all of them must see the same one."""

    CYCLES = "clock"  # of one SM
    NANOSECONDS = "globaltimer_lo"  # of one GPU

    @property
    def special_register(self) -> str:
        """Its name in SASS."""
        return {BodyClock.CYCLES: "SR_CLOCKLO", BodyClock.NANOSECONDS: "SR_GLOBALTIMERLO"}[self]


BEGIN, END = "%begin", "%end"  # when a thread made its first access, and when it had made its last one: as registers


@dataclass(frozen=True, slots=True)
class Timing:
    """What a block does about time: the clock that it reads, and whether it sleeps before it begins."""

    clock: BodyClock | None = None
    sleeps: bool = False


UNTIMED = Timing()


class Unrealisable(Exception):
    """A model can decide this thread, but no GPU can run it; the message says why."""

    def __init__(self, thread: int, index: int | None, message: str) -> None:
        super().__init__(message)
        self.thread = thread
        self.index = index


class InputKind(StrEnum):
    """What the harness passes to the block in an input."""

    ADDRESS = "address"  # of `variable`: 64 bits in global memory, the 32-bit offset of the window in shared memory
    DELAY = "delay"  # how long the thread sleeps before it begins, in nanoseconds: 32 bits
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
    """An observed register, whose final value is part of the outcome; or a time of the thread."""

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


def set_constant_predicate(name: str, value: int, guard: str = "") -> str:
    """A line that sets a predicate to a constant."""
    return f"{guard}setp.{'eq' if value else 'ne'}.u32 {name},0,0;"


def copy_out(number: int, output: Output, name: str) -> str:
    """A line that copies a register to an output."""
    if output.type is ScalarType.PRED:
        return f"selp.b32 %{number},1,0,{name};"
    return f"mov.{output.type} %{number},{name};"


def register_names(declared: Iterable[str]) -> dict[str, str]:
    """Names for a block: `r0` and `p0` stay; others are changed, so that they do not clash with PTX or the block."""
    return {
        name: name if PLAIN_NAME.match(name) else f"x{number}_{re.sub('[^A-Za-z0-9_]', '_', name)}"
        for number, name in enumerate(declared)
    }
