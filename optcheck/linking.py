"""From the literals in the SASS to the accesses they specify."""

from __future__ import annotations

from dataclasses import dataclass

from optcheck.literal import Literal, decode_literal
from optcheck.sass import ADDS, Touch
from optcheck.specification import AccessKind, ExpectedAccess
from optcheck.values import Values


@dataclass(frozen=True, slots=True)
class Anchor:
    """An instruction that carries a literal: the store of a specification result, or the addition that makes one.

    `value` is the other summand: the value that the access read or stored.
    """

    index: int
    literal: Literal
    value: int
    stored: bool


@dataclass(frozen=True, slots=True)
class Link:
    """The instruction that performs an access, and the word of its result or data."""

    index: int
    word: int


def find_clusters(values: Values) -> list[tuple[Anchor, ...]]:
    """The specifications of threads, one cluster per copy of the code."""
    anchors = _stored_anchors(values) or _added_anchors(values)
    clusters: dict[tuple[int, int, int], list[Anchor]] = {}
    copies: dict[tuple[int, int, int], int] = {}
    for anchor in anchors:
        block = values.graph.block_of[anchor.index]
        place = (anchor.literal.thread, block, anchor.literal.position)
        copy = copies[place] = copies.get(place, -1) + 1
        clusters.setdefault((anchor.literal.thread, block, copy), []).append(anchor)
    return [tuple(cluster) for cluster in clusters.values()]


def _stored_anchors(values: Values) -> list[Anchor]:
    """Try first the stores of registers to which a literal is added; if literals are missing, try all stores."""
    stores = [index for index in values.writes_memory if values.instructions[index].touch is Touch.STORE]
    found = _anchors_among(values, [index for index in stores if values.from_literals(index)])
    if {anchor.literal.encode() for anchor in found} == values.graph.function.literals:
        return found
    return _anchors_among(values, stores)


def _anchors_among(values: Values, stores: list[int]) -> list[Anchor]:
    found = []
    for index in stores:
        words = values.stored_values(index)
        if len(words) == 1:
            constant = values.nodes.constant_part(words[0])
            literal = decode_literal(constant)
            if literal is not None:
                found.append(Anchor(index, literal, values.nodes.without(words[0], constant), True))
    return found


def _added_anchors(values: Values) -> list[Anchor]:
    """Listings that do not store their results, such as those of the thesis, have only the additions."""
    found = []
    for index, instruction in enumerate(values.instructions):
        if instruction.literal is None or instruction.opcode not in (*ADDS, "IMAD"):
            continue
        literal = decode_literal(instruction.literal)
        for name in instruction.writes:
            if literal is not None and name[0] != "P":
                value = values.nodes.without(values.result(index, name), instruction.literal)
                found.append(Anchor(index, literal, value, False))
    return found


class AccessLinker:
    """Finds the accesses of one cluster, among the instructions that can run before its specification."""

    def __init__(self, values: Values, cluster: tuple[Anchor, ...], earlier: list[tuple[Anchor, ...]]) -> None:
        self.values = values
        self.graph = values.graph
        self.end = cluster[0].index
        self.stored = cluster[0].stored
        self.earlier = [other[0].index for other in earlier if self.graph.precedes(other[0].index, self.end)]

    def inside(self, index: int) -> bool:
        """Whether an instruction can belong to this copy of the thread."""
        if not self.stored and self.graph.block_of[index] == self.graph.block_of[self.end]:
            return True
        if not self.graph.precedes(index, self.end):
            return False
        return not any(self.graph.precedes(index, other) for other in self.earlier)

    def find(self, expected: ExpectedAccess, value: int) -> list[Link]:
        """The instructions that read or stored `value`."""
        if expected.kind in (AccessKind.LOAD, AccessKind.ATOMIC):
            return self._find_readers(expected, value)
        return self._find_writers(expected, value)

    def _find_readers(self, expected: ExpectedAccess, value: int) -> list[Link]:
        found: dict[int, Link] = {}
        choices = self.values.nodes.alternatives(value) if expected.conditional else {value}
        for alternative in choices:
            for part in self._narrow(expected, alternative):
                node = self.values.nodes.node(part)
                if node[0] == "loaded" and isinstance(node[2], int) and self.inside(node[1]):
                    found.setdefault(node[1], Link(node[1], node[2]))
        return list(found.values())

    def _narrow(self, expected: ExpectedAccess, value: int) -> set[int]:
        """A result of 64 bits is specified by the sum of its words, one of 16 bits by its extension."""
        if expected.access.type.bits == 32:
            return {value}
        node = self.values.nodes.node(value)
        if expected.access.type.bits == 64 and node[0] == "sum":
            return {atom for atom, _ in node[2]}
        return self.values.nodes.parts(value) if expected.access.type.bits == 16 else {value}

    def _find_writers(self, expected: ExpectedAccess, value: int) -> list[Link]:
        expected_values = {value}
        if expected.conditional:  # the kept value is 0 if nothing was stored
            expected_values = self.values.nodes.alternatives(value)
            expected_values = expected_values - {self.values.nodes.zero} or expected_values
        if expected.access.type.bits == 16:
            expected_values = set().union(*(self.values.nodes.parts(one) for one in expected_values))
        found = []
        for index in self.values.writes_memory:
            if not self.inside(index) or self.values.instructions[index].writes:
                continue
            words = self.values.stored_values(index)
            if expected.access.type.bits == 64 and len(words) > 1:
                total = self.values.nodes.total(words[:2])
                if total in expected_values:
                    found.append(Link(index, 0))
                continue
            found += [Link(index, word) for word, held in enumerate(words) if held in expected_values][:1]
        return found
