"""Hanging runs as text and as pictures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpudiy.litmus.condition import Value
from gpudiy.litmus.instruction import Load, Store, access_of
from gpudiy.litmus.instruction_text import instruction_text
from gpudiy.litmus.outcome import value_text
from gpudiy.litmus.test import Test
from gpudiy.models.execution_picture import letter_of, picture_of, thread_header
from gpudiy.models.progress.guarantee import ProgressGuarantee
from gpudiy.models.progress.machine import Action
from gpudiy.models.progress.verdict import ProgressVerdict
from gpudiy.models.report import execution_lines
from gpudiy.pictures.picture import Arrow, Node, Picture


def progress_text(verdict: ProgressVerdict) -> str:
    """What is said about the runs of a test, and why."""
    return "\n".join(_lines(verdict))


def action_text(test: Test, action: Action) -> str:
    """What a thread did: `ld.s32 r0,[x]  reads 0`."""
    instruction = test.threads[action.thread][action.position]
    text = instruction_text(instruction)
    if action.value is None or access_of(instruction) is None:
        return text
    return f"{text:<32} {_verb(action, test)} {value_text(action.value)}"


def picture_of_hang(verdict: ProgressVerdict) -> Picture:
    """The execution before the hang, or the steps of the run; what is repeated is highlighted."""
    assert verdict.hang is not None
    title = f"{verdict.test.name}: may hang with {verdict.guarantee} under {verdict.model.name}"
    execution = verdict.execution
    if execution is not None:
        note = "; ".join(_list_repeated(verdict))
        return picture_of(execution.skeleton, execution.rf, execution.co, {}, title, events=execution.events, note=note)
    return _picture_of_steps(verdict, title)


def _lines(verdict: ProgressVerdict) -> Iterator[str]:
    where = f"with {verdict.guarantee} under {verdict.model.name}"
    yield (
        f"{verdict.test.name} {verdict.answer} {where}"
        if not verdict.answer.undecided
        else (f"{verdict.test.name} is {verdict.answer} {where}")
    )
    if verdict.reason:
        yield f"  {verdict.reason}"
    if verdict.assumption:
        yield f"  {verdict.assumption}"
    hang, execution = verdict.hang, verdict.execution
    if hang is None:
        return
    if execution is not None:
        yield "  after this execution:"
        yield from execution_lines(execution)
    elif hang.stem:
        yield "  after these steps:"
        yield from _action_lines(verdict.test, hang.stem)
    if hang.cycle:
        yield "  these are repeated for ever:"
        yield from _action_lines(verdict.test, hang.cycle)
    yield from (f"  {line}" for line in _waiting(verdict))


def _action_lines(test: Test, actions: Iterable[Action]) -> Iterator[str]:
    for action in actions:
        yield f"    P{action.thread}  {action_text(test, action)}"


def _waiting(verdict: ProgressVerdict) -> Iterator[str]:
    """Who takes no step any more, and why."""
    assert verdict.hang is not None
    run = verdict.hang.run
    unit = "warp " if verdict.guarantee is ProgressGuarantee.LOCKSTEP else "P"
    stepped = run.started | {action.thread for action in verdict.hang.stem}
    for number in sorted(run.starved):
        never = "takes no more steps" if number in stepped else "never takes a step"
        yield f"{unit}{number} {never}, which {verdict.guarantee} does not promise"
    if not run.running:
        yield "no thread can take a step: a barrier waits for ever"


def _list_repeated(verdict: ProgressVerdict) -> Iterator[str]:
    assert verdict.hang is not None
    for action in verdict.hang.cycle:
        yield f"P{action.thread} repeats {' '.join(action_text(verdict.test, action).split())}"
    yield from _waiting(verdict)


def _verb(action: Action, test: Test) -> str:
    return "writes" if isinstance(test.threads[action.thread][action.position], Store) else "reads"


def _picture_of_steps(verdict: ProgressVerdict, title: str) -> Picture:
    assert verdict.hang is not None
    test, hang = verdict.test, verdict.hang
    actions = [*hang.stem, *hang.cycle]
    rows: dict[int, int] = {}
    last: dict[int, int] = {}
    nodes: list[Node] = []
    arrows: list[Arrow] = []
    for number, action in enumerate(actions):
        row = rows[action.thread] = rows.get(action.thread, -1) + 1
        text = instruction_text(test.threads[action.thread][action.position])
        repeated = number >= len(hang.stem)
        name = letter_of(number)
        nodes.append(Node(number, action.thread, row, name, f"{name}: {_label(test, action)}", text, repeated))
        if action.thread in last:
            arrows.append(Arrow("po", last[action.thread], number, repeated and last[action.thread] >= len(hang.stem)))
        last[action.thread] = number
    arrows += [
        Arrow("step", before, before + 1, before >= len(hang.stem))
        for before in range(len(actions) - 1)
        if actions[before].thread != actions[before + 1].thread
    ]
    if hang.cycle:
        arrows.append(Arrow("again", len(actions) - 1, len(hang.stem), highlighted=True))
    columns = tuple(thread_header(test.scope_tree, thread) for thread in range(len(test.threads)))
    return Picture(title, columns, tuple(nodes), tuple(arrows), "; ".join(_waiting(verdict)))


def _label(test: Test, action: Action) -> str:
    instruction = test.threads[action.thread][action.position]
    value: Value | None = action.value
    if value is None:
        return instruction_text(instruction).split()[0]
    kind = "W" if isinstance(instruction, Store) else "R" if isinstance(instruction, Load) else "RMW"
    return f"{kind} {value_text(value)}"
