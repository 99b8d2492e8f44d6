"""What is wrong with a test, and where."""

from __future__ import annotations

from dataclasses import dataclass

from gpudiy.errors import InputError


class LitmusError(InputError):
    """A test that cannot be read; `line` and `column` are None only for a test that was built by hand."""


@dataclass(frozen=True, slots=True)
class SourcePlace:
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

    def __init__(self, message: str, place: SourcePlace, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.place = place

    def __reduce__(self) -> tuple[type[InvalidTest], tuple[str, SourcePlace, str | None]]:
        return InvalidTest, (self.message, self.place, self.hint)
