"""Relations as sets of pairs, slowly and plainly: what the algebra of the models must agree with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

from hypothesis import strategies as st

Pairs = frozenset[tuple[int, int]]
Events = frozenset[int]

SET_NAMES = ("R", "W", "F")
RELATION_NAMES = ("po", "loc", "rf", "co")
LOOSEST_FIRST = ("|", ";", "\\", "&", "*")


@dataclass(frozen=True, slots=True)
class Tree:
    """An expression of the cat language; an operator without parts is a name."""

    operator: str
    parts: tuple[Tree, ...] = ()


@dataclass(frozen=True, slots=True)
class World:
    """Some events, and what the names mean."""

    size: int
    names: dict[str, Pairs | Events]

    def value(self, tree: Tree) -> Pairs | Events:
        parts = [self.value(part) for part in tree.parts]
        if len(parts) == 2:
            return BINARY[tree.operator](*parts)
        match tree.operator:
            case "[]":
                return frozenset((event, event) for event in parts[0])
            case "set ~":
                return frozenset(range(self.size)) - parts[0]
            case "~":
                return frozenset(product(range(self.size), repeat=2)) - parts[0]
            case "^-1":
                return frozenset((target, source) for source, target in parts[0])
            case "+":
                return closed(parts[0])
            case "?":
                return parts[0] | self.identity
            case "reflexive +":
                return closed(parts[0]) | self.identity
            case "domain":
                return frozenset(source for source, _ in parts[0])
            case "range":
                return frozenset(target for _, target in parts[0])
        return self.names[tree.operator]

    @property
    def identity(self) -> Pairs:
        return frozenset((event, event) for event in range(self.size))


def composed(left: Pairs, right: Pairs) -> Pairs:
    return frozenset((one, three) for one, two in left for other, three in right if two == other)


def closed(relation: Pairs) -> Pairs:
    while (more := relation | composed(relation, relation)) != relation:
        relation = more
    return relation


def has_cycle(relation: Pairs) -> bool:
    """By depth-first search."""
    following: dict[int, list[int]] = {}
    for source, target in relation:
        following.setdefault(source, []).append(target)
    finished: set[int] = set()

    def visit(event: int, path: frozenset[int]) -> bool:
        if event in path:
            return True
        if event in finished:
            return False
        found = any(visit(target, path | {event}) for target in following.get(event, ()))
        finished.add(event)
        return found

    return any(visit(event, frozenset()) for event in list(following))


BINARY: dict[str, Callable] = {
    "|": frozenset.union,
    "&": frozenset.intersection,
    "\\": frozenset.difference,
    ";": composed,
    "*": lambda left, right: frozenset(product(left, right)),
}


def text_of(tree: Tree, loosest: int = 0) -> str:
    """The expression with no more parentheses than it needs where operators from `loosest` on may stand bare."""
    operator, parts = tree.operator, tree.parts
    if not parts:
        return operator
    if operator == "[]":
        return f"[{text_of(parts[0])}]"
    if operator in ("domain", "range"):
        return f"{operator}({text_of(parts[0])})"
    tightest = len(LOOSEST_FIRST)
    if operator in LOOSEST_FIRST and len(parts) == 2:
        level = LOOSEST_FIRST.index(operator)
        text = f"{text_of(parts[0], level)} {operator} {text_of(parts[1], level + 1)}"
        return f"({text})" if level < loosest else text
    if operator in ("~", "set ~"):
        text = f"~{text_of(parts[0], tightest)}"
        return f"({text})" if loosest > tightest else text
    postfix = "*" if operator == "reflexive +" else operator
    return f"{text_of(parts[0], tightest + 1)}{postfix}"


def set_trees(depth: int) -> st.SearchStrategy[Tree]:
    names = st.sampled_from(SET_NAMES).map(Tree)
    if depth == 0:
        return names
    smaller = set_trees(depth - 1)
    binary = st.builds(Tree, st.sampled_from("|&\\"), st.tuples(smaller, smaller))
    ends = st.builds(Tree, st.sampled_from(["domain", "range"]), st.tuples(relation_trees(depth - 1)))
    return names | binary | ends | st.builds(Tree, st.just("set ~"), st.tuples(smaller))


def relation_trees(depth: int) -> st.SearchStrategy[Tree]:
    names = st.sampled_from(RELATION_NAMES).map(Tree)
    if depth == 0:
        return names
    smaller, sets = relation_trees(depth - 1), set_trees(depth - 1)
    binary = st.builds(Tree, st.sampled_from("|&\\;"), st.tuples(smaller, smaller))
    unary = st.builds(Tree, st.sampled_from(["~", "^-1", "+", "?", "reflexive +"]), st.tuples(smaller))
    from_sets = st.builds(Tree, st.just("*"), st.tuples(sets, sets)) | st.builds(Tree, st.just("[]"), st.tuples(sets))
    return names | binary | unary | from_sets


@st.composite
def worlds(draw: st.DrawFn, largest: int = 5) -> World:
    size = draw(st.integers(1, largest))
    event = st.integers(0, size - 1)
    names: dict[str, Pairs | Events] = {name: draw(st.frozensets(event)) for name in SET_NAMES}
    names |= {name: draw(st.frozensets(st.tuples(event, event), max_size=2 * size)) for name in RELATION_NAMES}
    return World(size, names)
