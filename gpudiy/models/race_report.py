"""Data races as text and as pictures."""

from __future__ import annotations

from collections.abc import Iterator

from gpudiy.litmus.instruction_text import instruction_text
from gpudiy.models.execution_picture import picture_of
from gpudiy.models.explanation import event_names
from gpudiy.models.races import Race, RaceVerdict, RacingAccess
from gpudiy.models.report import execution_lines
from gpudiy.pictures.picture import Picture


def race_text(verdict: RaceVerdict) -> str:
    """The races of a test, and the execution that has them."""
    return "\n".join(_lines(verdict))


def access_text(access: RacingAccess) -> str:
    """An access and its place: `P0, instruction 2: st.s32 [x],1`."""
    return f"P{access.thread}, instruction {access.position + 1}: {instruction_text(access.instruction)}"


def picture_of_race(verdict: RaceVerdict) -> Picture:
    """The execution that has the races; the first of them is highlighted."""
    execution = verdict.execution
    assert execution is not None
    events = [access.event for access in verdict.races[0].accesses] if verdict.races else []
    steps = ["race"] * len(events)
    title = f"{verdict.test.name}: data race by {verdict.verdict.model_label}"
    return picture_of(
        execution.skeleton, execution.rf, execution.co, {}, title, events, events=execution.events, steps=steps
    )


def _lines(verdict: RaceVerdict) -> Iterator[str]:
    verb = "has data races" if verdict.races else f"is {verdict.answer}"
    yield f"{verdict.test.name} {verb} by {verdict.verdict.model_label}"
    if verdict.reason:
        yield f"  {verdict.reason}"
    execution = verdict.execution
    if execution is None:
        return
    names = event_names(execution.skeleton)
    yield from (f"  {_race_text(race, names)}" for race in verdict.races)
    yield "  in this execution:"
    yield from execution_lines(execution)


def _race_text(race: Race, names: list[str]) -> str:
    return " races with ".join(f"{names[access.event]} ({access_text(access)})" for access in race.accesses)
