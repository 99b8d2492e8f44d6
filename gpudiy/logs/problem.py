"""What is wrong with a log: a `LogError` when nothing of it can be read, a `LogProblem` for each damaged part."""

from __future__ import annotations

from dataclasses import dataclass

from gpudiy.errors import InputError


class LogError(InputError):
    """A log that cannot be read at all, or is asked for what it does not say."""


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
