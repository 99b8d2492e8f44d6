"""What can be said of a lock without a model: whether it can hang, and what PTX does not promise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from gpudiy.litmus.instruction import Atomic, Load, Reduce, Store
from gpudiy.locks.flow import Flow
from gpudiy.locks.lock import Lock
from gpudiy.locks.path import AccessStep, DecisionStep, LockPath


class RemarkKind(StrEnum):
    """What a remark is about."""

    HANGS_WARP = "hangs-warp"
    NOT_RELEASED = "not-released"
    NOT_ENTERED = "not-entered"
    PLAIN_RELEASE = "plain-release"


@dataclass(frozen=True, slots=True)
class Remark:
    """Something about a lock that a person should know."""

    kind: RemarkKind
    line: int
    text: str


def find_remarks(lock: Lock) -> list[Remark]:
    """All remarks on a lock."""
    return [*_find_hanging(lock), *_find_unreleased(lock), *_find_unentered(lock), *_find_plain_release(lock)]


def _find_hanging(lock: Lock) -> Iterator[Remark]:
    """Without independent thread scheduling a warp goes on together: who waits outside the critical section for
    threads of its own warp keeps them from ever leaving it.
    """
    flow, hole = Flow(lock.program), lock.program.hole
    before = {position for path in lock.paths if path.entered for position in path.acquired}
    for edge in sorted(flow.back_edges):
        loop = flow.loop_of(edge)
        spins = [p for p in sorted(loop) if _reads(lock, p) and p in before]
        if spins and hole not in loop:
            yield Remark(
                RemarkKind.HANGS_WARP,
                _line(lock, spins[-1]),
                "before sm_70 two threads of one warp can hang here: the one that waits keeps the holder from going on",
            )
            return


def _find_unreleased(lock: Lock) -> Iterator[Remark]:
    written = lock.release_variables()
    for path in lock.paths:
        if not path.entered:
            continue
        after = path.steps[path.hole :]
        if any(isinstance(s, AccessStep) and s.writes and s.variable in written for s in after):
            continue
        decisions = [step for step in after if isinstance(step, DecisionStep)]
        position = decisions[-1].position if decisions else lock.program.hole
        yield Remark(
            RemarkKind.NOT_RELEASED, _line(lock, position), "on one path from here the lock is never given back"
        )
        return


def _find_unentered(lock: Lock) -> Iterator[Remark]:
    path: LockPath | None = next((path for path in lock.paths if not path.entered), None)
    if path is not None:
        decisions = [step for step in path.steps if isinstance(step, DecisionStep)]
        position = decisions[-1].position if decisions else lock.program.hole
        yield Remark(RemarkKind.NOT_ENTERED, _line(lock, position), "a thread may leave without having been inside")


def _find_plain_release(lock: Lock) -> Iterator[Remark]:
    """PTX does not guarantee atomicity of atomics with respect to plain stores."""
    atomics = {
        step.variable for path in lock.paths for step in path.steps
        if isinstance(step, AccessStep) and isinstance(step.instruction, (Atomic, Reduce))
    }  # fmt: skip
    for step in lock.direct.steps[lock.direct.hole :]:
        if not isinstance(step, AccessStep) or step.variable not in atomics:
            continue
        if isinstance(step.instruction, Store) and not step.instruction.access.strong:
            text = f"a plain store to {step.variable}: PTX does not promise that atomics are atomic beside it"
            yield Remark(RemarkKind.PLAIN_RELEASE, _line(lock, step.position), text)
            return


def _reads(lock: Lock, position: int) -> bool:
    return isinstance(lock.program.statements[position].instruction, (Load, Atomic))


def _line(lock: Lock, position: int) -> int:
    """The source line of a statement, or of the next one before it that has one."""
    lines = [statement.place.line for statement in lock.program.statements[: position + 1] if statement.place.line]
    return lines[-1] if lines else 0
