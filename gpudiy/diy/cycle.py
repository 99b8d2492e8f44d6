"""Cycles of edges: which edges may follow each other, and which closed sequences are cycles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gpudiy.diy.edge import LEVELS, READ, Communication, Edge, ProgramOrder

Cycle = tuple[Edge, ...]


@dataclass(frozen=True, slots=True)
class CycleLimits:
    """The largest number of edges, threads and locations of a cycle, and the least number of threads."""

    edges: int = 6
    threads: int = 4
    locations: int | None = None
    least_threads: int = 2


DEFAULT_LIMITS = CycleLimits()  # as in diy


def composes(first: Edge, second: Edge) -> bool:
    """Whether the access that `first` ends at can be the one that `second` starts at."""
    shared = first.target
    if shared != second.source:
        return False
    whole = is_atomic(second if shared.direction == READ else first)
    return shared.atomic == whole  # both halves of an atomic are in the cycle, or none


def may_follow(first: Edge, second: Edge) -> bool:
    """Whether `second` may come right after `first` in a critical cycle.

    Program order and communication alternate, except in Co;Rf and Fr;Rf: any other two edges of the same kind would be
    one edge of a shorter cycle. To their neighbours, the two halves of an atomic are one access.
    """
    if not composes(first, second):
        return False
    if is_atomic(first) or is_atomic(second):
        return True
    if isinstance(first, ProgramOrder):
        return isinstance(second, Communication)
    return isinstance(second, ProgramOrder) or (first.relation != "Rf" and second.relation == "Rf")


def is_atomic(edge: Edge) -> bool:
    """Whether the edge joins the two halves of one atomic."""
    return isinstance(edge, ProgramOrder) and edge.means.atomic


def changes_location(edge: Edge) -> bool:
    """Whether the two accesses of the edge have different locations."""
    return not edge.same_location


def fault_of_cycle(cycle: Sequence[Edge], limits: CycleLimits) -> str | None:
    """Why these edges, each of which can follow the one before, are not a cycle within the limits; None if they are."""
    threads = sum(edge.external for edge in cycle)
    if len(cycle) > limits.edges:
        return f"{len(cycle)} edges, more than {limits.edges}"
    if threads == 1:
        return "one external edge leads to another thread, and none leads back"
    if not any(isinstance(edge, Communication) for edge in cycle):
        return "program order alone never leads back"
    if max(threads, 1) < limits.least_threads:
        return f"fewer than {limits.least_threads} threads"
    if threads > limits.threads:
        return f"{threads} threads, more than {limits.threads}"
    changes = sum(changes_location(edge) for edge in cycle)
    if changes == 1:
        return "one edge changes the location, and none changes it back"
    if limits.locations is not None and max(changes, 1) > limits.locations:
        return f"{changes} locations, more than {limits.locations}"
    if changes == 0 and not any(isinstance(edge, ProgramOrder) and not edge.means.atomic for edge in cycle):
        return "no edge of this cycle is a relaxation"
    if not has_tree(edge.level for edge in cycle if isinstance(edge, Communication) and edge.external):
        return "no scope tree separates the threads like this: the widest level must occur at least twice"
    return None


def has_tree(levels: Iterable[str]) -> bool:
    """Whether some scope tree separates the neighbours in a cycle by exactly these levels.

    Crossing the widest level leaves a group; only a second crossing of that level leads back into it.
    """
    ranks = [LEVELS.index(level) for level in levels]
    return not ranks or ranks.count(max(ranks)) > 1
