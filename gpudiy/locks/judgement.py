"""What models say of a lock: every question in every setting, each distinct test decided once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from gpudiy.litmus.content import content_hash
from gpudiy.litmus.test import Test
from gpudiy.locks.generation import Case, cases, lock_test
from gpudiy.locks.lock import Lock
from gpudiy.models.library import load_model
from gpudiy.models.model import Model
from gpudiy.models.search import OutOfTime
from gpudiy.models.trace import Undecidable
from gpudiy.models.verdict import decide

LIMIT = 120.0  # seconds for one test
LOOKED_AT = frozenset({"same-warp", "same-cluster"})  # what makes settings differ that else are the same to a model


class Word(StrEnum):
    """What a model says of one outcome. Only `forbidden` is fine."""

    ALLOWED = "allowed"
    FORBIDDEN = "forbidden"
    UNSUPPORTED = "unsupported"  # the model gives the lock no meaning
    UNDECIDED = "undecided"  # within the time limit


@dataclass(frozen=True, slots=True)
class Said:
    word: Word
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a model says of one case."""

    case: Case
    model: str
    said: Said


@dataclass(frozen=True, slots=True)
class Task:
    """A test to decide under a model: a value, so that it can be sent to a worker."""

    key: tuple[str, str]
    test: Test
    model: str


def decided(task: Task) -> tuple[tuple[str, str], Said]:
    """What a worker does."""
    return task.key, say(task.test, load_model(task.model))


def say(test: Test, model: Model, limit: float | None = LIMIT) -> Said:
    try:
        return Said(Word(decide(test, model, limit=limit).word))
    except Undecidable as problem:
        return Said(Word.UNSUPPORTED, str(problem))
    except OutOfTime:
        return Said(Word.UNDECIDED, f"no verdict after {limit:g} s" if limit else "")


Key = tuple[str, str]  # what a test means, and a model
Decider = Callable[[Sequence[Task]], Iterable[tuple[Key, Said]]]


@dataclass(slots=True)
class Judge:
    """Remembers what was said of every test; the names of tests do not matter, only what they mean."""

    models: tuple[str, ...]
    said: dict[tuple[str, str], Said] = field(default_factory=dict)

    def judge(self, lock: Lock, decider: Decider | None = None) -> list[Finding]:
        """Everything the models say of a lock."""
        return self.judge_all([lock], decider)

    def judge_all(self, locks: Sequence[Lock], decider: Decider | None = None) -> list[Finding]:
        wanted: dict[tuple[str, str], Task] = {}
        asked: list[tuple[Case, str, tuple[str, str]]] = []
        for lock in locks:
            tests: dict[tuple[object, ...], tuple[str, Test] | None] = {}
            for case in cases(lock):
                for model in self.models:
                    found = self._test(case, model, tests)
                    if found is None:
                        continue
                    key = (found[0], model)
                    asked.append((case, model, key))
                    if key not in self.said:
                        wanted.setdefault(key, Task(key, found[1], model))
        for key, said in (decider or _in_turn)(list(wanted.values())):
            self.said[key] = said
        return [Finding(case, model, self.said[key]) for case, model, key in asked]

    def _test(
        self, case: Case, model: str, tests: dict[tuple[object, ...], tuple[str, Test] | None]
    ) -> tuple[str, Test] | None:
        """The test that answers a case, with the hash of its meaning; None if no thread can take its path."""
        plain = case if LOOKED_AT & load_model(model).inputs.keys() else case.plain
        place = (plain.scenario, plain.setting, plain.retry)
        if place not in tests:
            made = lock_test(plain)
            tests[place] = None if made is None else (content_hash(made.test), made.test)
        return tests[place]


def _in_turn(tasks: Sequence[Task]) -> Iterator[tuple[tuple[str, str], Said]]:
    return map(decided, tasks)


def is_wrong(findings: Iterable[Finding]) -> bool:
    return any(finding.said.word is Word.ALLOWED for finding in findings)
