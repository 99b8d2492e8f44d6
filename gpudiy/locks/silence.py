"""Which accesses of a path change nothing that another thread can see: loads, failed compare-and-swaps, and atomics
that write back the value they read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gpudiy.litmus.arithmetic import modify_value
from gpudiy.litmus.instruction import Atomic, AtomicOperation, Load, Reduce, Store
from gpudiy.locks.path import AccessStep, LockPath
from gpudiy.locks.symbolic_value import (
    FALSE,
    ComparedValues,
    Number,
    ReadValue,
    SymbolicValue,
    list_leaves,
    rebuild,
)

MOST_VALUES = 32
Values = Mapping[str, frozenset[int] | None]  # what each variable can hold; None: more than can be listed


def list_values(paths: Iterable[LockPath], start: Mapping[str, int]) -> Values:
    """What each variable of a lock can hold, if all threads take these paths in any order."""
    writes: dict[str, list[AccessStep]] = {}
    for path in paths:
        for step in path.steps:
            if isinstance(step, AccessStep) and step.writes:
                writes.setdefault(step.variable, []).append(step)
    names = {*writes, *start}
    return {name: _close_values(start.get(name, 0), writes.get(name, ())) for name in names}


def _close_values(start: int, writes: Iterable[AccessStep]) -> frozenset[int] | None:
    """The values that writes can make of a value, if they are few."""
    steps = list({(step.position, step.sources): step for step in writes}.values())
    found, waiting = {start}, [start]
    while waiting:
        old = waiting.pop()
        for step in steps:
            numbers = [source.value for source in step.sources if isinstance(source, Number)]
            if len(numbers) < len(step.sources):
                return None
            new = _write(step, old, numbers)
            if new not in found:
                found.add(new)
                waiting.append(new)
        if len(found) > MOST_VALUES:
            return None
    return frozenset(found)


def is_silent(step: AccessStep, facts: Iterable[ComparedValues], values: Values) -> bool:
    """Whether an access leaves its variable as it is, given the decisions of its path and what variables can hold."""
    match step.instruction:
        case Load():
            return True
        case Store():
            return False
        case Atomic() | Reduce():
            pass
    numbers = [source.value for source in step.sources if isinstance(source, Number)]
    possible = values.get(step.variable)
    if len(numbers) < len(step.sources):
        return _is_failed_swap(step, facts)
    if possible is None:
        if isinstance(step.instruction, Atomic) and step.instruction.operation is AtomicOperation.CAS:
            return _is_failed_swap(step, facts)
        keeps = (AtomicOperation.ADD, AtomicOperation.SUB, AtomicOperation.OR, AtomicOperation.XOR)
        return step.instruction.operation in keeps and numbers == [0]
    about = [] if step.read is None else [fact for fact in facts if step.read in list_leaves(fact)]
    left = [old for old in possible if step.read is None or _can_be(about, step.read, Number(old))]
    return all(_write(step, old, numbers) == old for old in left)


def _write(step: AccessStep, old: int, numbers: list[int]) -> int:
    """What a variable holds after an access."""
    match step.instruction:
        case Load():
            return old
        case Store():
            return numbers[0]
        case Atomic(operation=operation, access=access) | Reduce(operation=operation, access=access):
            new = modify_value(operation, old, numbers, access.type)
            return old if new is None else new


def _is_failed_swap(step: AccessStep, facts: Iterable[ComparedValues]) -> bool:
    """Whether the decisions of a path say that a compare-and-swap read another value than the one it compares with."""
    if not isinstance(step.instruction, Atomic) or step.instruction.operation is not AtomicOperation.CAS:
        return False
    return step.read is not None and not _can_be(facts, step.read, step.sources[0])


def _can_be(facts: Iterable[ComparedValues], read: ReadValue, value: SymbolicValue) -> bool:
    """Whether no fact says that a read value is another one."""

    def change(leaf: SymbolicValue) -> SymbolicValue:
        return value if leaf == read else leaf

    return not any(rebuild(fact, change) == FALSE for fact in facts)
