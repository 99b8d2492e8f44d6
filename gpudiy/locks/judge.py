"""The verdicts of models on locks: every question in every setting; each distinct test is decided once."""

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
LOOKED_AT = frozenset({"same-warp", "same-cluster"})  # to a model without them some settings are the same


@dataclass(frozen=True, slots=True)
class CaseVerdict:
    """The verdict of a model on one case."""

    case: Case
    model: str
    verdict: Verdict


def simplify_case(case: Case, models: Sequence[Model]) -> Case:
    """The case without what none of the models looks at."""
    return case if any(LOOKED_AT & model.inputs.keys() for model in models) else case.plain


Key = tuple[str, str]  # the content hash of a test, and a model
Watch = Callable[[Sequence[Key]], Iterable[Key]]  # yields every key when its test is decided


@dataclass(slots=True)
class LockJudge:
    """Remembers the verdict on every test, by its content hash."""

    models: tuple[str, ...]
    verdicts: dict[Key, Verdict] = field(default_factory=dict)

    def judge(self, locks: Sequence[Lock], jobs: int = 1, watch: Watch = iter) -> list[CaseVerdict]:
        """The verdicts of all models on all cases of the locks."""
        undecided: dict[Key, tuple[Test, Model]] = {}
        asked: list[tuple[Case, str, Key]] = []
        for lock in locks:
            tests: dict[tuple[object, ...], tuple[str, Test] | None] = {}
            for case in list_cases(lock):
                for model in self.models:
                    found = self._find_test(case, model, tests)
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

    def _find_test(
        self, case: Case, model: str, tests: dict[tuple[object, ...], tuple[str, Test] | None]
    ) -> tuple[str, Test] | None:
        """The test of a case as the model sees it, with its hash; None if no thread can take its path."""
        plain = simplify_case(case, [load_model(model)])
        place = (plain.scenario, plain.setting, plain.retry)
        if place not in tests:
            made = build_lock_test(plain)
            tests[place] = None if made is None else (content_hash(made.test), made.test)
        return tests[place]
