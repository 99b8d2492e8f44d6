"""Patterns that cycles conform to."""

from __future__ import annotations

from dataclasses import dataclass

from gpudiy.diy.cycle import Cycle
from gpudiy.diy.edge import Edge, End
from gpudiy.diy.vocabulary import WORD, EdgeNames, parse_name

ANY_NUMBER = "..."


@dataclass(frozen=True, slots=True)
class Pattern:
    """A cycle written with wildcards: each step is a set of edges, or None for any number of edges.

    A cycle conforms when the whole of it, begun at some edge, can be read so.
    """

    steps: tuple[tuple[Edge, ...] | None, ...]

    def matches(self, cycle: Cycle) -> bool:
        return any(self._reads(cycle[start:] + cycle[:start]) for start in range(len(cycle)))

    def _reads(self, cycle: Cycle) -> bool:
        """Which steps can have been taken after each edge, from left to right."""
        reached = self._skipped({0})
        for edge in cycle:
            after: set[int] = set()
            for step in reached:
                if step < len(self.steps):
                    wanted = self.steps[step]
                    if wanted is None:
                        after.add(step)
                    elif any(agrees(edge, one) for one in wanted):
                        after.add(step + 1)
            reached = self._skipped(after)
        return len(self.steps) in reached

    def _skipped(self, reached: set[int]) -> set[int]:
        """The gaps `...` may be empty."""
        found = set(reached)
        for step in range(len(self.steps)):
            if step in found and self.steps[step] is None:
                found.add(step + 1)
        return found


def parse_pattern(text: str, source: str = "<pattern>") -> Pattern:
    """A pattern such as `Rfe ... Fre`; raises `EdgeError` at a word that is no edge."""
    steps: list[tuple[Edge, ...] | None] = []
    for word in WORD.finditer(text):
        if word[0] == ANY_NUMBER:
            steps.append(None)
        else:
            names: EdgeNames = parse_name(word[0], text, word.start(), source)
            steps.append(names.edges)
    return Pattern(tuple(steps))


def agrees(edge: Edge, wanted: Edge) -> bool:
    """Whether the edge is the wanted one, whose open ends agree with anything."""
    if type(edge) is not type(wanted):
        return False
    return edge.name.split("-")[:2] == wanted.name.split("-")[:2] and all(
        _fits(end, open_end) for end, open_end in ((edge.source, wanted.source), (edge.target, wanted.target))
    )


def _fits(end: End, wanted: End) -> bool:
    return end.direction == wanted.direction and wanted.space in ("", end.space) and wanted.mark in ("", end.mark)
