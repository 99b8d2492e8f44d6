"""What is wrong with a test, and where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

SHORT = 3  # letters: words up to here look alike too easily
LONGEST_NAME, MOST_NAMES = 100, 1000  # what is compared to find a near name
SHOWN_WIDTH = 120  # of a source line in a message; a longer line is shown around the caret


class LitmusError(Exception):
    """Bad input. `line` and `column` count from 1; they are None only for a test that was built by hand."""

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


@dataclass(frozen=True, slots=True)
class Place:
    """A part of a test, for a reader to find in its source.

    `part` is one of test, register, init, instruction, scope tree, memory map, condition, filter, locations;
    `key` tells which one: (thread, register), a variable, or (thread, index of the instruction).
    `token` is the text to put the caret under, when it stands there: its first or, with `last`, its last occurrence;
    `[r1]` is the address r1, `0:r1` the register of that thread.
    """

    part: str
    key: object = None
    token: str | None = None
    last: bool = False


class InvalidTest(LitmusError):
    """A test that must not exist: raised when one is built. A reader turns it into a LitmusError with its place."""

    def __init__(self, message: str, place: Place, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.place = place

    def __reduce__(self) -> tuple[type[InvalidTest], tuple[str, Place, str | None]]:
        return InvalidTest, (self.message, self.place, self.hint)


def excerpt(source: str, column: int) -> tuple[str, str]:
    """The line to show and the caret line below it, both cut to a width a person can read."""
    start = 0
    if len(source) > SHOWN_WIDTH:
        start = max(0, min(column - 1 - SHOWN_WIDTH // 2, len(source) - SHOWN_WIDTH))
    shown = source[start : start + SHOWN_WIDTH]
    before = shown[: max(0, column - 1 - start)]
    caret = "".join("\t" if character == "\t" else " " for character in before) + "^"
    shown = "".join(character if character.isprintable() or character == "\t" else "\ufffd" for character in shown)
    return shown, caret


def counted(number: int, what: str) -> str:
    """`1 cell`, `2 cells`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def unreadable(path: str, error: OSError | UnicodeDecodeError) -> LitmusError:
    """What to raise when a text file cannot be read."""
    if isinstance(error, UnicodeDecodeError):
        return LitmusError("this is not text in UTF-8", path=path)
    return LitmusError(f"cannot be read: {error.strerror}", path=path)


def near_name(word: str, known: Sequence[str]) -> str | None:
    """`did you mean …?` for a misspelt word, or None when nothing is near; a short word is near with one letter off."""
    from difflib import get_close_matches  # costly to import and wanted only on errors

    matches = get_close_matches(word[:LONGEST_NAME], known[:MOST_NAMES], n=3, cutoff=0.5)
    near = next((match for match in matches if len(word) > SHORT or _one_letter_off(word, match)), None)
    return f"did you mean {str(near)!r}?" if near else None


def _one_letter_off(one: str, other: str) -> bool:
    """Whether one letter too many, too few or wrong, or two in the wrong order, make the difference."""
    if len(one) == len(other) and sorted(one) == sorted(other):
        return sum(left != right for left, right in zip(one, other, strict=True)) <= 2
    longer, shorter = sorted((one, other), key=len, reverse=True)
    if len(longer) == len(shorter):
        return sum(left != right for left, right in zip(one, other, strict=True)) <= 1
    return any(longer[:at] + longer[at + 1 :] == shorter for at in range(len(longer)))
