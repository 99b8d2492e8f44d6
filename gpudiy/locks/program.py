"""`Program`: the code of a lock as PTX statements with a hole where the critical section stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from gpudiy.errors import InputError
from gpudiy.litmus.access import Space

HOLE = ("critical", "section")


@dataclass(frozen=True, slots=True)
class Statement:
    """One PTX statement; `line` and `column` are its place in the source that a person wrote, 0 if it has none."""

    opcode: tuple[str, ...]
    operands: tuple[str, ...] = ()
    guard: str | None = None
    negated: bool = False
    line: int = 0
    column: int = 0

    @property
    def text(self) -> str:
        guard = "" if self.guard is None else f"@{'!' if self.negated else ''}{self.guard} "
        return f"{guard}{'.'.join(self.opcode)} {', '.join(self.operands)}".rstrip()

    @property
    def kind(self) -> str:
        return self.opcode[0]


@dataclass(frozen=True, slots=True)
class SharedVariable:
    """A variable that the code names: where it lives, and what it holds while the lock is free, if that is said."""

    space: Space | None = None
    initial: int | None = None


@dataclass(frozen=True, slots=True)
class Program:
    """Statements from the start of the acquire to the end of the release, with the hole between them."""

    statements: tuple[Statement, ...]
    labels: Mapping[str, int]
    path: str
    source: str  # what a person wrote
    variables: Mapping[str, SharedVariable] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)  # of the PTX, and what a person calls them
    ends: tuple[int, int] | None = None  # in CUDA C: the offsets before and after which the critical section stands

    @property
    def is_cuda(self) -> bool:
        return self.ends is not None

    @property
    def hole(self) -> int:
        return next(index for index, statement in enumerate(self.statements) if statement.opcode == HOLE)

    def inserted(self, position: int, statement: Statement) -> Program:
        """The program with a statement before another one; who jumps to that one now finds the new one."""
        statements = (*self.statements[:position], statement, *self.statements[position:])
        labels = {name: target + (target > position) for name, target in self.labels.items()}
        return replace(self, statements=statements, labels=labels)

    def replaced(self, position: int, statement: Statement) -> Program:
        statements = (*self.statements[:position], statement, *self.statements[position + 1 :])
        return replace(self, statements=statements)

    def error(self, message: str, line: int = 0, column: int = 0, hint: str | None = None) -> InputError:
        return source_error(self.path, self.source, message, line, column, hint)

    def error_at(self, position: int, message: str, hint: str | None = None) -> InputError:
        statement = self.statements[position]
        return self.error(message, statement.line, statement.column, hint)


def source_error(
    path: str, source: str, message: str, line: int = 0, column: int = 0, hint: str | None = None
) -> InputError:
    """An error that points into a source; without a line it points at the file."""
    lines = source.split("\n")
    if not 1 <= line <= len(lines):
        return InputError(message, path=path, hint=hint)
    return InputError(message, path=path, line=line, column=max(1, column), source=lines[line - 1], hint=hint)
