"""Why the simulated machine cannot run a test."""

from __future__ import annotations

from collections.abc import Iterator

from gpudiy.devices.simulation.moment import (
    NeverEnds,
    barriers_met_by,
    order_accesses_and_barriers,
)
from gpudiy.devices.simulation.profile import MemoryFamily, Profile
from gpudiy.devices.simulation.program import SimulatedProgram
from gpudiy.litmus import Test
from gpudiy.litmus import instruction as isa
from gpudiy.litmus.access import Access, Order, Proxy, Scope
from gpudiy.litmus.barrier_count import count_threads
from gpudiy.litmus.barrier_visit import BarrierVisit, UnclearRelease, find_endless_waits
from gpudiy.litmus.instruction import guard_of
from gpudiy.litmus.instruction_text import instruction_text

MOST_EVENTS = 200


def find_obstacle(test: Test, profile: Profile) -> str | None:
    """The first reason why the machine of this profile cannot run the test, if there is one."""
    return next(_obstacles(test, profile), None)


def _obstacles(test: Test, profile: Profile) -> Iterator[str]:
    if test.memory_map.symbolic:
        yield "its instructions contradict its memory map"
    if any(variable.proxy is not Proxy.GENERIC for variable in test.memory_map.variables):
        yield "the simulated machine has the generic proxy only"
    for number, thread in enumerate(test.threads):
        for instruction in thread:
            reason = _unknown(instruction, profile)
            if reason is not None:
                yield f"P{number} has `{instruction_text(instruction)}`: {reason}"
        yield from _barriers(number, thread)
    program = SimulatedProgram(test)
    if len(program.events) > MOST_EVENTS:
        yield f"it has {len(program.events)} accesses, fences and barriers with its loops unrolled, over {MOST_EVENTS}"
    yield from _waiting(program)
    yield from _endless_waits(program)


def _unknown(instruction: isa.Instruction, profile: Profile) -> str | None:
    match instruction:
        case isa.ProxyFence():
            return "the simulated machine has the generic proxy only"
        case isa.Load() | isa.Store() | isa.Atomic() | isa.Reduce():
            return _unknown_access(instruction.access, profile)
        case isa.Fence(kind=kind):
            old = profile.family is MemoryFamily.SINGLE_MEMORY
            return f"{profile.chip} has no fence but membar" if old and kind is not isa.FenceKind.MEMBAR else None
        case isa.Barrier() | isa.Alu() | isa.SetPredicate() | isa.Branch() | isa.Label():
            return None


def _unknown_access(access: Access, profile: Profile) -> str | None:
    if access.proxy is not Proxy.GENERIC:
        return "the simulated machine has the generic proxy only"
    if profile.family is not MemoryFamily.SINGLE_MEMORY:
        return None
    if access.order.acquires or access.order.releases:
        return f"{profile.chip} has neither acquire nor release"
    if access.order not in (Order.WEAK, Order.RELAXED, Order.VOLATILE):
        return f"{profile.chip} has nothing like .{access.order}"
    return f"{profile.chip} has no clusters" if access.scope is Scope.CLUSTER else None


def _barriers(number: int, thread: tuple[isa.Instruction, ...]) -> Iterator[str]:
    """A thread must reach its barriers in every run."""
    barriers = [instruction for instruction in thread if isinstance(instruction, isa.Barrier)]
    if not barriers:
        return
    if any(isinstance(instruction, isa.Branch) for instruction in thread):
        yield f"P{number} has barriers and branches: whether it comes to a barrier must be known before"
    for barrier in barriers:
        if guard_of(barrier) is not None:
            yield f"P{number} has a barrier behind a guard: whether it comes to a barrier must be known before"
        if not isinstance(barrier.identifier, isa.Immediate) or not isinstance(
            barrier.count, (isa.Immediate, type(None))
        ):
            yield f"P{number} takes the number of a barrier from a register"


def _endless_waits(program: SimulatedProgram) -> Iterator[str]:
    """Barriers of PTX at which threads wait for each other in vain; such a device would hang, too."""
    visits = []
    for event in program.events:
        if isinstance(event.instruction, isa.Barrier):
            count = event.instruction.count
            expected = count_threads(count.value) if isinstance(count, isa.Immediate) else None
            visits.append(BarrierVisit(event.thread, event.meeting, expected, event.waits))
    try:
        endless = find_endless_waits(visits, [placement.cta for placement in program.placements])
    except UnclearRelease as problem:
        yield str(problem)
        return
    if endless:
        yield f"P{visits[min(endless)].thread} waits at a barrier for ever, since others wait elsewhere"


def _waiting(program: SimulatedProgram) -> Iterator[str]:
    table = order_accesses_and_barriers(program)
    for barrier in program.events:
        if barrier.waits and isinstance(barrier.instruction, isa.Barrier):
            count = barrier.instruction.count
            if isinstance(count, isa.Immediate) and count_threads(count.value) - 1 > len(
                barriers_met_by(program, barrier)
            ):
                yield f"P{barrier.thread} waits at a barrier for {count.value} threads that never come together"
    try:
        table.sort()
    except NeverEnds as problem:
        yield str(problem)
