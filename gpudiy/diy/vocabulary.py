"""The names of edges: those of the thesis, their extension, and the shorthands of diy."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import product

from gpudiy.diy.edge import (
    ATOMIC_MARK,
    ATOMIC_MARKS,
    DEFAULT_MARKS,
    DIRECTIONS,
    INTERNAL,
    LEVELS,
    MEANS,
    PLAIN_MARKS,
    READ,
    Communication,
    Edge,
    End,
    Means,
    ProgramOrder,
    fault_of,
    is_open,
)
from gpudiy.errors import InputError, near_name
from gpudiy.litmus.access import ACCESS_SCOPES

DEFAULT_LEVEL = "c"
SCOPES = "|".join(scope.word for scope in ACCESS_SCOPES)
MARK = (
    rf"(?:l1|l2|\.weak|\.volatile|\.(?:relaxed|acquire|release)\.(?:{SCOPES})"
    rf"|\.atom(?:_(?:relaxed|acquire|release|acq_rel)\.(?:{SCOPES}))?|\*)"
)
END = rf"([RW*])([gs*]?)({MARK}?)"
RELATION = r"(Rf|Fr|Co|Ws)"
LONG_COMMUNICATION = rf"{RELATION}-([{INTERNAL}{LEVELS}*])(?:-([gs*])(?:({MARK})({MARK}))?)?"
SHORT_COMMUNICATION = rf"{RELATION}([ei])"
LONG_ORDER = rf"([A-Z*][\w.+*]*)-([sd*])-{END}-{END}"
SHORT_ORDER = r"([A-Z][A-Za-z*]*?)([sd*])([RW*]{1,2})"
SHORT_ATOMIC = r"Rmw(Cas|Exch|Add|\*)?"
WORD = re.compile(r"[^\s,]+")


class EdgeError(InputError):
    """A name that is not an edge, or edges that are not a cycle, with its position in the input."""


@dataclass(frozen=True, slots=True)
class EdgeNames:
    """The edges that names mean, some of them open, and whether any name contains a level."""

    edges: tuple[Edge, ...] = ()
    names_levels: bool = False

    def __add__(self, other: EdgeNames) -> EdgeNames:
        return EdgeNames(self.edges + other.edges, self.names_levels or other.names_levels)


def parse_edges(text: str, source: str = "<edges>") -> EdgeNames:
    """Read names of edges, separated by blanks or commas; raises `EdgeError` for an unknown name."""
    found = EdgeNames()
    for words in parse_sequence(text, source):
        found += words
    return found


def parse_sequence(text: str, source: str = "<edges>") -> list[EdgeNames]:
    """The edges of each name, one entry per name."""
    return [parse_name(word[0], text, word.start(), source) for word in WORD.finditer(text)]


def parse_name(name: str, text: str = "", offset: int = 0, source: str = "<edges>") -> EdgeNames:
    """The edges of one name, found at `offset` in `text`."""
    line = text.count("\n", 0, offset) + 1
    start = text.rfind("\n", 0, offset) + 1
    lines = text.split("\n")
    place = {"path": source, "line": line, "column": offset - start + 1, "source": lines[line - 1] or name}
    candidates = list(_candidates(name))
    if not candidates:
        raise EdgeError(f"unknown edge {name!r}", hint=_hint(name), **place)  # type: ignore[arg-type]
    edges = [edge for edge in candidates if fault_of(edge) is None]
    if not edges:
        fault = fault_of(candidates[0])
        raise EdgeError(f"there is no edge {name!r}: {fault}", **place)  # type: ignore[arg-type]
    return EdgeNames(tuple(dict.fromkeys(edges)), "-" in name and isinstance(edges[0], Communication))


def _candidates(name: str) -> Iterator[Edge]:
    """All edges that the name describes, even impossible ones; none if it is not a name."""
    if "-" in name:
        yield from _long_candidates(name)
    elif match := re.fullmatch(SHORT_COMMUNICATION, name):
        level = INTERNAL if match[2] == "i" else DEFAULT_LEVEL
        yield from _communications(match[1], level, "", "", "")
    elif match := re.fullmatch(SHORT_ATOMIC, name):
        kinds = [means for word, means in MEANS.items() if _fits(word, f"Rmw.{(match[1] or '*').lower()}")]
        yield from _orders(kinds, "s", [End("R")], [End("W")])
    elif match := re.fullmatch(SHORT_ORDER, name):
        yield from _short_orders(match[1], match[2], match[3])


def _long_candidates(name: str) -> Iterator[Edge]:
    if match := re.fullmatch(LONG_COMMUNICATION, name):
        yield from _communications(match[1], match[2], match[3] or "", match[4] or "", match[5] or "")
    elif match := re.fullmatch(LONG_ORDER, name):
        kinds = [means for word, means in MEANS.items() if _fits(word, match[1])]
        yield from _orders(kinds, match[2], _ends(*match.group(3, 4, 5)), _ends(*match.group(6, 7, 8)))


def _fits(word: str, pattern: str) -> bool:
    return fnmatchcase(word, pattern) if "*" in pattern else word == pattern


def _communications(relation: str, level: str, space: str, left: str, right: str) -> Iterator[Edge]:
    relation = "Co" if relation == "Ws" else relation
    source, target = DIRECTIONS[relation]
    levels = LEVELS if level == "*" else level
    for choice, one_space in product(levels, "gs" if space == "*" else (space,)):
        for one, other in product(_marks(source, one_space, left), _marks(target, one_space, right)):
            yield Communication(relation, choice, End(source, one_space, one), End(target, one_space, other))


def _orders(kinds: list[Means], place: str, sources: list[End], targets: list[End]) -> Iterator[Edge]:
    for means, location in product(kinds, "sd" if place == "*" else place):
        if means.atomic and location == "d" and place == "*":
            continue
        for source, target in product(sources, targets):
            if means.atomic:  # two halves of one instruction have the same mark
                mark = source.mark or target.mark
                source, target = replace(source, mark=source.mark or mark), replace(target, mark=target.mark or mark)
            yield ProgramOrder(means, location == "s", source, target)


def _short_orders(stem: str, place: str, directions: str) -> Iterator[Edge]:
    kinds = [means for word, means in STEMS.items() if _fits(word, stem)]
    if all(means.dependency for means in kinds):
        if len(directions) == 2 and directions[0] not in "R*":
            return
        directions = READ + directions[-1]
    if len(directions) == 2:
        yield from _orders(kinds, place, _ends(directions[0], "", ""), _ends(directions[1], "", ""))


def _ends(direction: str, space: str, mark: str) -> list[End]:
    return [
        End(one, one_space, one_mark)
        for one in ("RW" if direction == "*" else direction)
        for one_space in ("gs" if space == "*" else (space,))
        for one_mark in _marks(one, one_space, mark)
    ]


def _marks(direction: str, space: str, mark: str) -> tuple[str, ...]:
    if mark != "*":
        return (mark,)
    return PLAIN_MARKS[direction][2:] if space == "s" else PLAIN_MARKS[direction]


def _stems() -> dict[str, Means]:
    """Shorthands of program-order edges without location and directions: PodWR is Po, MembarGldWW is MembarGl."""
    stems = {"Po": MEANS["Po"], "Bar": MEANS["Bar"]}
    for means in MEANS.values():
        if means.fence is not None:
            words = re.sub(r"^M", "Membar.", means.name.removeprefix("Ctrl+"))
            stem = "".join(word.capitalize() for word in re.split(r"[._]", words))
            stems |= {f"Ctrl{stem}": means, f"DpCtrl{stem}": means} if means.dependency else {stem: means}
        elif means.dependency:
            stems[means.name] = means
    return stems


STEMS = _stems()


def fill_open_ends(edges: Iterable[Edge], among: Iterable[Edge] | None = None) -> tuple[Edge, ...]:
    """The edges with their open ends filled, without repetitions; `among` is the whole set of edges, if it is larger.

    An open end means every access of its direction and space that an edge of the set states; if there is none, the
    default: global, `.cg`. The halves of atomics count as such accesses.
    """
    given = list(dict.fromkeys(edges))
    marks_of = _collect_marks(given if among is None else list(among))
    filled = (full for edge in given for full in _fill_edge(edge, marks_of))
    return tuple(dict.fromkeys(edge for edge in filled if fault_of(edge) is None))


SpeltMarks = dict[tuple[str, str], list[str]]


def _collect_marks(edges: list[Edge]) -> SpeltMarks:
    """The marks that edges state for each direction and space."""
    marks_of: SpeltMarks = {}
    for edge in edges:
        atomic = isinstance(edge, ProgramOrder) and edge.means.atomic
        for end in (edge.source, edge.target):
            mark = end.mark or (ATOMIC_MARK if atomic else "")
            spaces = end.space or ("g" if mark else "")
            if mark and spaces:
                marks_of.setdefault((end.direction, spaces), []).append(mark)
            elif end.space:
                marks_of.setdefault((end.direction, end.space), [])
    return marks_of


def _fill_edge(edge: Edge, marks_of: SpeltMarks) -> Iterator[Edge]:
    if not is_open(edge):
        yield edge
        return
    atomic = isinstance(edge, ProgramOrder) and edge.means.atomic
    for source, target in product(_fill_end(edge.source, marks_of, atomic), _fill_end(edge.target, marks_of, atomic)):
        if isinstance(edge, Communication) and source.space != target.space:
            continue
        yield replace(edge, source=source, target=target)


def _fill_end(end: End, marks_of: SpeltMarks, atomic: bool) -> Iterator[End]:
    if not end.open:
        yield end
        return
    spaces = end.space or "".join(space for space in "gs" if (end.direction, space) in marks_of) or "g"
    for space in spaces:
        marks = dict.fromkeys(marks_of.get((end.direction, space), ()))
        atomics = [mark for mark in marks if mark.startswith(ATOMIC_MARK)]
        plain = [mark for mark in marks if not mark.startswith(ATOMIC_MARK)] or [DEFAULT_MARKS[space]]
        if end.mark:
            yield End(end.direction, space, end.mark)
        elif atomic:
            yield from (End(end.direction, space, mark) for mark in atomics or [ATOMIC_MARK])
        else:
            yield from (End(end.direction, space, mark) for mark in plain + atomics)


def vocabulary() -> Iterator[Edge]:
    """Every edge, with all its accesses filled in."""
    ends = {
        direction: [
            End(direction, space, mark) for space in "gs" for mark in (*_marks(direction, space, "*"), *ATOMIC_MARKS)
        ]
        for direction in "RW"
    }
    for relation, (source, target) in DIRECTIONS.items():
        for level, one, other in product(INTERNAL + LEVELS, ends[source], ends[target]):
            if one.space == other.space and (one.space == "g" or level in "itw"):
                yield Communication(relation, level, one, other)
    for means, same in product(MEANS.values(), (True, False)):
        for source, target in product("RW", "RW"):
            for one, other in product(ends[source], ends[target]):
                edge = ProgramOrder(means, same, one, other)
                if fault_of(edge) is None:
                    yield edge


def outline() -> Iterator[tuple[str, str, str]]:
    """Name, shorthand and meaning of every edge, with open accesses."""
    for relation in DIRECTIONS:
        for level in INTERNAL + LEVELS:
            one, other = (End(direction) for direction in DIRECTIONS[relation])
            edge = Communication(relation, level, one, other)
            shorthand = {INTERNAL: f"{relation}i", DEFAULT_LEVEL: f"{relation}e"}.get(level, "")
            yield f"{relation}-{level}", shorthand, edge.meaning
    stems = {means.name: stem for stem, means in STEMS.items()}
    for means, same in product(MEANS.values(), (True, False)):
        for source, target in product("RW", "RW"):
            order = ProgramOrder(means, same, End(source), End(target))
            if fault_of(order) is not None:
                continue
            directions = target if means.dependency else source + target
            shorthand = f"{stems[means.name]}{'s' if same else 'd'}{directions}" if means.name in stems else ""
            if means.operation is not None:
                shorthand = f"Rmw{means.operation.capitalize()}"
            yield order.name, shorthand, order.meaning


def _hint(name: str) -> str | None:
    """A similar name; one that differs only in upper and lower case is preferred."""
    known = _known_names()
    alike = [word for word in known if word.lower() == name.lower()]
    return near_name(alike[0] if alike else name, known)


def _known_names() -> list[str]:
    """Names for hints: every edge with open accesses and with the accesses of the thesis."""
    known: list[str] = []
    for name, shorthand, _ in outline():
        known += [name, shorthand] if shorthand else [name]
        edges = fill_open_ends(_candidates(name))
        known += [edge.name for edge in edges]
    return known
