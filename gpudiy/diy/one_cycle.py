"""Reading one cycle from the names of its edges."""

from __future__ import annotations

from dataclasses import replace

from gpudiy.diy.cycle import Cycle, CycleLimits, composes, fault_of_cycle
from gpudiy.diy.edge import ATOMIC_MARK, DEFAULT_MARKS, Edge, End, ProgramOrder, fault_of
from gpudiy.diy.vocabulary import WORD, EdgeError, parse_sequence

ANY_SIZE = CycleLimits(edges=20, threads=20, least_threads=1)


def parse_cycle(text: str, source: str = "<cycle>") -> Cycle:
    """The cycle of these edges; an open end is filled from its neighbour, or with the default.

    The cycle need not be critical: it may have two communications in a row, as CoWR has. Raises `EdgeError` if the
    names do not make one cycle.
    """
    words = list(WORD.finditer(text))
    steps = parse_sequence(text, source)
    if len(steps) < 2:
        raise EdgeError("a cycle has at least two edges", path=source, line=1, column=1, source=text)
    chosen: list[Edge] = []
    for word, step in zip(words, steps, strict=True):
        if len(step.edges) > 1:
            raise _error(
                f"{word[0]!r} means {len(step.edges)} edges; a cycle needs one edge here", text, word.start(), source
            )
        chosen.append(step.edges[0])
    cycle = _fill_ends(chosen)
    for index, edge in enumerate(cycle):
        following = cycle[(index + 1) % len(cycle)]
        fault = fault_of(edge) or (None if composes(edge, following) else f"{following.name} cannot follow {edge.name}")
        if fault is not None:
            raise _error(fault, text, words[(index + 1) % len(words)].start(), source)
    fault = fault_of_cycle(cycle, ANY_SIZE)
    if fault is not None:
        raise _error(f"this is not a cycle: {fault}", text, words[0].start(), source)
    return cycle


def _fill_ends(edges: list[Edge]) -> Cycle:
    """Fill each access from both of its edges; accesses to the same location also share its space."""
    ends = [_join_ends(edges[index - 1], edge) for index, edge in enumerate(edges)]
    count = len(edges)
    for _ in range(2):
        for index, edge in enumerate(edges):
            after = (index + 1) % count
            if edge.same_location:
                space = ends[index].space or ends[after].space
                ends[index] = replace(ends[index], space=ends[index].space or space)
                ends[after] = replace(ends[after], space=ends[after].space or space)
    filled = [_with_defaults(end) for end in ends]
    return tuple(
        replace(
            edge,
            source=_merge_ends(edge.source, filled[index]),
            target=_merge_ends(edge.target, filled[(index + 1) % count]),
        )
        for index, edge in enumerate(edges)
    )


def _join_ends(before: Edge, after: Edge) -> End:
    atomic = any(isinstance(edge, ProgramOrder) and edge.means.atomic for edge in (before, after))
    mark = before.target.mark or after.source.mark or (ATOMIC_MARK if atomic else "")
    return End(after.source.direction, before.target.space or after.source.space, mark)


def _with_defaults(end: End) -> End:
    space = end.space or "g"
    return End(end.direction, space, end.mark or DEFAULT_MARKS[space])


def _merge_ends(end: End, filled: End) -> End:
    return End(end.direction, end.space or filled.space, end.mark or filled.mark)


def _error(message: str, text: str, offset: int, source: str) -> EdgeError:
    return EdgeError(message, path=source, line=1, column=offset + 1, source=text)
