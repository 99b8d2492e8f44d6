"""`PathState`: how far a path has come; `Watcher`: what follows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from optcheck.join_targets import Stack
from optcheck.path_steps import PathEnd, RestSummary, SassAccess, SassClock, SassLoop, SassSleep, SassTable, Step
from optcheck.term import Term


class Watcher(Protocol):
    """What follows a path; each of its methods may raise an exception to stop the execution."""

    def step(self, step: Step) -> None:
        """The path decides something, or orders its accesses."""

    def access(self, step: SassAccess) -> tuple[Term, ...]:
        """The path accesses memory: what it reads, if that is known."""

    def enter(self, step: SassLoop) -> dict[str, Term]:
        """The path enters a loop: what it carries from round to round, if that is known."""

    def jump(self, step: SassTable) -> tuple[int, ...]:
        """The path goes through a table: the instructions where it may go on."""

    def arrive(self, index: int) -> None:
        """The path comes from a table to an instruction."""

    def read_clock(self, step: SassClock) -> Term | None:
        """The path reads a clock: what that says; None if it says nothing that is known."""
        return None

    def sleep(self, step: SassSleep) -> bool:
        """The thread sleeps: whether it may."""
        return False

    def end(self, end: PathEnd) -> None:
        """The path ends."""

    def fork(self) -> Watcher:
        """A copy that follows another way from here."""

    # Code that was executed before is used again only for a watcher that has more to say about it than this.

    chosen: bool = False  # the last decision made the rest of the path one that other functions may have too

    @property
    def common(self) -> object | None:
        """What loads depend on besides their addresses, as long as the path belongs to no thread."""
        return None

    @property
    def loads(self) -> int:
        """How many loads there were so far, as long as the path belongs to no thread."""
        return 0

    def add_loads(self, count: int) -> None:
        """There were loads that were understood before."""
        return

    def summarize(self, registers: Mapping[str, Term]) -> RestSummary | None:
        """All on which the rest of the path depends, but its code, registers and conditions; None if there is more."""
        return None


@dataclass(slots=True)
class PathState:
    """A path so far: where it is, and what its registers hold."""

    index: int
    registers: dict[str, Term]
    watcher: Watcher
    decided: dict[Term, bool]
    heads: dict[int, tuple[dict[str, int], Stack]] = field(default_factory=dict)  # of the loops: where threads meet
    stack: Stack = ()
    barriers: dict[str, int] = field(default_factory=dict)
    unknowns: int = 0  # how many values were made so far of which nothing is known
    chosen: bool = False  # the rest of the path begins behind this instruction
    resumed: bool = False  # the loop that begins here was entered already
    moved: bool = False  # the path is no longer where it began

    def fork(self, index: int) -> PathState:
        """A copy that goes another way from an instruction on."""
        return PathState(
            index,
            self.registers.copy(),
            self.watcher.fork(),
            self.decided.copy(),
            self.heads,
            self.stack,
            self.barriers,
            self.unknowns,
            self.chosen,
            resumed=True,
            moved=True,
        )
