"""What a path of a function does, step by step, as those who watch it see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from optcheck.literal import decode_literal
from optcheck.operands import read_register
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
class SassClock:
    """A read of a clock."""

    index: int
    instruction: SassInstruction


@dataclass(frozen=True, slots=True)
class SassSleep:
    """The thread sleeps for a while."""

    index: int


@dataclass(frozen=True, slots=True)
class SassDecision:
    """A predicate that decides how the path goes on, and its value."""

    index: int
    condition: Term
    holds: bool


@dataclass(frozen=True, slots=True)
class SassLoop:
    """The head of a loop: the names of what it writes, and the registers before it."""

    block: int
    names: tuple[str, ...]
    registers: Mapping[str, Term]

    @property
    def before(self) -> dict[str, Term]:
        """What the loop writes, with the values before it."""
        return {name: read_register(name, self.registers) for name in self.names}


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
    targets: tuple[int, ...]  # where it leads, as far as the listing shows


def is_specification(step: SassAccess, thread: int) -> bool:
    """Whether an access stores a sum with a literal of the thread."""
    for term in (one for words in step.data for one in words):
        last = term.arguments[-1] if term.operation == "add" else None
        literal = decode_literal(last.number) if isinstance(last, Term) and last.is_number else None
        if literal is not None and literal.thread == thread:
            return True
    return False


@dataclass(slots=True)
class FoundPlaces:
    """Where the parts of a thread were found, as indexes of instructions."""

    accesses: dict[int, int] = field(default_factory=dict)  # by position
    specification: dict[int, int] = field(default_factory=dict)  # the stores of the specification results, by position
    finished: bool = False  # a path runs the whole thread

    def update(self, other: FoundPlaces) -> None:
        """Add what was found on other paths, later."""
        self.accesses |= other.accesses
        self.specification |= other.specification
        self.finished |= other.finished

    def take(self) -> FoundPlaces:
        """What was found; from here on nothing is."""
        taken = FoundPlaces(self.accesses, self.specification, self.finished)
        self.accesses, self.specification, self.finished = {}, {}, False
        return taken

    def renumber(self, numbers: Mapping[int, int]) -> FoundPlaces:
        """The same with other numbers for the instructions."""
        return FoundPlaces(
            {position: numbers[place] for position, place in self.accesses.items()},
            {position: numbers[place] for position, place in self.specification.items()},
            self.finished,
        )


@dataclass(frozen=True, slots=True)
class RestSummary:
    """What a watcher knows when the rest of a path begins, and where it notes what it finds on it.

    Equal keys mean that rests with equal code, registers and conditions are the same. Identities may be in the key:
    whoever keeps it must keep `kept`.
    """

    key: tuple[object, ...]
    found: FoundPlaces
    kept: object
