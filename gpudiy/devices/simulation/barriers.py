"""Barriers: who waits for whom."""

from __future__ import annotations

from gpudiy.devices.simulation.event import Event, Kind
from gpudiy.devices.simulation.moment import Stage, Timetable
from gpudiy.devices.simulation.program import Program


def met_by(program: Program, barrier: Event) -> list[Event]:
    """The barriers of other threads of the CTA that this one waits for."""
    placements = program.placements
    return [
        other
        for other in program.events
        if other.kind is Kind.BARRIER
        and other.thread != barrier.thread
        and other.meeting == barrier.meeting
        and placements[other.thread].cta == placements[barrier.thread].cta
    ]


def order_barriers(table: Timetable) -> None:
    """What precedes a barrier has happened when its thread arrives; what follows waits until it may leave."""
    program = table.program
    barriers = [event for event in program.events if event.kind is Kind.BARRIER]
    for barrier in barriers:
        table.add(Stage.ISSUE, barrier)
        table.order(table.issue(barrier), table.add(Stage.ARRIVE, barrier))
    for barrier in barriers:
        for source in barrier.dependencies:
            table.order(table.issue(program.events[source]), table.issue(barrier))
        for event in program.events:
            if event.kind is Kind.FENCE:
                continue
            if program.before(event, barrier):
                table.order(table.performed(event), table.issue(barrier))
                if event.waits:
                    table.order(table.left(event), table.issue(barrier))
            elif program.before(barrier, event) and barrier.waits:
                table.order(table.left(barrier), table.issue(event))
        if barrier.waits:
            for other in met_by(program, barrier):
                table.order(table.issue(other), table.left(barrier))
