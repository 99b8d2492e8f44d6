"""Executions that show that a lock is wrong, with the source lines of their events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gpudiy.aligned_text import align_columns
from gpudiy.litmus.instruction_text import instruction_text
from gpudiy.locks.generation import Case, LockTest, build_lock_test
from gpudiy.locks.judge import CaseVerdict
from gpudiy.locks.lock import Lock
from gpudiy.locks.placement import ThreadPlacement
from gpudiy.locks.question import Question
from gpudiy.models.event import Event, label_of
from gpudiy.models.execution import Execution
from gpudiy.models.execution_picture import picture_of
from gpudiy.models.model import Model
from gpudiy.models.verdict import decide
from gpudiy.pictures.picture import Picture

PREFERRED = (
    ThreadPlacement.CTAS,
    ThreadPlacement.CTA,
    ThreadPlacement.CLUSTER,
    ThreadPlacement.MIXED,
    ThreadPlacement.WARP,
    ThreadPlacement.DEVICES,
)


@dataclass(frozen=True, slots=True)
class LockWitness:
    """An execution that a model allows and the lock must prevent."""

    made: LockTest
    model: str
    execution: Execution

    @property
    def events(self) -> Iterator[tuple[Event, int]]:
        """The events of threads with their source lines, 0 for those of the critical section."""
        for event in self.execution.events:
            if event.instruction is not None:
                yield event, self._line(event)

    def _line(self, event: Event) -> int:
        thread = self.made.test.threads[event.thread]
        index = next((i for i, known in enumerate(thread) if known is event.instruction), None)
        if index is None:
            index = thread.index(event.instruction) if event.instruction in thread else None
        return 0 if index is None else self.made.lines[event.thread][index]


def simplest_case(verdicts: Sequence[CaseVerdict], question: Question, model: str) -> Case | None:
    """The easiest case to understand among those whose outcome a model allows; None if there is none."""
    wrong = [f.case for f in verdicts if f.model == model and f.case.question is question and f.verdict.allowed]
    order = {placement: index for index, placement in enumerate(PREFERRED)}
    return min(
        wrong, key=lambda c: (c.threads, c.scenario.early, c.ways, c.retry, order[c.setting.placement], c.setting.text),
        default=None,
    )  # fmt: skip


def find_witness(case: Case, model: Model) -> LockWitness | None:
    """The execution by which a model allows a case; None if it does not."""
    made = build_lock_test(case)
    if made is None:
        return None
    execution = decide(made.test, model).execution
    return None if execution is None else LockWitness(made, model.name, execution)


def draw_witness(found: LockWitness) -> Picture:
    """The execution as a picture; every event of the lock has its source line."""
    execution, test, case = found.execution, found.made.test, found.made.case
    title = f"{case.lock.name}: {case.question} allowed by {found.model}"
    note = f"{test.doc}. Lines are those of {case.lock.program.path}; the others are the critical section."
    drawn = picture_of(execution.skeleton, execution.rf, execution.co, {}, title, note=note, events=execution.events)
    lines = {}
    for number, event in enumerate(execution.events):
        if event.instruction is not None and (line := found._line(event)):
            lines[number] = line
    nodes = tuple(
        replace(node, instruction=f"{node.instruction}  (line {lines[node.event]})") if node.event in lines else node
        for node in drawn.nodes
    )
    return replace(drawn, nodes=nodes)


def list_events(found: LockWitness) -> list[str]:
    """The events of an execution, thread by thread, with their values and source lines."""
    rows = [
        (f"P{event.thread}", label_of(event), instruction_text(event.instruction), f"line {line}" if line else "inside")
        for event, line in found.events
        if event.instruction is not None
    ]
    return align_columns(rows).splitlines() if rows else []


def mark_source(lock: Lock, found: LockWitness) -> list[str]:
    """The source of the lock from the first to the last line of the events; each such line names its threads."""
    threads: dict[int, list[str]] = {}
    for event, line in found.events:
        if line:
            names = threads.setdefault(line, [])
            if f"P{event.thread}" not in names:
                names.append(f"P{event.thread}")
    hole = lock.program.statements[lock.program.hole].place.line
    lines = lock.program.source.split("\n")
    shown = sorted(line for line in {*threads, hole} if 0 < line <= len(lines))
    if not shown:
        return []
    first, last = shown[0], shown[-1]
    width = len(str(last))
    marks = {line: "> " + ",".join(sorted(names)) for line, names in threads.items()}
    room = max(map(len, marks.values()), default=0)
    return [
        f"{marks.get(number, ''):<{room}} {number:>{width}} | {lines[number - 1].rstrip()}".rstrip()
        for number in range(first, last + 1)
    ]
