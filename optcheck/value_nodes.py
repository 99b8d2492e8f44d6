"""Numbers for values: equal values have equal numbers.

Sums are kept in a normal form, so that `(a + b) + 5` and `a + (b + 5)` are one value.
"""

from __future__ import annotations

from typing import Any

from optcheck.sass import WORD

Node = tuple[Any, ...]  # its kind, then its components


class ValueNodes:
    """The node of each value, by number; `choices` are the possible values at a join of paths."""

    def __init__(self) -> None:
        self.all: list[Node] = []
        self.numbers: dict[Node, int] = {}
        self.choices: dict[int, tuple[int, ...]] = {}
        self.zero = self.number(("number", 0))

    def node(self, value: int) -> Node:
        """The node of a value: its kind and components."""
        return self.all[value]

    def number(self, node: Node) -> int:
        """The number of a node."""
        number = self.numbers.get(node)
        if number is None:
            number = self.numbers[node] = len(self.all)
            self.all.append(node)
        return number

    def sum(self, terms: tuple[tuple[int, int], ...], constant: int = 0) -> int:
        """The sum of values, each times its factor, and a constant."""
        atoms: dict[int, int] = {}
        for value, factor in terms:
            node = self.all[value]
            if node[0] == "number":
                constant += factor * node[1]
            elif node[0] == "sum":
                constant += factor * node[1]
                for atom, inner in node[2]:
                    atoms[atom] = atoms.get(atom, 0) + factor * inner
            else:
                atoms[value] = atoms.get(value, 0) + factor
        left = tuple(sorted((atom, factor & WORD) for atom, factor in atoms.items() if factor & WORD))
        constant &= WORD
        if not left:
            return self.number(("number", constant))
        if left[0][1] == 1 and len(left) == 1 and constant == 0:
            return left[0][0]
        return self.number(("sum", constant, left))

    def without(self, value: int, literal: int) -> int:
        """`value` minus a constant."""
        return self.sum(((value, 1),), -literal)

    def total(self, values: tuple[int, ...]) -> int:
        """The sum of values."""
        return self.sum(tuple((value, 1) for value in values))

    def constant_part(self, value: int) -> int:
        """The constant summand of a value."""
        node = self.all[value]
        if node[0] == "sum":
            return int(node[1])
        return int(node[1]) if node[0] == "number" else 0

    def alternatives(self, value: int) -> set[int]:
        """The possible values of this one, at joins and under predicates."""
        found: set[int] = set()
        seen: set[int] = set()
        waiting = [value]
        while waiting:
            current = waiting.pop()
            if current in seen:
                continue
            seen.add(current)
            node = self.all[current]
            if node[0] == "choice":
                waiting += node[2:]
            elif current in self.choices:
                waiting += self.choices[current]
            else:
                found.add(current)
        return found

    def origins(self, *values: int) -> frozenset[int]:
        """The memory instructions from whose results the values are computed."""
        return frozenset(self.all[value][1] for value in self.parts(*values) if self.all[value][0] == "loaded")

    def parts(self, *values: int) -> set[int]:
        """All values from which the given ones are computed, and these themselves."""
        seen: set[int] = set()
        waiting = list(values)
        while waiting:
            current = waiting.pop()
            if current not in seen:
                seen.add(current)
                waiting += self._children(current)
        return seen

    def _children(self, value: int) -> tuple[int, ...]:
        node = self.all[value]
        match node[0]:
            case "operation" | "effect":
                return tuple(node[3])
            case "sum":
                return tuple(atom for atom, _ in node[2])
            case "choice":
                return tuple(node[1:])
            case "part":
                return (node[2],)
            case "not" | "inverted":
                return (node[1],)
            case "address":
                return tuple(node[2:])
            case _:
                return self.choices.get(value, ())
