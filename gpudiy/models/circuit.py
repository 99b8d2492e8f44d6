"""Boolean circuits as clauses for a SAT solver; literals are ints, their negation is `-`."""

from __future__ import annotations

from collections.abc import Iterable

TRUE = 1
FALSE = -1


class Circuit:
    """Gates are made once for equal inputs, and constants are folded away."""

    def __init__(self) -> None:
        self.variables = 1
        self.clauses: list[list[int]] = [[TRUE]]
        self._gates: dict[tuple[int, ...], int] = {}

    def variable(self) -> int:
        self.variables += 1
        return self.variables

    def add(self, clause: Iterable[int]) -> None:
        literals = [literal for literal in clause if literal != FALSE]
        if TRUE not in literals:
            self.clauses.append(literals)

    def both(self, one: int, other: int) -> int:
        if one == FALSE or other == FALSE or one == -other:
            return FALSE
        if one in (TRUE, other):
            return other
        if other == TRUE:
            return one
        key = (one, other) if one < other else (other, one)
        gate = self._gates.get(key)
        if gate is None:
            self.variables += 1
            gate = self._gates[key] = self.variables
            self.clauses += [[-gate, one], [-gate, other], [gate, -one, -other]]
        return gate

    def either(self, one: int, other: int) -> int:
        return -self.both(-one, -other)

    def any(self, literals: Iterable[int]) -> int:
        found = sorted({literal for literal in literals if literal != FALSE})
        if not found:
            return FALSE
        if TRUE in found or any(-literal in found for literal in found if literal > 0):
            return TRUE
        if len(found) == 1:
            return found[0]
        key = (0, *found)
        gate = self._gates.get(key)
        if gate is None:
            self.variables += 1
            gate = self._gates[key] = self.variables
            self.clauses.append([-gate, *found])
            self.clauses += [[gate, -literal] for literal in found]
        return gate

    def imply(self, ways: Iterable[tuple[int, ...]]) -> int:
        """A literal that is true where all literals of one of the ways are, and perhaps elsewhere."""
        left = []
        for way in ways:
            if FALSE in way:
                continue
            way = tuple(literal for literal in way if literal != TRUE)
            if not way:
                return TRUE
            left.append(way)
        if not left:
            return FALSE
        if len(left) == 1 and len(left[0]) == 1:
            return left[0][0]
        gate = self.variable()
        self.clauses += [[*(-literal for literal in way), gate] for way in left]
        return gate

    def all(self, literals: Iterable[int]) -> int:
        return -self.any(-literal for literal in literals)

    def exactly_one(self, literals: list[int]) -> None:
        self.add(literals)
        for index, one in enumerate(literals):
            for other in literals[index + 1 :]:
                self.add((-one, -other))
