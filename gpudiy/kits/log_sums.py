"""The sums of the lines of a log: each covers its line and all lines before it, so that no change goes unnoticed.

They are no signature. Who wants to deceive can compute them, too.
"""

from __future__ import annotations

import re
from hashlib import sha256

DIGITS = 16
SUM = re.compile(rb',"sum":"([0-9a-f]{%d})"\}\Z' % DIGITS)


def find_sum(before: str, text: bytes) -> str:
    """The sum of a line: of the sum of the line before it, and of its text without its own sum and what follows."""
    return sha256(before.encode() + text).hexdigest()[:DIGITS]


def add_sum(before: str, text: bytes) -> tuple[bytes, str]:
    """A line with its sum, from its text without the last brace; and the sum."""
    found = find_sum(before, text)
    return text + f',"sum":"{found}"}}'.encode(), found


def check_sum(before: str, line: bytes) -> str | None:
    """The sum of a line, if it follows from the one of the line before it; else None."""
    found = SUM.search(line)
    if found is None or found[1].decode() != find_sum(before, line[: found.start()]):
        return None
    return found[1].decode()
