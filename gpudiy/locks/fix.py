"""`fix_lock`: the weakest changes that make a lock right; the changed source is read and checked again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpudiy.errors import InputError, format_count
from gpudiy.locks.judge import list_assumptions
from gpudiy.locks.lock import Lock
from gpudiy.locks.patch import CannotRewrite, patch_source, write_difference
from gpudiy.locks.repair import MOST_REPAIRS, Choice, LockRepair, Repairer
from gpudiy.locks.source import PLAIN, Reading, load_lock, read_lock
from gpudiy.models.library import load_model


@dataclass(frozen=True, slots=True)
class CheckedRepair:
    """A repair in words and as a diff of the source.

    `difference` is empty if the changes cannot be written in the source language; `checked` says whether the changed
    source was read again and is right.
    """

    cost: int
    changes: tuple[str, ...]
    difference: str
    checked: bool


@dataclass(frozen=True, slots=True)
class LockFix:
    """How to fix a lock: whether it is right already, else the cheapest repairs, if there are any.

    `unknown` says why it cannot be known whether the lock is right, if that is so.
    """

    lock: Lock
    models: tuple[str, ...]
    right: bool
    repairs: tuple[CheckedRepair, ...] = ()
    unknown: str = ""

    @property
    def assumptions(self) -> list[tuple[str, str]]:
        """What the answer rests on beside the models, each with the name of its model."""
        return list_assumptions(self.lock, self.models)

    def __repr__(self) -> str:
        if self.unknown:
            return f"<{self.lock.name}: unknown by {', '.join(self.models)}>"
        answer = "right" if self.right else f"wrong, {format_count(len(self.repairs), 'repair')}"
        return f"<{self.lock.name}: {answer} by {', '.join(self.models)}>"


def fix_lock(
    lock: Lock | str | Path,
    models: Sequence[str] = ("ptx-6.0",),
    *,
    most: int = MOST_REPAIRS,
    reading: Reading = PLAIN,
    watch: Callable[[Iterator[Choice]], Iterator[Choice]] = iter,
) -> LockFix:
    """The cheapest repairs of a lock; raises `InputError` if a model gives the lock no meaning."""
    loaded = load_lock(lock, reading)
    repairer = Repairer(loaded, tuple(map(load_model, models)), watch=watch)
    unsupported = repairer.find_unsupported()
    if unsupported is not None:
        raise InputError(f"{loaded.name}: {unsupported}", path=loaded.program.path)
    if loaded.fault:
        return LockFix(loaded, tuple(models), right=False)
    if loaded.gaps:  # no change could be checked
        unknown = loaded.gaps[0].text if repairer.holds(loaded) else ""
        return LockFix(loaded, tuple(models), right=False, unknown=unknown)
    found = repairer.find_repairs(most)
    if found and not found[0].changes:
        return LockFix(loaded, tuple(models), right=True)
    repairs = tuple(_check_repair(repairer, repair, reading) for repair in found)
    return LockFix(loaded, tuple(models), right=False, repairs=repairs)


def _check_repair(repairer: Repairer, repair: LockRepair, reading: Reading) -> CheckedRepair:
    program = repairer.lock.program
    changes = tuple(change.text(program) for change in repair.changes)
    try:
        source = patch_source(program, repair.changes)
    except CannotRewrite:
        return CheckedRepair(repair.cost, changes, "", checked=False)
    difference = write_difference(program.source, source, program.path)
    return CheckedRepair(repair.cost, changes, difference, _is_right(repairer, source, reading))


def _is_right(repairer: Repairer, source: str, reading: Reading) -> bool:
    """Whether the changed source, read and compiled again, is right."""
    try:
        lock = read_lock(source, repairer.lock.program.path, reading)
        return not lock.fault and not lock.gaps and repairer.holds(lock)
    except InputError:
        return False
