"""`LockPath`: one path through the code of a lock: its accesses, fences and decisions."""

from __future__ import annotations

from dataclasses import dataclass

from gpudiy.litmus.instruction import Fence, Load, MemoryInstruction, ProxyFence
from gpudiy.locks.symbolic_value import ComparedValues, ReadValue, SymbolicValue


@dataclass(frozen=True, slots=True)
class AccessStep:
    """A load, store, atomic or reduction."""

    position: int  # of the statement in the program
    instruction: MemoryInstruction
    variable: str
    sources: tuple[SymbolicValue, ...]
    read: ReadValue | None
    guard: int | None  # the decision it depends on, as its index among the steps

    @property
    def writes(self) -> bool:
        """Whether it can write its variable."""
        return not isinstance(self.instruction, Load)


@dataclass(frozen=True, slots=True)
class FenceStep:
    """A fence."""

    position: int
    instruction: Fence | ProxyFence
    guard: int | None


@dataclass(frozen=True, slots=True)
class DecisionStep:
    """A comparison that must be true on this path."""

    position: int
    compared: ComparedValues
    guard: int | None


@dataclass(frozen=True, slots=True)
class HoleStep:
    """The critical section."""

    position: int
    guard: int | None


LockStep = AccessStep | FenceStep | DecisionStep | HoleStep


@dataclass(frozen=True, slots=True)
class LockPath:
    """From the start of the acquire through the critical section to the end of the release.

    `acquired` and `released` are the statements before and after the hole. With known memory, `values` are the values
    that were read and `memory` the values of the variables at the end.
    """

    steps: tuple[LockStep, ...]
    acquired: tuple[int, ...]
    released: tuple[int, ...]
    entered: bool = True
    values: tuple[int, ...] = ()
    memory: tuple[tuple[str, int], ...] = ()
    held: tuple[tuple[str, int], ...] = ()  # the values of the variables while the lock is held
    given: tuple[tuple[str, int], ...] = ()
    given_memory: tuple[tuple[str, int], ...] = ()  # the values of the variables at the start

    @property
    def hole(self) -> int:
        return next(index for index, step in enumerate(self.steps) if isinstance(step, HoleStep))

    def count_accesses_before(self) -> int:
        """The number of accesses before the thread enters: more on paths with failed attempts."""
        steps = self.steps[: self.hole] if self.entered else self.steps
        return sum(isinstance(step, AccessStep) for step in steps)
