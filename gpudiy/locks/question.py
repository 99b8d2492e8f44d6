"""The questions a lock is asked: what threads do inside, and the outcome that must not be."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gpudiy.errors import InputError, near_name
from gpudiy.locks.thread_code import Role, SectionOperation, SectionOperationKind


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
            Question.BROKEN_RMW: "a release breaks an atomic: it lets two in, or is undone",
        }[self]


def find_question(name: str) -> Question:
    """The question of this name; raises `InputError`."""
    names = [question.value for question in Question]
    if name not in names:
        raise InputError(f"unknown question {name!r}", hint=near_name(name, names) or f"questions: {', '.join(names)}")
    return Question(name)


def R(variable: str) -> SectionOperation:  # noqa: N802
    return SectionOperation(SectionOperationKind.READ, variable)


def W(variable: str, value: int) -> SectionOperation:  # noqa: N802
    return SectionOperation(SectionOperationKind.WRITE, variable, value)


def I(variable: str) -> SectionOperation:  # noqa: E743, N802
    return SectionOperation(SectionOperationKind.INCREMENT, variable)


@dataclass(frozen=True, slots=True)
class Part:
    """What one thread does, and what its reads must give for the outcome in question."""

    role: Role
    section: tuple[SectionOperation, ...] = ()
    reads: tuple[int | None, ...] = ()
    enters: bool | None = True  # None: the outcome does not say


@dataclass(frozen=True, slots=True)
class Scenario:
    """A question put to some threads; `finals` are values of a variable of which one must be there at the end.

    If nobody is a holder the lock is free at first. `undone` asks for a lock that is not as its release left it.
    """

    question: Question
    parts: tuple[Part, ...]
    finals: tuple[str, tuple[int, ...]] | None = None
    undone: bool = False
    retries: bool = False  # also asked of a last thread whose first attempt fails
    early: bool = False  # loads inside do not wait for the branch before them, as in figure 2.11


HOLDER, TAKER, USER = Role.HOLDER, Role.TAKER, Role.USER

SCENARIOS = (
    Scenario(Question.MUTUAL_EXCLUSION, (Part(TAKER), Part(TAKER))),
    Scenario(Question.MUTUAL_EXCLUSION, (Part(TAKER), Part(TAKER), Part(TAKER, enters=None))),
    Scenario(
        Question.STALE_VALUE,
        (Part(HOLDER, (W("x", 1),), enters=None), Part(TAKER, (R("x"),), (0,))),
        retries=True,
    ),
    Scenario(
        Question.STALE_VALUE,
        (Part(HOLDER, (W("x", 1),), enters=None), Part(TAKER, (R("x"),), (0,))),
        early=True,
    ),
    Scenario(
        Question.STALE_VALUE,
        (
            Part(HOLDER, (W("x", 1),), enters=None),
            Part(USER, (R("x"), W("y", 1)), (1,), None),
            Part(TAKER, (R("y"), R("x")), (1, 0), None),
        ),
    ),
    Scenario(
        Question.FUTURE_VALUE,
        (Part(HOLDER, (R("x"),), (1,), None), Part(TAKER, (W("x", 1),))),
        retries=True,
    ),
    Scenario(
        Question.FUTURE_VALUE,
        (
            Part(HOLDER, (R("x"), W("z", 1)), (1,), None),
            Part(USER, (R("z"), W("y", 1)), (1,), None),
            Part(TAKER, (R("y"), W("x", 1)), (1,), None),
        ),
    ),
    Scenario(Question.LOST_UPDATE, (Part(USER, (I("x"),)), Part(USER, (I("x"),))), ("x", (1,)), retries=True),
    Scenario(Question.LOST_UPDATE, (Part(USER, (I("x"),)), Part(USER, (I("x"),))), ("x", (1,)), early=True),
    Scenario(
        Question.LOST_UPDATE,
        (Part(HOLDER, (I("x"),), enters=None), Part(USER, (I("x"),)), Part(TAKER, (I("x"),))),
        ("x", (1, 2)),
    ),
    Scenario(
        Question.LEAK_AT_ACQUIRE,
        (Part(HOLDER, (W("x", 1), R("x")), (2,), None), Part(TAKER, (W("x", 2),))),
    ),
    Scenario(
        Question.LEAK_AT_ACQUIRE,
        (
            Part(HOLDER, (W("z", 1), W("x", 1), R("x")), (2,), None),
            Part(USER, (R("z"), W("y", 1)), (1,), None),
            Part(TAKER, (R("y"), W("x", 2)), (1,), None),
        ),
    ),
    Scenario(
        Question.LEAK_AT_RELEASE,
        (Part(HOLDER, (W("x", 1),), enters=None), Part(TAKER, (W("x", 2), R("x")), (1,))),
        retries=True,
    ),
    Scenario(
        Question.LEAK_AT_RELEASE,
        (
            Part(HOLDER, (W("z", 1), W("x", 1)), enters=None),
            Part(USER, (R("z"), W("y", 1)), (1,), None),
            Part(TAKER, (R("y"), W("x", 2), R("x")), (1, 1), None),
        ),
    ),
    Scenario(Question.BROKEN_RMW, (Part(HOLDER, enters=None), Part(TAKER), Part(TAKER))),
    Scenario(Question.BROKEN_RMW, (Part(HOLDER, enters=None), Part(TAKER, enters=False)), undone=True),
)
