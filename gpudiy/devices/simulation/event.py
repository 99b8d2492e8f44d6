"""Events of a simulated run: every access, fence and barrier that an unrolled thread may reach."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from gpudiy.litmus import instruction as isa
from gpudiy.litmus.access import Order, Scope
from gpudiy.litmus.instruction import access_of, scope_of
from gpudiy.litmus.stale_reads import read_reach


class SimulatedEventKind(Enum):
    """What an event does: atomics both read and write."""

    READ = "read"
    WRITE = "write"
    ATOMIC = "atomic"
    FENCE = "fence"
    BARRIER = "barrier"


def event_kind(instruction: isa.Instruction) -> SimulatedEventKind | None:
    """The kind of event an instruction makes; None if it makes none."""
    match instruction:
        case isa.Load():
            return SimulatedEventKind.READ
        case isa.Store():
            return SimulatedEventKind.WRITE
        case isa.Atomic() | isa.Reduce():
            return SimulatedEventKind.ATOMIC
        case isa.Fence():
            return SimulatedEventKind.FENCE
        case isa.Barrier():
            return SimulatedEventKind.BARRIER
        case isa.ProxyFence() | isa.Alu() | isa.SetPredicate() | isa.Branch() | isa.Label():
            return None


@dataclass(frozen=True, slots=True)
class SimulatedEvent:
    """`locations` are all it may access; `dependencies` are the reads that decide what it does, or whether it runs."""

    number: int
    thread: int
    step: int
    kind: SimulatedEventKind
    instruction: isa.Instruction
    locations: frozenset[int] = frozenset()
    dependencies: frozenset[int] = frozenset()
    meeting: tuple[int, int, int] = (0, 0, 0)  # of a barrier: instance, identifier, number among those of its thread

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
        return self.reads and self.strong and not isinstance(self.instruction, isa.Reduce)

    @property
    def acquires(self) -> bool:
        if isinstance(self.instruction, isa.Fence):
            return self.instruction.kind.acquires
        return self.strong_read and self.order.acquires

    @property
    def releases(self) -> bool:
        if isinstance(self.instruction, isa.Fence):
            return self.instruction.kind.releases
        return self.writes and self.order.releases

    @property
    def sequential(self) -> bool:
        """A fence that is in one order with all others of its kind."""
        return isinstance(self.instruction, isa.Fence) and self.instruction.kind.sequential

    @property
    def waits(self) -> bool:
        return isinstance(self.instruction, isa.Barrier) and self.instruction.mode.waits

    @property
    def cached(self) -> bool:
        """A load that L1 may answer, since it need not see what other CTAs wrote."""
        return isinstance(self.instruction, isa.Load) and read_reach(self.instruction.access) is Scope.CTA

    def may_meet(self, other: SimulatedEvent) -> bool:
        """Whether both may access the same location."""
        return bool(self.locations & other.locations)
