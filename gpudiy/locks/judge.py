"""The verdicts of models on locks: every question in every setting; each distinct test is decided once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from gpudiy.litmus.access import Space
from gpudiy.litmus.content import content_hash
from gpudiy.litmus.test import Test
from gpudiy.locks.generation import Case, build_lock_test, list_cases
from gpudiy.locks.lock import Lock
from gpudiy.models.deciding import HowToDecide, decide_pairs
from gpudiy.models.library import load_model
from gpudiy.models.model import Model
from gpudiy.models.verdict import Verdict

EVERY_MODEL = "every model"
LIMIT = 120.0  # seconds for one test
LOOKED_AT = frozenset({"same-warp", "same-cluster"})  # to a model without them some settings are the same
NO_SHARED_MEMORY = "unsupported-shared-memory"  # the flag of a model that does not speak of shared memory
CACHED_IN_L2 = "CG"  # the set of accesses that a model names if it treats them differently from plain ones


@dataclass(frozen=True, slots=True)
class CaseVerdict:
    """The verdict of a model on one case."""

    case: Case
    model: str
    verdict: Verdict


def is_asked(case: Case, model: Model) -> bool:
    """Whether a model is asked about a case: not about shared memory if it does not speak of it and the lock can be
    in global memory, too.
    """
    return not (case.setting.uses_shared_memory and _ignores_shared_memory(model) and Space.GLOBAL in case.lock.spaces)


def list_assumptions(lock: Lock, models: Iterable[str]) -> list[tuple[str, str]]:
    """What the judgements of models on a lock rest on beside the models, each with the name of its model.

    `EVERY_MODEL` stands for what they all rest on.
    """
    found = [(EVERY_MODEL, assumption) for assumption in _describe_bounds(lock)]
    found += [(model, assumption) for model in models for assumption in _describe_assumptions(lock, load_model(model))]
    return found


def format_assumptions(assumptions: Iterable[tuple[str, str]]) -> str:
    """One note per assumption."""
    return "\n".join(
        f"note: assumed: {text}" if model == EVERY_MODEL else f"note: by {model}, {text}" for model, text in assumptions
    )


def assumption_rows(lock: Lock, assumptions: Iterable[tuple[str, str]]) -> Iterator[dict[str, object]]:
    """What `--json` prints: one row per assumption."""
    for model, text in assumptions:
        yield {"lock": lock.name, "by": model, "assumption": text}


def _describe_bounds(lock: Lock) -> list[str]:
    """What the tests of a lock assume about its threads."""
    place = f"threads {lock.placement.what}"
    if lock.intent is None and lock.spaces == (Space.SHARED,):
        place += ", because the lock is in shared memory"
    elif lock.intent is None:
        place += " (--placement states another)"
    found = [f"2 or 3 {place}"]
    if lock.ways:
        found.append("of 3 threads, one or all leave the direct way into the critical section, all in the same way")
    return found


def _describe_assumptions(lock: Lock, model: Model) -> list[str]:
    found = []
    if CACHED_IN_L2 in model.inputs:
        found.append("plain accesses of global memory count as .cg: no L1 cache holds this memory")
    if _ignores_shared_memory(model) and Space.GLOBAL in lock.spaces:
        found.append("settings with shared memory are left out: the model does not cover it")
    return found


def _ignores_shared_memory(model: Model) -> bool:
    return any(flag.name == NO_SHARED_MEMORY for flag in model.unsupported)


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
                    if not is_asked(case, load_model(model)):
                        continue
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
        place = plain.key
        if place not in tests:
            made = build_lock_test(plain)
            tests[place] = None if made is None else (content_hash(made.test), made.test)
        return tests[place]
