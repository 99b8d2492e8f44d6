"""Notes about a lock that need no model: can it hang, does it rely on what PTX does not promise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from gpudiy.litmus.instruction import Atomic, Load, Reduce, Store
from gpudiy.locks.flow import Flow
from gpudiy.locks.lock import Lock
from gpudiy.locks.path import AccessStep, DecisionStep, LockPath, LockStep


class RemarkKind(StrEnum):
    """The kinds of remarks."""

    HANGS_WARP = "hangs-warp"
    NOT_RELEASED = "not-released"
    NOT_ENTERED = "not-entered"
    PLAIN_RELEASE = "plain-release"


@dataclass(frozen=True, slots=True)
class Remark:
    """A note about a lock, with its source line."""

    kind: RemarkKind
    line: int
    text: str


def find_remarks(lock: Lock) -> list[Remark]:
    """All remarks on a lock."""
    return [*_find_hanging(lock), *_find_unreleased(lock), *_find_unentered(lock), *_find_plain_release(lock)]


def _find_hanging(lock: Lock) -> Iterator[Remark]:
    """Without independent thread scheduling the threads of a warp run in lockstep: a thread that waits for the lock
    keeps the holder in the same warp from ever releasing it.
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
                "before sm_70 two threads of one warp can hang here: the waiting thread stops the holder",
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
        line = _last_decision_line(lock, after)
        yield Remark(RemarkKind.NOT_RELEASED, line, "on one path from here the lock is never released")
        return


def _find_unentered(lock: Lock) -> Iterator[Remark]:
    path: LockPath | None = next((path for path in lock.paths if not path.entered), None)
    if path is not None:
        line = _last_decision_line(lock, path.steps)
        yield Remark(RemarkKind.NOT_ENTERED, line, "a thread may leave without having entered the critical section")


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


def _last_decision_line(lock: Lock, steps: Sequence[LockStep]) -> int:
    positions = [step.position for step in steps if isinstance(step, DecisionStep)]
    return _line(lock, positions[-1] if positions else lock.program.hole)


def _reads(lock: Lock, position: int) -> bool:
    return isinstance(lock.program.statements[position].instruction, (Load, Atomic))


def _line(lock: Lock, position: int) -> int:
    """The source line of a statement, or of the nearest one before it that has one."""
    lines = [statement.place.line for statement in lock.program.statements[: position + 1] if statement.place.line]
    return lines[-1] if lines else 0
