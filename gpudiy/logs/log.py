"""`Log`: the records that were read, and what was damaged. `LogError`: nothing could be read."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpudiy.errors import InputError
from gpudiy.logs.columns import Columns


class LogError(InputError):
    """A log that cannot be read at all, or that lacks what is asked for."""


@dataclass(frozen=True, slots=True)
class LogProblem:
    """A damaged part of a log. It is left out, and everything around it is kept."""

    path: str
    line: int  # counts from 1; 0 where the file has no lines
    message: str
    source: str = ""  # the line itself
    test: str = ""

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}:1" if self.line else self.path
        about = f"{self.test}: " if self.test else ""
        return str(InputError(f"{about}{self.message}", path=place, column=None))

    def as_json(self) -> dict[str, object]:
        return {"path": self.path, "line": self.line, "test": self.test, "message": self.message}


@dataclass(frozen=True, slots=True)
class Log:
    """Everything that was read: records by column, and what was damaged."""

    columns: Columns
    problems: tuple[LogProblem, ...] = ()
    files: tuple[str, ...] = field(default=())
