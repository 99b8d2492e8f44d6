"""Events of a simulated run: every access, fence and barrier that an unrolled thread may reach."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from gpudiy.litmus.access import Order, Scope
from gpudiy.litmus.instruction import (
    Alu,
    Atomic,
    Barrier,
    BarrierMode,
    Branch,
    Fence,
    FenceKind,
    Instruction,
    Label,
    Load,
    ProxyFence,
    Reduce,
    SetPredicate,
    Store,
    access_of,
    scope_of,
)

RELEASING = (FenceKind.MEMBAR, FenceKind.SC, FenceKind.ACQ_REL, FenceKind.RELEASE)
ACQUIRING = (FenceKind.MEMBAR, FenceKind.SC, FenceKind.ACQ_REL, FenceKind.ACQUIRE)


class SimulatedEventKind(Enum):
    """What an event does: atomics both read and write."""

    READ = "read"
    WRITE = "write"
    ATOMIC = "atomic"
    FENCE = "fence"
    BARRIER = "barrier"


def event_kind(instruction: Instruction) -> SimulatedEventKind | None:
    """The kind of event an instruction makes; None if it makes none."""
    match instruction:
        case Load():
            return SimulatedEventKind.READ
        case Store():
            return SimulatedEventKind.WRITE
        case Atomic() | Reduce():
            return SimulatedEventKind.ATOMIC
        case Fence():
            return SimulatedEventKind.FENCE
        case Barrier():
            return SimulatedEventKind.BARRIER
        case ProxyFence() | Alu() | SetPredicate() | Branch() | Label():
            return None


@dataclass(frozen=True, slots=True)
class SimulatedEvent:
    """`locations` are all it may access; `dependencies` are the reads that decide what it does, or whether it runs."""

    number: int
    thread: int
    step: int
    kind: SimulatedEventKind
    instruction: Instruction
    locations: frozenset[int] = frozenset()
    dependencies: frozenset[int] = frozenset()
    meeting: tuple[int, int, int] = (
        0,
        0,
        0,
    )  # of a barrier: its instance, its identifier, and its number among those of its thread

    @property
    def accesses(self) -> bool:
        return self.kind not in (SimulatedEventKind.FENCE, SimulatedEventKind.BARRIER)

    @property
    def reads(self) -> bool:
        return self.kind in (SimulatedEventKind.READ, SimulatedEventKind.ATOMIC)

    @property
    def writes(self) -> bool:
        return self.kind in (SimulatedEventKind.WRITE, SimulatedEventKind.ATOMIC)

    @property
    def order(self) -> Order:
        access = access_of(self.instruction)
        return Order.WEAK if access is None else access.order

    @property
    def scope(self) -> Scope | None:
        return scope_of(self.instruction)

    @property
    def strong(self) -> bool:
        return self.kind is SimulatedEventKind.FENCE or (self.accesses and self.order is not Order.WEAK)

    @property
    def strong_read(self) -> bool:
        """A read that can begin an acquire pattern; the thread does not get what a `red` reads."""
        return self.reads and self.strong and not isinstance(self.instruction, Reduce)

    @property
    def acquires(self) -> bool:
        if isinstance(self.instruction, Fence):
            return self.instruction.kind in ACQUIRING
        return self.strong_read and self.order in (Order.ACQUIRE, Order.ACQ_REL)

    @property
    def releases(self) -> bool:
        if isinstance(self.instruction, Fence):
            return self.instruction.kind in RELEASING
        return self.writes and self.order in (Order.RELEASE, Order.ACQ_REL)

    @property
    def sequential(self) -> bool:
        """fence.sc, and membar, which is the same on the chips that have it."""
        return isinstance(self.instruction, Fence) and self.instruction.kind in (FenceKind.SC, FenceKind.MEMBAR)

    @property
    def waits(self) -> bool:
        return isinstance(self.instruction, Barrier) and self.instruction.mode is BarrierMode.SYNC

    def may_meet(self, other: SimulatedEvent) -> bool:
        """Whether both may access the same location."""
        return bool(self.locations & other.locations)
