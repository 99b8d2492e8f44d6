"""Patterns of cycles, for the option `conform`."""

from __future__ import annotations

from dataclasses import dataclass

from gpudiy.diy.cycle import Cycle
from gpudiy.diy.edge import Edge, End
from gpudiy.diy.vocabulary import WORD, parse_name

ANY_NUMBER = "..."


@dataclass(frozen=True, slots=True)
class Pattern:
    """A cycle with wildcards: each step is a set of edges, or None for any number of edges.

    A cycle matches if one of its rotations matches all steps.
    """

    steps: tuple[tuple[Edge, ...] | None, ...]

    def matches(self, cycle: Cycle) -> bool:
        return any(self._matches_from_start(cycle[start:] + cycle[:start]) for start in range(len(cycle)))

    def _matches_from_start(self, cycle: Cycle) -> bool:
        """Follow all steps that can be reached after each edge, from left to right."""
        reached = self._skip_gaps({0})
        for edge in cycle:
            after: set[int] = set()
            for step in reached:
                if step < len(self.steps):
                    expected = self.steps[step]
                    if expected is None:
                        after.add(step)
                    elif any(agrees(edge, one) for one in expected):
                        after.add(step + 1)
            reached = self._skip_gaps(after)
        return len(self.steps) in reached

    def _skip_gaps(self, reached: set[int]) -> set[int]:
        """Also pass over `...`, which may be empty."""
        found = set(reached)
        for step in range(len(self.steps)):
            if step in found and self.steps[step] is None:
                found.add(step + 1)
        return found


def parse_pattern(text: str, source: str = "<pattern>") -> Pattern:
    """A pattern such as `Rfe ... Fre`; raises `EdgeError` for a word that is not an edge."""
    steps: list[tuple[Edge, ...] | None] = []
    for word in WORD.finditer(text):
        if word[0] == ANY_NUMBER:
            steps.append(None)
        else:
            steps.append(parse_name(word[0], text, word.start(), source).edges)
    return Pattern(tuple(steps))


def agrees(edge: Edge, expected: Edge) -> bool:
    """Whether the edge is the expected one; open ends of the expected edge match anything."""
    if type(edge) is not type(expected):
        return False
    return edge.name.split("-")[:2] == expected.name.split("-")[:2] and all(
        _fits(end, open_end) for end, open_end in ((edge.source, expected.source), (edge.target, expected.target))
    )


def _fits(end: End, expected: End) -> bool:
    return end.direction == expected.direction and expected.space in ("", end.space) and expected.mark in ("", end.mark)
