"""The order that chips before Volta keep: one memory, reordering threads, fences that count within their scope.

Everything that other threads can notice happens in L2, at the same moment for all of them. So only the order inside a
thread matters: dependencies, accesses of one location (except two reads of it), and fences. A fence whose scope holds
all threads always counts. One of a narrower scope, such as cta, counts only if threads of its own CTA could notice:
only then it is on a cycle of conflicts inside the CTA (Shasha and Snir's delay sets).
"""

from __future__ import annotations

from collections.abc import Iterator

from gpudiy.devices.simulation.event import SimulatedEvent
from gpudiy.devices.simulation.moment import (
    Timetable,
    accesses,
    barriers_met_by,
    order_accesses_and_barriers,
)
from gpudiy.devices.simulation.program import SimulatedProgram
from gpudiy.litmus.access import Scope
from gpudiy.litmus.instruction import Fence

LEVELS = {Scope.CTA: 1, Scope.GPU: 4}  # the index in a placement; all threads are in one system


def single_memory(program: SimulatedProgram, reads_in_order: bool) -> Timetable:
    """The moments of a program and the order that these chips keep."""
    table = order_accesses_and_barriers(program)
    order_dependencies(table)
    order_locations(table, reads_in_order)
    order_fences(table)
    return table


def interleaving(program: SimulatedProgram) -> Timetable:
    """Each access happens at once, and after all that precede it."""
    table = single_memory(program, True)
    for one, other in _pairs(program):
        table.order(table.time_performed(one), table.issue(other))
    return table


def order_dependencies(table: Timetable) -> None:
    """What an access does must be known before it is issued."""
    for event in accesses(table.program.events):
        for source in event.dependencies:
            table.order(table.issue(table.program.events[source]), table.issue(event))


def order_locations(table: Timetable, reads_in_order: bool) -> None:
    """Keep accesses of one location in order; two reads only with `reads_in_order`."""
    for one, other in _pairs(table.program):
        if not one.may_meet(other):
            continue
        if one.writes or other.writes or reads_in_order:
            table.order(table.issue(one), table.issue(other))
        if one.writes and other.writes:
            table.order(table.time_performed(one), table.time_performed(other))


def order_fences(table: Timetable) -> None:
    """Keep accesses on both sides of a fence in order, where its scope matters."""
    for one, other in fenced_pairs(table.program):
        table.order(table.time_performed(one), table.time_performed(other))


def fenced_pairs(program: SimulatedProgram) -> Iterator[tuple[SimulatedEvent, SimulatedEvent]]:
    """The accesses a fence keeps in order, where the threads in its scope could notice."""
    reach = {pair: scope for pair in _pairs(program) if (scope := fence_between(program, *pair)) is not None}
    for scope in (Scope.CTA, Scope.GPU, Scope.SYS):
        counting = {pair for pair, fence in reach.items() if fence >= scope}
        level = LEVELS.get(scope)
        for group in {place[level] if level is not None else 0 for place in program.placements}:
            threads = {
                thread for thread, place in enumerate(program.placements) if level is None or place[level] == group
            }
            if len(threads) == len(program.placements):
                yield from counting
                continue
            follows = _potential_order(program, threads, counting)
            for one, other in counting:
                if one.thread in threads and follows[other.number] >> one.number & 1:
                    yield one, other


def fence_between(program: SimulatedProgram, one: SimulatedEvent, other: SimulatedEvent) -> Scope | None:
    """The widest fence between two accesses of a thread."""
    return max(
        (
            event.instruction.scope
            for event in program.events
            if isinstance(event.instruction, Fence) and program.before(one, event) and program.before(event, other)
        ),
        default=None,
    )


def _potential_order(
    program: SimulatedProgram, threads: set[int], fenced: set[tuple[SimulatedEvent, SimulatedEvent]]
) -> list[int]:
    """For each access those that could follow it, as bits: by a dependency, a fence, a barrier or a conflict."""
    follows = [0] * len(program.events)
    members = [event for event in accesses(program.events) if event.thread in threads]
    for one in members:
        for other in members:
            conflict = one.may_meet(other) and (one.writes or other.writes)
            if one.thread != other.thread:
                joined = conflict
            else:
                held = one.number in other.dependencies or (one, other) in fenced or (conflict and other.writes)
                joined = program.before(one, other) and held
            if joined or _barrier_between(program, one, other):
                follows[one.number] |= 1 << other.number
    return _close_transitively(follows)


def _barrier_between(program: SimulatedProgram, one: SimulatedEvent, other: SimulatedEvent) -> bool:
    return any(
        program.before(one, arrival) and program.before(barrier, other)
        for barrier in program.events
        if barrier.waits and barrier.thread == other.thread
        for arrival in barriers_met_by(program, barrier)
    )


def _close_transitively(follows: list[int]) -> list[int]:
    for middle in range(len(follows)):
        reached = follows[middle]
        for number, known in enumerate(follows):
            if known >> middle & 1:
                follows[number] = known | reached
    return follows


def _pairs(program: SimulatedProgram) -> Iterator[tuple[SimulatedEvent, SimulatedEvent]]:
    """All pairs of accesses of a thread, in program order."""
    members = accesses(program.events)
    for one in members:
        for other in members:
            if program.before(one, other):
                yield one, other
