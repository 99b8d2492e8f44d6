"""What models say of locks: every question in every setting, each distinct test decided once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from gpudiy.litmus.content import content_hash
from gpudiy.litmus.test import Test
from gpudiy.locks.generation import Case, build_lock_test, list_cases
from gpudiy.locks.lock import Lock
from gpudiy.models.deciding import HowToDecide, decide_pairs
from gpudiy.models.library import load_model
from gpudiy.models.model import Model
from gpudiy.models.verdict import Verdict

LIMIT = 120.0  # seconds for one test
LOOKED_AT = frozenset({"same-warp", "same-cluster"})  # a model without them cannot tell some settings apart


@dataclass(frozen=True, slots=True)
class CaseVerdict:
    """What a model says of one case."""

    case: Case
    model: str
    verdict: Verdict


Key = tuple[str, str]  # what a test means, and a model
Watch = Callable[[Sequence[Key]], Iterable[Key]]  # sees every key when its test is decided


@dataclass(slots=True)
class LockJudge:
    """Remembers the verdict on every test; the names of tests do not matter, only what they mean."""

    models: tuple[str, ...]
    verdicts: dict[Key, Verdict] = field(default_factory=dict)

    def judge(self, lock: Lock) -> list[CaseVerdict]:
        """Everything the models say of a lock."""
        return self.judge_all([lock])

    def judge_all(self, locks: Sequence[Lock], jobs: int = 1, watch: Watch = iter) -> list[CaseVerdict]:
        """Everything the models say of some locks."""
        undecided: dict[Key, tuple[Test, Model]] = {}
        asked: list[tuple[Case, str, Key]] = []
        for lock in locks:
            tests: dict[tuple[object, ...], tuple[str, Test] | None] = {}
            for case in list_cases(lock):
                for model in self.models:
                    found = self._test(case, model, tests)
                    if found is None:
                        continue
                    key = (found[0], model)
                    asked.append((case, model, key))
                    if key not in self.verdicts:
                        undecided.setdefault(key, (found[1], load_model(model)))
        found_verdicts = decide_pairs(list(undecided.values()), HowToDecide(limit=LIMIT), jobs, executions=False)
        for key, verdict in zip(watch(list(undecided)), found_verdicts, strict=True):
            self.verdicts[key] = verdict
        return [CaseVerdict(case, model, self.verdicts[key]) for case, model, key in asked]

    def _test(
        self, case: Case, model: str, tests: dict[tuple[object, ...], tuple[str, Test] | None]
    ) -> tuple[str, Test] | None:
        """The test that answers a case, with the hash of its meaning; None if no thread can take its path."""
        plain = case if LOOKED_AT & load_model(model).inputs.keys() else case.plain
        place = (plain.scenario, plain.setting, plain.retry)
        if place not in tests:
            made = build_lock_test(plain)
            tests[place] = None if made is None else (content_hash(made.test), made.test)
        return tests[place]
