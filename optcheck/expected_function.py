"""What the proofs of all paths of a function share, and why one of them fails."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from gpudiy.litmus.instruction import Barrier
from gpudiy.litmus.test import RegisterDeclaration, Thread
from optcheck.finding import Finding
from optcheck.frame import FrameValues, StoredResult
from optcheck.listing import SassFunction
from optcheck.mapping import SassMapping
from optcheck.path_steps import FoundPlaces
from optcheck.specification import ThreadSpecification
from optcheck.term import Samples

Words = list[int]


@dataclass(frozen=True, slots=True)
class Disproved(Exception):
    """Why a path is not proved, with the instructions of SASS and PTX that this concerns."""

    finding: Finding
    why: str
    sass: tuple[int, ...] = ()
    ptx: tuple[int, ...] = ()
    thread: int | None = None


@dataclass(frozen=True, slots=True)
class NotCarried(Disproved):
    """A register that seemed to be carried from one round of the loop over instances to the next."""

    name: str = ""


@dataclass(slots=True)
class ExpectedThread:
    """One thread of the test, with what must be in its function."""

    number: int
    thread: Thread
    declared: tuple[RegisterDeclaration, ...]
    specification: ThreadSpecification
    results: tuple[StoredResult, ...]
    start: Barrier | None = None  # where it meets others before its first instruction
    found: FoundPlaces = field(default_factory=FoundPlaces)


@dataclass(frozen=True)
class ExpectedFunction:
    """What the proofs of all paths of a function share."""

    values: FrameValues
    mapping: SassMapping
    threads: list[ExpectedThread]
    numbers: Samples  # on which the number of the thread is each possible one, and some others
    special: tuple[int, ...]  # words that decide something in the test
    code: SassFunction
    scratch: frozenset[str] = frozenset()  # registers that turned out not to be carried from round to round

    @cached_property
    def common(self) -> tuple[object, ...]:
        """What all threads depend on."""
        return self.values, self.mapping
