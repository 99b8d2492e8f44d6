"""`LineIndex`: from an offset in a text to its line and column."""

from __future__ import annotations

import re
from bisect import bisect_right


class LineIndex:
    """Finds lines and columns, both counted from 1, without counting from the start each time."""

    def __init__(self, text: str) -> None:
        self.starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def find(self, offset: int) -> tuple[int, int]:
        """The line and the column of an offset."""
        line = bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1
