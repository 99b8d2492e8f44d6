"""How large a test is, as far as a record tells: small examples are what people want to see first."""

from __future__ import annotations

import re
from functools import lru_cache

PROGRAM_LINE = re.compile(r"^[^\n]*;[ \t]*$", re.MULTILINE)
COMPARISON = re.compile(r"[^<>!]=")
MANY = 1 << 30  # for what is not known


@lru_cache(maxsize=1 << 15)
def size_of_test(text: str, condition: str, name: str) -> tuple[int, int, int]:
    """Instructions, comparisons of the condition, length of the name; what is not known counts as large."""
    program = text.partition("}")[2] if "{" in text else text
    lines = PROGRAM_LINE.findall(program)[1:]  # the first names the threads
    instructions = sum(1 for line in lines for cell in line.rstrip(" \t;").split("|") if cell.strip())
    return instructions or MANY, len(COMPARISON.findall(condition)) or MANY, len(name)
