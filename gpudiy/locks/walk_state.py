"""`WalkState`: the state of a walk through a lock program."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from gpudiy.locks.path import DecisionStep, LockStep
from gpudiy.locks.symbolic_value import AnyNumber, ComparedValues, ReadValue, SymbolicValue


@dataclass(frozen=True, slots=True)
class LoopVisit:
    """The state of a walk when it came to the head of a loop; `steps` and `trace` are how long they were."""

    registers: dict[str, SymbolicValue]  # those that the loop or what follows it uses
    local: dict[SymbolicValue, SymbolicValue]
    facts: frozenset[ComparedValues]
    steps: int
    trace: int
    guard: int | None


@dataclass(slots=True)
class WalkState:
    """The position, registers and memory of a walk, and the steps so far."""

    position: int = 0
    registers: dict[str, SymbolicValue] = field(default_factory=dict)
    local: dict[SymbolicValue, SymbolicValue] = field(default_factory=dict)
    facts: dict[ComparedValues, int] = field(default_factory=dict)  # decisions, with their steps
    known: dict[ReadValue, SymbolicValue] = field(default_factory=dict)
    steps: list[LockStep] = field(default_factory=list)
    regions: list[tuple[int, int]] = field(default_factory=list)  # where a region ends, and the decision it depends on
    trace: list[int] = field(default_factory=list)
    rounds: int = 0
    reads: int = 0
    values: list[int] = field(default_factory=list)
    memory: dict[str, int] | None = None
    held: dict[str, int] | None = None
    given: dict[str, int] = field(default_factory=dict)
    numbers: int = 0
    supposed: set[ComparedValues] = field(default_factory=set)  # what was decided about numbers that are not known
    visits: dict[int, tuple[LoopVisit, ...]] = field(default_factory=dict)  # of the heads of loops

    def copy(self) -> WalkState:
        return replace(
            self, registers=dict(self.registers), local=dict(self.local), facts=dict(self.facts),
            known=dict(self.known), steps=list(self.steps), regions=list(self.regions), trace=list(self.trace),
            values=list(self.values), memory=None if self.memory is None else dict(self.memory), given=dict(self.given),
            supposed=set(self.supposed), visits=dict(self.visits),
        )  # fmt: skip

    def next_number(self, start: int = 0, step: int | None = None) -> AnyNumber:
        """A new number of which nothing else is known."""
        self.numbers += 1
        return AnyNumber(self.numbers, start, step)

    def follow_decisions(self, end: int) -> None:
        """Make what comes until `end` depend on the last decision: a known predicate is known by the way taken so far.

        So it is with `i` after a loop that a successful attempt leaves before `i` comes to its last value.
        """
        at = next((index for index, step in reversed([*enumerate(self.steps)]) if isinstance(step, DecisionStep)), None)
        if at is not None and self.memory is None and self.guard != at:
            self.regions.append((end, at))

    @property
    def guard(self) -> int | None:
        return self.regions[-1][1] if self.regions else None
