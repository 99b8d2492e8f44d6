"""L1: the lines in which cached loads may find old values.

A cached load has a moment at which its line came into L1 from L2; it takes the value that L2 had then. Mostly the load
misses, and its line comes when it is issued. A line that came earlier is stale: no store of another thread changes or
removes it, and neither does a dependency. A store or an atomic of the same thread removes it, a barrier does, and a
fence does on chips whose fences empty L1.
"""

from __future__ import annotations

from gpudiy.devices.simulation.event import SimulatedEvent, SimulatedEventKind
from gpudiy.devices.simulation.moment import Moment, MomentStage, Timetable
from gpudiy.devices.simulation.program import SimulatedProgram
from gpudiy.devices.simulation.single_memory import fence_between, fenced_pairs
from gpudiy.litmus.access import Scope


def cached_loads(program: SimulatedProgram) -> list[SimulatedEvent]:
    """The loads that L1 may answer; it holds no shared memory."""
    return [event for event in program.events if event.cached and event.locations & program.cached_locations]


def loaded_before(program: SimulatedProgram, load: SimulatedEvent) -> SimulatedEvent | None:
    """The last cached load before this one in its thread that may have brought the same line."""
    earlier = [one for one in cached_loads(program) if program.before(one, load) and one.may_meet(load)]
    return earlier[-1] if earlier else None


def sees_lines_only(table: Timetable, seen: Moment) -> bool:
    """Whether L1 may answer all loads by which the viewer can see a write."""
    program = table.program
    return all(
        load.cached and load.locations <= program.cached_locations
        for load in program.events
        if load.kind is SimulatedEventKind.READ and load.thread == seen.viewer and load.may_meet(seen.event)
    )


def add_lines(table: Timetable, emptied_by: Scope | None) -> None:
    """Add the moments at which the lines of cached loads come; `emptied_by` is the narrowest fence that empties L1."""
    loads = cached_loads(table.program)
    for load in loads:
        table.add(MomentStage.FILL, load)
    if loads:
        order_after_barriers(table, loads)
    if loads and emptied_by is not None:
        order_after_fences(table, loads, emptied_by)


def order_after_barriers(table: Timetable, loads: list[SimulatedEvent]) -> None:
    """What a thread loads behind a barrier comes into L1 after it."""
    program = table.program
    for barrier in program.events:
        for load in loads:
            if barrier.waits and program.before(barrier, load):
                table.order(table.leave(barrier), table.fill(load))


def order_after_fences(table: Timetable, loads: list[SimulatedEvent], emptied_by: Scope) -> None:
    """What a thread loads behind a fence that empties L1 comes after all that the fence waits for."""
    for one, other in fenced_pairs(table.program):
        scope = fence_between(table.program, one, other)
        if other in loads and scope is not None and scope >= emptied_by:
            table.order(table.time_performed(one), table.fill(other))
