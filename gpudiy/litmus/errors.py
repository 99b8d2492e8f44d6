"""Errors in tests, with their positions."""

from __future__ import annotations

from dataclasses import dataclass

from gpudiy.errors import InputError


class LitmusError(InputError):
    """A test that cannot be read; `line` and `column` are None only for a test that was built by hand."""


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """A part of a test, for a reader to find in its source.

    `part` is one of test, register, init, instruction, scope tree, memory map, condition, filter, locations;
    `key` identifies it: (thread, register), a variable, or (thread, index of the instruction).
    `token` is the text under which the caret goes, if it occurs: its first or, with `last`, its last occurrence;
    `[r1]` is the address r1, `0:r1` the register of that thread.
    """

    part: str
    key: object = None
    token: str | None = None
    last: bool = False


class InvalidTest(LitmusError):
    """An invalid test was built. A reader turns this into a `LitmusError` with its position."""

    def __init__(self, message: str, place: SourcePlace, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.place = place

    def __reduce__(self) -> tuple[type[InvalidTest], tuple[str, SourcePlace, str | None]]:
        return InvalidTest, (self.message, self.place, self.hint)
