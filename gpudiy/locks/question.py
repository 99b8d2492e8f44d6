"""The questions about a lock: what threads do in their critical sections, and the outcome that must not occur."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gpudiy.errors import InputError, near_name
from gpudiy.locks.thread_code import LockUse, SectionOperation, SectionOperationKind


class Question(StrEnum):
    """What can go wrong with a lock."""

    MUTUAL_EXCLUSION = "mutual-exclusion"
    STALE_VALUE = "stale-value"
    FUTURE_VALUE = "future-value"
    LOST_UPDATE = "lost-update"
    LEAK_AT_ACQUIRE = "leak-at-acquire"
    LEAK_AT_RELEASE = "leak-at-release"
    BROKEN_RMW = "broken-rmw"

    @property
    def what(self) -> str:
        return {
            Question.MUTUAL_EXCLUSION: "two threads are inside at the same time",
            Question.STALE_VALUE: "a thread misses what the one before it wrote",
            Question.FUTURE_VALUE: "a thread reads what the one after it writes",
            Question.LOST_UPDATE: "an increment is lost",
            Question.LEAK_AT_ACQUIRE: "a store is seen before its critical section begins",
            Question.LEAK_AT_RELEASE: "a store takes effect after its critical section ended",
            Question.BROKEN_RMW: "a release breaks an atomic: two threads enter, or the release is undone",
        }[self]


def find_question(name: str) -> Question:
    """The question with this name; raise `InputError` if there is none."""
    names = [question.value for question in Question]
    if name not in names:
        raise InputError(f"unknown question {name!r}", hint=near_name(name, names) or f"questions: {', '.join(names)}")
    return Question(name)


def _read(variable: str) -> SectionOperation:
    return SectionOperation(SectionOperationKind.READ, variable)


def _write(variable: str, value: int) -> SectionOperation:
    return SectionOperation(SectionOperationKind.WRITE, variable, value)


def _add_one(variable: str) -> SectionOperation:
    return SectionOperation(SectionOperationKind.INCREMENT, variable)


@dataclass(frozen=True, slots=True)
class Part:
    """What one thread does, and the values that it reads in the outcome in question."""

    use: LockUse
    section: tuple[SectionOperation, ...] = ()
    reads: tuple[int | None, ...] = ()
    enters: bool | None = True  # None: the outcome does not say


@dataclass(frozen=True, slots=True)
class Scenario:
    """A question with its threads; `finals` is a variable and its possible last values in the outcome in question.

    Without a holder, the lock is free at the start. `undone` asks for a lock that is not as its release left it.
    """

    question: Question
    parts: tuple[Part, ...]
    finals: tuple[str, tuple[int, ...]] | None = None
    undone: bool = False
    retries: bool = False  # also asked with a last thread whose first attempt fails
    early: bool = False  # loads inside do not wait for the branch before them, as in figure 2.11


HOLDER, TAKER, USER, PASSER = LockUse.HOLDER, LockUse.TAKER, LockUse.USER, LockUse.PASSER

SCENARIOS = (
    Scenario(Question.MUTUAL_EXCLUSION, (Part(TAKER), Part(TAKER))),
    Scenario(Question.MUTUAL_EXCLUSION, (Part(TAKER), Part(TAKER), Part(TAKER, enters=None))),
    Scenario(
        Question.STALE_VALUE,
        (Part(HOLDER, (_write("x", 1),), enters=None), Part(TAKER, (_read("x"),), (0,))),
        retries=True,
    ),
    Scenario(
        Question.STALE_VALUE,
        (Part(HOLDER, (_write("x", 1),), enters=None), Part(TAKER, (_read("x"),), (0,))),
        early=True,
    ),
    Scenario(
        Question.STALE_VALUE,
        (
            Part(HOLDER, (_write("x", 1),), enters=None),
            Part(USER, (_read("x"), _write("y", 1)), (1,), None),
            Part(TAKER, (_read("y"), _read("x")), (1, 0), None),
        ),
    ),
    Scenario(
        Question.FUTURE_VALUE,
        (Part(HOLDER, (_read("x"),), (1,), None), Part(TAKER, (_write("x", 1),))),
        retries=True,
    ),
    Scenario(
        Question.FUTURE_VALUE,
        (
            Part(HOLDER, (_read("x"), _write("z", 1)), (1,), None),
            Part(USER, (_read("z"), _write("y", 1)), (1,), None),
            Part(TAKER, (_read("y"), _write("x", 1)), (1,), None),
        ),
    ),
    Scenario(
        Question.LOST_UPDATE,
        (Part(USER, (_add_one("x"),)), Part(USER, (_add_one("x"),))),
        ("x", (1,)),
        retries=True,
    ),
    Scenario(
        Question.LOST_UPDATE, (Part(USER, (_add_one("x"),)), Part(USER, (_add_one("x"),))), ("x", (1,)), early=True
    ),
    Scenario(
        Question.LOST_UPDATE,
        (
            Part(HOLDER, (_add_one("x"),), enters=None),
            Part(USER, (_add_one("x"),)),
            Part(TAKER, (_add_one("x"),)),
        ),
        ("x", (1, 2)),
    ),
    Scenario(
        Question.LEAK_AT_ACQUIRE,
        (Part(HOLDER, (_write("x", 1), _read("x")), (2,), None), Part(TAKER, (_write("x", 2),))),
    ),
    Scenario(
        Question.LEAK_AT_ACQUIRE,
        (
            Part(HOLDER, (_write("z", 1), _write("x", 1), _read("x")), (2,), None),
            Part(USER, (_read("z"), _write("y", 1)), (1,), None),
            Part(TAKER, (_read("y"), _write("x", 2)), (1,), None),
        ),
    ),
    Scenario(
        Question.LEAK_AT_RELEASE,
        (Part(HOLDER, (_write("x", 1),), enters=None), Part(TAKER, (_write("x", 2), _read("x")), (1,))),
        retries=True,
    ),
    Scenario(
        Question.LEAK_AT_RELEASE,
        (
            Part(HOLDER, (_write("z", 1), _write("x", 1)), enters=None),
            Part(USER, (_read("z"), _write("y", 1)), (1,), None),
            Part(TAKER, (_read("y"), _write("x", 2), _read("x")), (1, 1), None),
        ),
    ),
    Scenario(Question.BROKEN_RMW, (Part(HOLDER, enters=None), Part(TAKER), Part(TAKER))),
    Scenario(Question.BROKEN_RMW, (Part(HOLDER, enters=None), Part(TAKER, enters=False)), undone=True),
)

# Asked of a lock that a thread can change without having entered.
PASSING = (
    Scenario(Question.MUTUAL_EXCLUSION, (Part(TAKER), Part(PASSER, enters=None), Part(TAKER))),
    Scenario(
        Question.LOST_UPDATE,
        (Part(USER, (_add_one("x"),)), Part(PASSER, enters=None), Part(USER, (_add_one("x"),))),
        ("x", (1,)),
    ),
)
