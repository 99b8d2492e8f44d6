"""The order that chips from Volta on keep: every thread has its own view of memory.

A write is visible to its own thread at once, later it reaches L2, and one thread after the other can see it: a strong
write only when it is in L2, a weak one perhaps before, from the store buffer or a shared cache. Little is kept in order
inside a thread; `views` implements what acquire, release and fence.sc promise. This module only orders moments. A
fence, acquire or release orders nothing if no other thread could synchronise with it, since their scopes do not include
each other.
"""

from __future__ import annotations

from gpudiy.devices.simulation.event import SimulatedEvent, SimulatedEventKind
from gpudiy.devices.simulation.moment import MomentStage, Timetable, accesses, order_barriers
from gpudiy.devices.simulation.program import SimulatedProgram
from gpudiy.devices.simulation.single_memory import order_dependencies


def many_views(program: SimulatedProgram) -> Timetable:
    """The moments of a program and the order that these chips keep."""
    table = Timetable(program, views=True)
    for event in accesses(program.events):
        issue = table.add(MomentStage.ISSUE, event)
        if event.kind is SimulatedEventKind.WRITE:
            table.order(issue, table.add(MomentStage.ARRIVE, event))
        if event.writes:
            for viewer in _viewers(program, event):
                seen = table.add(MomentStage.SEEN, event, viewer)
                table.order(table.time_performed(event) if event.strong else issue, seen)
    order_barriers(table)
    order_dependencies(table)
    order_same_location(table)
    order_synchronisation(table)
    return table


def _viewers(program: SimulatedProgram, write: SimulatedEvent) -> list[int]:
    """The other threads that load what may be this write; atomics look at L2."""
    return sorted(
        {
            event.thread
            for event in program.events
            if event.kind is SimulatedEventKind.READ and event.thread != write.thread and event.may_meet(write)
        }
    )


def order_same_location(table: Timetable) -> None:
    """Only a weak read may be overtaken by a read of the same location."""
    program = table.program
    members = accesses(program.events)
    for one in members:
        for other in members:
            if not (program.before(one, other) and one.may_meet(other)):
                continue
            if one.writes or other.writes or one.strong:
                table.order(table.issue(one), table.issue(other))
            if one.writes and other.writes:
                table.order(table.time_performed(one), table.time_performed(other))


def order_synchronisation(table: Timetable) -> None:
    """Order the accesses around each fence, release and acquire that another thread can synchronise with."""
    program = table.program
    for event in program.events:
        if event.sequential and has_sequential_partner(program, event):
            _order_sequential(table, event)
        if event.releases and has_partner(program, event):
            _order_release(table, event)
        if event.acquires and has_partner(program, event):
            _order_acquire(table, event)


def mutual(program: SimulatedProgram, one: SimulatedEvent, other: SimulatedEvent) -> bool:
    """Whether each has a scope that includes the thread of the other."""
    if one.scope is None or other.scope is None:
        return False
    common = program.test.scope_tree.smallest_common_scope(one.thread, other.thread)
    return common <= min(one.scope, other.scope)


def may_synchronise(program: SimulatedProgram, one: SimulatedEvent, other: SimulatedEvent) -> bool:
    """Whether both are morally strong, as far as this is known before the run."""
    return mutual(program, one, other) and (
        one.kind is SimulatedEventKind.FENCE or other.kind is SimulatedEventKind.FENCE or one.may_meet(other)
    )


def has_partner(program: SimulatedProgram, event: SimulatedEvent) -> bool:
    """Whether a release has an acquire, or an acquire a release, in another thread."""
    return any(
        ((event.releases and other.acquires) or (event.acquires and other.releases))
        and other.thread != event.thread
        and may_synchronise(program, event, other)
        for other in program.events
    )


def has_sequential_partner(program: SimulatedProgram, event: SimulatedEvent) -> bool:
    """Whether another thread has a fence.sc or membar, and their scopes include each other."""
    return any(
        other.sequential and other.thread != event.thread and mutual(program, event, other) for other in program.events
    )


def _order_sequential(table: Timetable, fence: SimulatedEvent) -> None:
    """All that precedes the fence is issued before it, all that follows after it."""
    program = table.program
    moment = table.add(MomentStage.ISSUE, fence)
    for event in program.events:
        here = table.find(MomentStage.ISSUE, event)
        if here is None:
            continue
        if program.before(event, fence):
            table.order(table.leave(event) if event.waits else here, moment)
        elif program.before(fence, event):
            table.order(moment, here)
    for source in fence.dependencies:
        table.order(table.issue(program.events[source]), moment)


def _order_release(table: Timetable, release: SimulatedEvent) -> None:
    """All that precedes a release is issued before the strong writes that can publish it."""
    program = table.program
    members = accesses(program.events)
    fence = release.kind is SimulatedEventKind.FENCE
    publishing = [w for w in members if program.before(release, w) and w.writes and w.strong] if fence else [release]
    for event in members:
        for write in publishing:
            if program.before(event, release):
                table.order(table.issue(event), table.issue(write))


def _order_acquire(table: Timetable, acquire: SimulatedEvent) -> None:
    """All that follows an acquire is issued after the strong reads that it can complete."""
    program = table.program
    members = accesses(program.events)
    fence = acquire.kind is SimulatedEventKind.FENCE
    reading = [r for r in members if program.before(r, acquire) and r.strong_read] if fence else [acquire]
    for event in members:
        for read in reading:
            if program.before(acquire, event):
                table.order(table.issue(read), table.issue(event))
