"""`Path`: one way through the code of a lock, as the accesses, fences and decisions along it."""

from __future__ import annotations

from dataclasses import dataclass

from gpudiy.locks.value import Comparing, Read, Value


@dataclass(frozen=True, slots=True)
class AccessStep:
    """A load, store, atomic or reduction; `opcode` has no space, that is for the memory map to say."""

    position: int  # of the statement in the program
    opcode: tuple[str, ...]
    variable: str
    sources: tuple[Value, ...]
    read: Read | None
    guard: int | None  # the decision it hangs on, as its index among the steps


@dataclass(frozen=True, slots=True)
class FenceStep:
    position: int
    opcode: tuple[str, ...]
    guard: int | None


@dataclass(frozen=True, slots=True)
class DecisionStep:
    """A comparison that was true, or the path would be another one."""

    position: int
    comparing: Comparing
    guard: int | None


@dataclass(frozen=True, slots=True)
class HoleStep:
    """Where the critical section stands."""

    position: int
    guard: int | None


Step = AccessStep | FenceStep | DecisionStep | HoleStep


@dataclass(frozen=True, slots=True)
class Path:
    """From the start of the acquire through the critical section to the end of the release.

    `acquired` and `released` are the statements passed before and after the hole. In a run whose reads are known,
    `values` are what they gave and `memory` what the variables hold at the end.
    """

    steps: tuple[Step, ...]
    acquired: tuple[int, ...]
    released: tuple[int, ...]
    entered: bool = True
    values: tuple[int, ...] = ()
    memory: tuple[tuple[str, int], ...] = ()
    held: tuple[tuple[str, int], ...] = ()  # what the variables hold while the lock is held
    given: tuple[tuple[str, int], ...] = ()
    given_memory: tuple[tuple[str, int], ...] = ()  # what the variables held at the start

    @property
    def hole(self) -> int:
        return next(index for index, step in enumerate(self.steps) if isinstance(step, HoleStep))

    def accesses_before(self) -> int:
        """How much it takes to enter: paths with failed attempts take more."""
        steps = self.steps[: self.hole] if self.entered else self.steps
        return sum(isinstance(step, AccessStep) for step in steps)
