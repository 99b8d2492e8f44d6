"""Words of the stack are like registers: they have names, by their distances from the stack pointer at entry."""

from __future__ import annotations

from optcheck.term import Term, entry

STACK = "R1"


def stack_word(offset: int) -> str:
    """The name under which a word of the stack is kept, by its distance from the stack pointer at entry."""
    return f"[{offset}]"


def find_stack_offset(place: Term) -> int | None:
    """How far a place is from the stack pointer at entry, if that is known."""
    start = entry(STACK)
    if place is start:
        return 0
    if place.operation == "add" and len(place.arguments) == 2 and place.arguments[0] is start:
        last = place.arguments[1]
        if isinstance(last, Term) and last.is_number:
            return last.number - (1 << 32) if last.number >> 31 else last.number
    return None
