"""`LineIndex`: from an offset in a text to its line and column."""

from __future__ import annotations

import re
from bisect import bisect_right


class LineIndex:
    """Finds the line and column of an offset by binary search; both count from 1."""

    def __init__(self, text: str) -> None:
        self.starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def find(self, offset: int) -> tuple[int, int]:
        """The line and the column of an offset."""
        line = bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1
