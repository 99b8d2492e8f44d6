"""`CodeRest`: the code that can still run from a place on, in a form that does not depend on where it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from optcheck.graph import Graph
from optcheck.join_targets import Stack
from optcheck.loop_body import Body

TABLES = ("BRX", "JMX")


class CodeRest(NamedTuple):
    """Equal keys mean equal code. `places` are its instructions in the order of the key, by index."""

    key: tuple[object, ...]  # instructions by identity: whoever keeps a key must keep the instructions
    places: list[int]


class _Piece(NamedTuple):
    """Code without branches to or from its middle."""

    key: tuple[object, ...]
    places: range
    named: list[int]  # the places that its instructions name
    following: list[int]


class CodeRests:
    """Finds what can still run in one function."""

    def __init__(self, graph: Graph, bodies: Mapping[int, Body]) -> None:
        self.graph = graph
        self.bodies = bodies
        self.identities = graph.function.identities
        self._pieces: dict[int, _Piece | None] = {}  # by their first instructions
        self._naming: dict[int, list[int]] = {}  # by block: the instructions that name other places
        for index in graph.function.named_targets:
            self._naming.setdefault(graph.block_of[index], []).append(index)

    def find(
        self, index: int, heads: Mapping[int, tuple[Mapping[str, int], Stack]], barriers: Mapping[str, int]
    ) -> CodeRest | None:
        """The code from an index on up to the heads of the loops that were entered; None if it uses a table or a stack.

        `heads` are those loops, and `barriers` where threads will meet, with the places where they meet.
        """
        starts = self.graph.starts
        numbers = {index: 0}  # places get numbers in the order in which they are met
        keys: list[object] = []
        order: list[int] = []
        places: list[int] = []
        seen = {index, *[starts[head] for head in heads]}
        waiting = [index]
        while waiting:
            piece = self._find_piece(waiting.pop())
            if piece is None:
                return None
            key, inside, named, following = piece
            keys += key
            places += inside
            order += [numbers.setdefault(place, len(numbers)) for place in named]
            order += [numbers.setdefault(place, len(numbers)) for place in following]
            for place in following:
                if place not in seen:
                    seen.add(place)
                    waiting.append(place)
        if any(stack for _, stack in heads.values()):
            return None
        entered = [(numbers.get(starts[head]), _number(where, numbers)) for head, (where, _) in heads.items()]
        return CodeRest((*keys, *order, *entered, _number(barriers, numbers)), places)

    def _find_piece(self, start: int) -> _Piece | None:
        """The instructions from a place to the end of its block; None if they use a table."""
        if start not in self._pieces:
            self._pieces[start] = self._make_piece(start) if start < len(self.identities) else None
        return self._pieces[start]

    def _make_piece(self, start: int) -> _Piece | None:
        graph, function = self.graph, self.graph.function
        block = graph.block_of[start]
        end = graph.ends[block]
        if function.instructions[end - 1].opcode.startswith(TABLES):
            return None
        named = {at: function.targets_of(at) or [] for at in self._naming.get(block, ()) if at >= start}
        following = [graph.starts[successor] for successor in graph.successors[block]]
        key = (
            self.identities[start:end],
            self.bodies.get(block) if start == graph.starts[block] else None,
            tuple([(at - start, len(targets)) for at, targets in named.items()]),
            len(following),
        )
        return _Piece(key, range(start, end), [place for targets in named.values() for place in targets], following)


def _number(barriers: Mapping[str, int], numbers: dict[int, int]) -> tuple[tuple[str, int], ...]:
    """Where threads meet, by the numbers of the places."""
    return tuple([(name, numbers.setdefault(place, len(numbers))) for name, place in sorted(barriers.items())])
