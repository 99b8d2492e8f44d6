"""The text of a test and its position in a file: turns an offset into a line, a column and a caret."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from gpudiy.litmus.errors import LitmusError
from gpudiy.litmus.grammar import SyntaxProblem

Result = TypeVar("Result")

COMMENT = re.compile(r'\\"|"(?:[^"\\]|\\.)*+"|\(\*(?:.*?\*\)|.*)', re.DOTALL)


class SourceText:
    """One test's text. `text` has its comments blanked out; messages show `original`."""

    def __init__(self, original: str, path: str = "<text>", first_line: int = 1) -> None:
        self.original = original
        self.path = path
        self.first_line = first_line
        self.text = self._without_comments() if "(*" in original else original

    def error(self, message: str, offset: int, hint: str | None = None) -> LitmusError:
        offset = max(0, min(offset, len(self.original)))
        before = self.original.count("\n", 0, offset)
        start = self.original.rfind("\n", 0, offset) + 1
        end = self.original.find("\n", offset)
        source = self.original[start : end if end >= 0 else len(self.original)]
        return LitmusError(
            message,
            path=self.path,
            line=self.first_line + before,
            column=offset - start + 1,
            source=source,
            hint=hint,
        )

    def piece(self, parse: Callable[[str], Result], text: str, offset: int) -> Result:
        """Parse a piece of the text that starts at `offset`."""
        try:
            return parse(text)
        except SyntaxProblem as problem:
            moved = problem.move_into(text, offset)
            raise self.error(moved.message, moved.offset, moved.hint) from None

    def _without_comments(self) -> str:
        def blank(match: re.Match[str]) -> str:
            found = match[0]
            if found[0] != "(":
                return found
            if len(found) < 4 or not found.endswith("*)"):
                raise self.error("this comment is not closed", match.start())
            return re.sub(r"[^\n]", " ", found)

        return COMMENT.sub(blank, self.original)
