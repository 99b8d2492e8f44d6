"""`PtxStatement`: one instruction of a kernel, a litmus one or an opaque one, with its text and its place."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from gpudiy.litmus.instruction import Guard, Instruction, Label, Operand, Register, Variable

GUARD = re.compile(r"@ ?(!?) ?([\w$%]+) ")
TYPE = re.compile(r"([subf])(8|16|32|64|128)\Z")
VECTOR = re.compile(r"v([248])\Z")


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A place in the compiled source; lines and columns count from 1.

    For code of an inlined function, this is the place inside the function, and `inlined_at` is the place of the call.
    """

    file: str
    line: int
    column: int
    inlined_at: SourceLine | None = None


@dataclass(frozen=True, slots=True)
class CodePlace:
    """Where an instruction is in the PTX text, and the source line it was compiled from, if the PTX names it."""

    line: int
    column: int
    source: SourceLine | None = None


@dataclass(frozen=True, slots=True)
class OpaqueInstruction:
    """An instruction that litmus does not support; `reason` says why.

    Its destinations and sources are found from its operands. Float literals are read as their bits.
    """

    opcode: str
    destinations: tuple[Register | Variable, ...] = ()
    sources: tuple[Operand, ...] = ()
    guard: Guard | None = None
    reason: str = ""


class PtxSpace(StrEnum):
    """The state space an access names; `generic` if it names none."""

    GENERIC = "generic"
    GLOBAL = "global"
    SHARED = "shared"
    LOCAL = "local"
    PARAM = "param"
    CONST = "const"


SPACES = {space.value: space for space in PtxSpace if space is not PtxSpace.GENERIC}


@dataclass(frozen=True, slots=True)
class PtxAddress:
    """An operand in brackets: `offset` bytes after the address in a register, after a variable, or after 0."""

    base: Register | Variable | None
    offset: int = 0


@dataclass(frozen=True, slots=True)
class PtxStatement:
    """One instruction; `text` is its text on one line without the semicolon, with renamed names.

    Addresses of litmus instructions have no offsets; `addresses` has one entry with offset per operand in brackets.
    """

    instruction: Instruction | OpaqueInstruction
    text: str
    place: CodePlace
    addresses: tuple[PtxAddress, ...] = ()

    @property
    def guard(self) -> Guard | None:
        """The predicate it depends on."""
        return None if isinstance(self.instruction, Label) else self.instruction.guard

    @property
    def opcode(self) -> tuple[str, ...]:
        """The words of the opcode: `ld.global.u32` is ("ld", "global", "u32")."""
        return tuple(GUARD.sub("", self.text).partition(" ")[0].split("."))

    @property
    def space(self) -> PtxSpace:
        """The state space that the opcode names."""
        words = (word.partition("::")[0] for word in self.opcode[1:])
        return next((SPACES[word] for word in words if word in SPACES), PtxSpace.GENERIC)

    @property
    def access_bytes(self) -> int:
        """How many bytes a load, store or atomic touches at its address; 0 if its opcode names no type."""
        width = next((int(found[2]) // 8 for word in reversed(self.opcode) if (found := TYPE.match(word))), 0)
        return width * next((int(found[1]) for word in self.opcode if (found := VECTOR.match(word))), 1)
