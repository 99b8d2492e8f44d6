"""What a path of a function does, step by step, as those who watch it see it."""

from __future__ import annotations

from dataclasses import dataclass

from optcheck.literal import decode_literal
from optcheck.sass import SassInstruction
from optcheck.term import Term


class NotUnderstood(Exception):
    """Code that optcheck cannot execute; `index` is its instruction."""

    def __init__(self, why: str, index: int) -> None:
        super().__init__(why)
        self.why = why
        self.index = index


@dataclass(frozen=True, slots=True)
class SassAccess:
    """A load, store or atomic: the words of its address and of its data."""

    index: int
    instruction: SassInstruction
    address: tuple[Term, Term]
    offset: int
    data: tuple[tuple[Term, ...], ...]
    descriptor: tuple[Term, Term] | None


@dataclass(frozen=True, slots=True)
class SassFence:
    """A fence, a barrier, or another instruction that orders memory."""

    index: int
    instruction: SassInstruction


@dataclass(frozen=True, slots=True)
class SassDecision:
    """A predicate that decides how the path goes on, and its value."""

    index: int
    condition: Term
    holds: bool


@dataclass(frozen=True, slots=True)
class SassLoop:
    """The head of a loop: what it writes, with the values before it."""

    block: int
    before: dict[str, Term]


Step = SassFence | SassDecision


@dataclass(frozen=True, slots=True)
class PathEnd:
    """How a path ends: at an instruction, or back at the head of a loop, with what the registers hold."""

    index: int
    instruction: SassInstruction
    back_to: int | None  # the block of the head
    registers: dict[str, Term]


@dataclass(frozen=True, slots=True)
class SassTable:
    """A jump to the place that two words name."""

    index: int
    place: tuple[Term, Term]


def is_specification(step: SassAccess, thread: int) -> bool:
    """Whether an access stores a sum with a literal of the thread."""
    for term in (one for words in step.data for one in words):
        last = term.arguments[-1] if term.operation == "add" else None
        literal = decode_literal(last.number) if isinstance(last, Term) and last.is_number else None
        if literal is not None and literal.thread == thread:
            return True
    return False
