"""`LockProgram`: the code of a lock as PTX statements, with a hole in place of the critical section."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace

from gpudiy.errors import InputError
from gpudiy.litmus.access import Space
from gpudiy.ptx.operands import OperandReader
from gpudiy.ptx.read_instruction import read_instruction
from gpudiy.ptx.statement import CodePlace, OpaqueInstruction, PtxStatement

HOLE = "critical_section"  # the opcode of the statement that is the hole
NARROW = re.compile(r"(?<=\.)([sub])(?:8|16)(?=[. ]|$)")
STATEMENT = re.compile(r"(@\s*!?\s*[\w$%]+\s+)?(\S+)(.*)", re.DOTALL)
ENDS = ("ret", "exit")
NOWHERE = CodePlace(0, 0)


class _EveryName(Container[str]):
    def __contains__(self, name: object) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class LockVariable:
    """A variable in the code: its space, and its value while the lock is free, if the source says so."""

    space: Space | None = None
    initial: int | None = None


@dataclass(frozen=True, slots=True)
class LockProgram:
    """Statements from the start of the acquire to the end of the release, with the hole between them.

    The places of the statements are places in `source`; a statement with line 0 has no place there.
    """

    statements: tuple[PtxStatement, ...]
    labels: Mapping[str, int]
    path: str
    source: str
    variables: Mapping[str, LockVariable] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)  # names in the PTX, with the names in the source
    ends: tuple[int, int] | None = None  # in CUDA C: offsets of the start and the end of the critical section

    @property
    def is_cuda(self) -> bool:
        """Whether the source is CUDA C."""
        return self.ends is not None

    @property
    def hole(self) -> int:
        """The position of the critical section."""
        return next(index for index, statement in enumerate(self.statements) if is_hole(statement))

    def insert(self, position: int, statement: PtxStatement) -> LockProgram:
        """The program with a new statement at a position; a jump to this position now reaches the new statement."""
        statements = (*self.statements[:position], statement, *self.statements[position:])
        labels = {name: target + (target > position) for name, target in self.labels.items()}
        return replace(self, statements=statements, labels=labels)

    def exchange(self, position: int, statement: PtxStatement) -> LockProgram:
        """The program with another statement at a position."""
        statements = (*self.statements[:position], statement, *self.statements[position + 1 :])
        return replace(self, statements=statements)

    def error(self, position: int, message: str, hint: str | None = None) -> InputError:
        """An error that points at the source line of a statement."""
        place = self.statements[position].place
        return source_error(self.path, self.source, message, place.line, place.column, hint)


def read_statement(text: str, place: CodePlace = NOWHERE) -> PtxStatement:
    """Read a statement of a lock; its names are resolved later."""
    return widen(read_instruction(text, place, OperandReader(_EveryName())))


def split_statement(text: str) -> tuple[str, str, str]:
    """The guard, the opcode and the operands of a statement, as text."""
    match = STATEMENT.match(text)
    assert match is not None
    return match[1] or "", match[2], match[3]


def widen(statement: PtxStatement) -> PtxStatement:
    """The statement with types of at least 32 bits: models do not care how narrow a flag is."""
    wide = NARROW.sub(r"\g<1>32", statement.text)
    if wide == statement.text:
        return statement
    instruction = read_instruction(wide, statement.place, OperandReader(_EveryName())).instruction
    return replace(statement, instruction=instruction)


def hole_statement(place: CodePlace = NOWHERE) -> PtxStatement:
    """The statement that is the hole."""
    return PtxStatement(OpaqueInstruction(HOLE), HOLE, place)


def is_hole(statement: PtxStatement) -> bool:
    """Whether a statement is the hole."""
    return statement.text == HOLE


def ends_thread(statement: PtxStatement) -> bool:
    """Whether a statement is ret or exit."""
    instruction = statement.instruction
    return isinstance(instruction, OpaqueInstruction) and instruction.opcode.partition(".")[0] in ENDS


def source_error(
    path: str, source: str, message: str, line: int = 0, column: int = 0, hint: str | None = None
) -> InputError:
    """An error that points into a source; without a line it points at the file."""
    lines = source.split("\n")
    if not 1 <= line <= len(lines):
        return InputError(message, path=path, hint=hint)
    return InputError(message, path=path, line=line, column=max(1, column), source=lines[line - 1], hint=hint)
