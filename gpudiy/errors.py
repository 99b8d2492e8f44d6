"""All errors of gpudiy: each has a message for people and an exit code for scripts."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

SHORT = 3  # letters: words up to this length look alike too easily
LONGEST_NAME, MOST_NAMES = 100, 1000  # what is compared to find a near name
SHOWN_WIDTH = 120  # of a source line in a message; a longer line is shown around the caret


class ExitCode(IntEnum):
    """The exit codes of every verb."""

    FINE = 0
    NO = 1  # done, and the answer is no: a difference, a violated assertion, a test that the compiler changed
    BAD_INPUT = 2
    FAILED = 3  # a device or a tool, or there was not enough time
    INTERRUPTED = 130


class GpudiyError(Exception):
    """An error that gpudiy reports to its user."""

    exit_code: ExitCode = ExitCode.FAILED

    def report(self, command: str) -> str:
        """The lines that `command` prints on standard error."""
        return f"{command}: error: {self}"


class UsageError(GpudiyError):
    """Options that are missing or contradict each other."""

    exit_code = ExitCode.BAD_INPUT


class InputError(GpudiyError):
    """Bad input, with its place if that is known; `line` and `column` count from 1."""

    exit_code = ExitCode.BAD_INPUT

    def __init__(
        self,
        message: str,
        *,
        path: str | None = None,
        line: int | None = None,
        column: int | None = None,
        source: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.path = path
        self.line = line
        self.column = column
        self.source = source
        self.hint = hint

    def __str__(self) -> str:
        parts = [part for part in (self.path, self.line, self.column) if part is not None]
        place = ":".join(str(part) for part in parts)
        first = f"{place}: error: {self.message}" if place else f"error: {self.message}"
        lines = [first]
        if self.source and self.source.strip() and self.column is not None:
            shown, caret = excerpt(self.source, self.column)
            lines += [f"  {shown}", f"  {caret}"]
        if self.hint:
            lines.append(f"  {self.hint}")
        return "\n".join(lines)

    def report(self, command: str) -> str:
        return str(self)


class UnwritableOutput(GpudiyError):
    """A file or directory that cannot be written, for the reason given."""

    exit_code = ExitCode.BAD_INPUT

    def __init__(self, path: str, reason: str | OSError) -> None:
        self.path = path
        self.reason = reason if isinstance(reason, str) else reason.strerror or str(reason)
        super().__init__(path, self.reason)

    def __str__(self) -> str:
        return f"{self.path}: error: cannot be written: {self.reason}"

    def report(self, command: str) -> str:
        return str(self)


class ToolFailure(GpudiyError):
    """A tool outside gpudiy (a compiler, a disassembler, a cluster) failed; the message contains its own message."""


class MissingTool(ToolFailure):
    """A tool or an optional package is not installed; the message names the command that installs it."""


class DeviceFailure(GpudiyError):
    """A device did not open, was lost, or failed at a test."""


def excerpt(source: str, column: int) -> tuple[str, str]:
    """The source line and the line with the caret below it, both shortened to a readable width."""
    start = 0
    if len(source) > SHOWN_WIDTH:
        start = max(0, min(column - 1 - SHOWN_WIDTH // 2, len(source) - SHOWN_WIDTH))
    shown = source[start : start + SHOWN_WIDTH]
    before = shown[: max(0, column - 1 - start)]
    caret = "".join("\t" if character == "\t" else " " for character in before) + "^"
    shown = "".join(character if character.isprintable() or character == "\t" else "\ufffd" for character in shown)
    return shown, caret


def format_count(number: int, what: str) -> str:
    """`1 cell`, `2 cells`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def near_name(word: str, known: Sequence[str]) -> str | None:
    """`did you mean …?` for a misspelt word, or None; a short word must differ by one letter only."""
    from difflib import get_close_matches  # slow to import, and needed for errors only

    matches = get_close_matches(word[:LONGEST_NAME], known[:MOST_NAMES], n=3, cutoff=0.5)
    near = next((match for match in matches if len(word) > SHORT or _one_letter_off(word, match)), None)
    return f"did you mean {str(near)!r}?" if near else None


def _one_letter_off(one: str, other: str) -> bool:
    """Whether the words differ by one letter too many, too few or wrong, or by two letters in the wrong order."""
    if len(one) == len(other) and sorted(one) == sorted(other):
        return sum(left != right for left, right in zip(one, other, strict=True)) <= 2
    longer, shorter = sorted((one, other), key=len, reverse=True)
    if len(longer) == len(shorter):
        return sum(left != right for left, right in zip(one, other, strict=True)) <= 1
    return any(longer[:at] + longer[at + 1 :] == shorter for at in range(len(longer)))
