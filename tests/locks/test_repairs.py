"""Repairs: they mend, nothing weaker does, and they ask for no more than the published ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gpudiy.litmus.instruction import Fence
from gpudiy.locks.judge import LockJudge
from gpudiy.locks.library import list_library
from gpudiy.locks.lock import Lock
from gpudiy.locks.patch import patch_source, write_difference
from gpudiy.locks.path import AccessStep, FenceStep
from gpudiy.locks.repair import Change, LockRepair, Repairer
from gpudiy.locks.source import load_lock, read_lock
from gpudiy.locks.strength import strength_of
from gpudiy.models.library import load_model
from gpudiy.models.verdict import Answer
from locks.known import known, needs_compiler

pytestmark = needs_compiler
BOTH = "ptx-6.0,ptx-asplos15"
ENTRIES = {entry.name: entry for entry in list_library()}
WRONG = [name for name, entry in ENTRIES.items() if entry.wrong]
# Mended by fences under both models; the others by orders, or they have volatile accesses, which ptx-asplos15 leaves
# undecided.
FENCED = [name for name in WRONG if not name.endswith(("cta", "relaxed")) and name != "ticket-unfenced"]
QUICK = [("test-and-set-cta", "ptx-6.0"), ("cuda-by-example", "ptx-asplos15")]
CASES = [
    *QUICK,
    *(pytest.param(name, "ptx-6.0", marks=pytest.mark.heavy) for name in WRONG if (name, "ptx-6.0") not in QUICK),
    *(pytest.param(name, BOTH, marks=pytest.mark.heavy) for name in FENCED),
]


def repairer_of(name: str, models: str) -> Repairer:
    return Repairer(known(name), tuple(map(load_model, models.split(","))))


def strength(lock: Lock) -> int:
    """What the fences and accesses of a lock cost, on the way of a thread that is alone."""
    steps = [step for step in lock.direct.steps if isinstance(step, (AccessStep, FenceStep))]
    return sum(strength_of(lock.program.statements[step.position]).cost for step in steps)


def list_weaker(repair: LockRepair) -> Iterator[list[Change]]:
    """All changes that are one step weaker than a repair."""
    for change in repair.changes:
        others = [other for other in repair.changes if other is not change]
        yield others
        for option in change.site.options:
            if change.strength.includes(option) and option != change.strength:
                yield [*others, Change(change.site, option)]


@pytest.mark.parametrize(("name", "models"), CASES)
def test_repairs_mend_and_nothing_weaker_does(name: str, models: str) -> None:
    repairer = repairer_of(name, models)
    repairs = repairer.find_repairs()
    assert repairs and repairs == sorted(repairs, key=lambda repair: repair.cost)
    published = ENTRIES[name].mended
    assert published is not None
    # The fence behind the release does nothing and stays; the published repair has taken it out.
    assert strength(repairs[0].lock) <= strength(known(published)) + 23 * name.startswith("he-yu")
    for repair in repairs:
        assert repair.changes
        assert not any(repairer.holds(repairer.apply_changes(weaker)) for weaker in list_weaker(repair))
        mended = read_lock(patch_source(known(name).program, repair.changes), known(name).program.path)
        assert {f.verdict.answer for f in LockJudge(tuple(models.split(","))).judge([mended])} == {Answer.FORBIDDEN}


@pytest.mark.parametrize("name", ["he-yu-spinlock-fixed", "ticket", "compare-and-swap"])
def test_there_is_nothing_to_mend_where_nothing_is_wrong(name: str) -> None:
    repairs = repairer_of(name, "ptx-6.0").find_repairs()
    assert [repair.changes for repair in repairs] == [()]


def test_the_published_repair_of_the_spinlock_is_found() -> None:
    """Figure 2.12b: a fence at either end, and an atomic that gives the lock back."""
    program = known("he-yu-spinlock").program
    (repair,) = repairer_of("he-yu-spinlock", BOTH).find_repairs()
    shown = write_difference(program.source, patch_source(program, repair.changes), program.path)
    changed = [
        line.replace(" ", "") for line in shown.split("\n") if line[:1] in ("+", "-") and line[:3] not in ("+++", "---")
    ]
    assert changed == ["+__threadfence();", "-*lockAddr=0;", "+__threadfence();", "+atomicExch(lockAddr,0);"]


@pytest.mark.parametrize("name", ["he-yu-spinlock-fixed", "he-yu-counter-fixed", "cuda-by-example-fixed", "ticket"])
def test_every_fence_of_a_right_lock_is_missed(name: str) -> None:
    """A mutant: take out one fence, and it is wrong by both models."""
    lock = known(name)
    fences = [i for i, statement in enumerate(lock.program.statements) if isinstance(statement.instruction, Fence)]
    assert len(fences) == 2
    for position in fences:
        statements = list(lock.program.statements)
        labels = {label: target - (target > position) for label, target in lock.program.labels.items()}
        del statements[position]
        mutant = lock.change(replace(lock.program, statements=tuple(statements), labels=labels))
        for model in ("ptx-6.0", "ptx-asplos15"):
            assert not Repairer(lock, (load_model(model),)).holds(mutant), (name, position, model)


def test_a_lock_that_no_fence_can_mend_has_no_repair() -> None:
    """Looking and setting are two steps: nothing makes them one."""
    lock = load_lock(str(Path(__file__).parent / "data" / "look-then-set.lock"))
    assert Repairer(lock, (load_model("ptx-asplos15"),)).find_repairs() == []
