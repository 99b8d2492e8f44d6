"""Threads that do the same: of executions that differ only in which of them does what, one is enough.

Two threads are interchangeable if they have the same code, the same registers, and the same place in the scope tree
relative to all others. What a model says does not change when such threads are renamed. So only executions are looked
for in which interchangeable threads are in order: first by the paths they take, then, on the same path, by the
coherence order of a write that each of them does, or by what they read from if they do not write at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, product

from gpudiy.litmus.condition import Expression, FinalRegister, Observable, Term, Value, map_terms
from gpudiy.litmus.outcome import FinalState, Outcome
from gpudiy.litmus.test import Test
from gpudiy.models.question import conjuncts

Classes = list[list[int]]  # interchangeable threads, in order; at least two in each class


def interchangeable_threads(test: Test, expressions: Sequence[Expression | None]) -> Classes:
    """The classes of threads that can be renamed without changing the test or what the expressions say."""
    classes: Classes = []
    for thread, code in enumerate(test.threads):
        for known in classes:
            if test.threads[known[0]] == code and _can_swap(test, known[0], thread, expressions):
                known.append(thread)
                break
        else:
            classes.append([thread])
    return [known for known in classes if len(known) > 1]


def _can_swap(test: Test, one: int, other: int, expressions: Sequence[Expression | None]) -> bool:
    declared = [[(d.name, d.type, d.initial) for d in test.registers_of(thread)] for thread in (one, other)]
    if declared[0] != declared[1]:
        return False
    placements = test.scope_tree.placements
    for third, placement in enumerate(placements):
        if third not in (one, other):
            for here, there, mine in zip(placements[one], placements[other], placement, strict=True):
                if (here == mine) != (there == mine):
                    return False

    def swap(term: Term) -> Term:
        if isinstance(term, FinalRegister) and term.thread in (one, other):
            return FinalRegister(other if term.thread == one else one, term.name)
        return term

    for expression in expressions:
        if expression is not None and set(conjuncts(map_terms(expression, swap))) != set(conjuncts(expression)):
            return False
    return True


def in_order(classes: Classes, paths: Sequence[int]) -> bool:
    """Whether interchangeable threads take paths in the order of their numbers."""
    return all(paths[one] <= paths[other] for known in classes for one, other in pairwise(known))


def same_paths(classes: Classes, paths: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Neighbours in a class that take the same path."""
    for known in classes:
        for one, other in pairwise(known):
            if paths[one] == paths[other]:
                yield one, other


def observed_of_all(classes: Classes, observed: Sequence[object]) -> list[FinalRegister]:
    """The observed registers of interchangeable threads, of all of them if of one."""
    found: dict[FinalRegister, None] = {}
    for known in classes:
        names = dict.fromkeys(t.name for t in observed if isinstance(t, FinalRegister) and t.thread in known)
        found |= dict.fromkeys(FinalRegister(thread, name) for thread in known for name in names)
    return list(found)


def renamed_outcomes(
    classes: Classes, observed: Sequence[Observable], state: FinalState
) -> Iterator[tuple[dict[int, int], Outcome]]:
    """The outcome of a state with interchangeable threads renamed in every way that makes a difference; its own first.

    Each comes with who does whose part: thread → thread.
    """
    members = {thread: known for known in classes for thread in known}
    shown: list[tuple[int, dict[int, Value]]] = []  # for each observed term its thread, and what it shows in which part
    for term in observed:
        if isinstance(term, FinalRegister) and term.thread in members:
            parts = members[term.thread]
            shown.append((term.thread, {part: state[FinalRegister(part, term.name)] for part in parts}))
        else:
            shown.append((-1, {-1: state[term]}))
    ways = [list(_arrangements(known, state)) for known in classes]
    for chosen in product(*ways):
        renamed = {thread: part for way in chosen for thread, part in way.items()}
        renamed[-1] = -1
        yield renamed, tuple([values[renamed[thread]] for thread, values in shown])


def _arrangements(known: list[int], state: FinalState) -> Iterator[dict[int, int]]:
    """Who does whose part, once for each arrangement of what the threads show."""
    groups: dict[object, list[int]] = {}  # threads that show the same
    for thread in known:
        registers = [term for term in state if isinstance(term, FinalRegister) and term.thread == thread]
        shown = tuple(sorted((term.name, str(state[term])) for term in registers))
        groups.setdefault(shown, []).append(thread)
    yield from _arrange(known, list(groups.values()), {})


def _arrange(known: list[int], groups: list[list[int]], parts: dict[int, int]) -> Iterator[dict[int, int]]:
    if len(parts) == len(known):
        yield dict(parts)
        return
    thread = known[len(parts)]
    for group in groups:
        if group:
            parts[thread] = group.pop(0)
            yield from _arrange(known, groups, parts)
            group.insert(0, parts.pop(thread))
