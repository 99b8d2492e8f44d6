"""From a set of edges to its tests, one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from gpudiy.diy.blueprint import Blueprint, FilledThread
from gpudiy.diy.cycle import DEFAULT_LIMITS, Cycle, CycleLimits
from gpudiy.diy.edge import LEVELS, Communication, Edge, End, ProgramOrder
from gpudiy.diy.enumeration import Alphabet, Word, words
from gpudiy.diy.layout import LOCATION_NAMES, Layout, layout_of
from gpudiy.diy.naming import ThreadName, test_name, thread_name
from gpudiy.diy.placement import Neighbourhood, PlacedThreads, all_trees, widest_tree
from gpudiy.diy.thread_code import ThreadCode, observer_code, thread_code
from gpudiy.litmus.access import Scope
from gpudiy.litmus.instruction import Fence, FenceKind

if TYPE_CHECKING:
    from gpudiy.diy.pattern import Pattern

REMEMBERED = 1 << 15  # parts of each kind kept; a family needs far fewer
OBSERVER_FENCE = Fence(FenceKind.MEMBAR, Scope.SYS)
Segment = tuple[int, ...]  # the ranks of the edges of one thread


class Trees(StrEnum):
    """Which scope trees a cycle gets: all that its edges allow, or the one with the threads furthest apart."""

    ALL = "all"
    ONE = "one"


@dataclass(frozen=True, slots=True)
class Recipe:
    """What to generate: the edges, those of which one must occur, the limits, and what to make of every cycle.

    `cycles` are made too, whatever the rules of enumeration say of them; they come first.
    """

    edges: tuple[Edge, ...]
    wanted: frozenset[Edge] = frozenset()
    limits: CycleLimits = DEFAULT_LIMITS
    trees: Trees = Trees.ALL
    levels: str = LEVELS
    conform: Pattern | None = None
    cycles: tuple[Cycle, ...] = ()


class _Thread(NamedTuple):
    """A segment and what is known of it in every cycle.

    `core` is what its code depends on: of the edge that leaves the thread only the access it starts at.
    """

    ranks: Segment
    core: tuple[Segment, int]
    edges: tuple[Edge, ...]
    name: ThreadName
    level: int
    barriers: int
    order: tuple[tuple[int, str], tuple[tuple[bool, str, str], Segment]]  # by shape, then by what is inside


class _Plan(NamedTuple):
    """What cycles have in common whose edges differ in nothing that decides locations and values."""

    layout: Layout
    names: str
    values: tuple[tuple[int, ...], ...]
    locations: tuple[tuple[str, ...], ...]
    final: tuple[tuple[str, int], ...]
    samples: tuple[int, ...]  # for every location, one of its accesses
    observed: tuple[int, ...]  # for every observer, the thread whose write it sees last


class Generator:
    """Makes the blueprints of a recipe; keeps parts that tests share, and nothing else."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        spelt_out = [edge for cycle in recipe.cycles for edge in cycle]
        self.edges = tuple(sorted(dict.fromkeys([*recipe.edges, *spelt_out]), key=_edge_order))
        self.names = [edge.name for edge in self.edges]
        self.external = [edge.external for edge in self.edges]
        self.spaces = [edge.source.space for edge in self.edges]
        self.kinds = _kinds(self.edges)
        self.ends: dict[End, int] = {}
        self.threads: dict[Segment, _Thread] = {}
        self.plans: dict[tuple[int, ...], _Plan] = {}
        self.codes: dict[tuple[object, ...], ThreadCode] = {}
        self.filled: dict[tuple[object, ...], FilledThread] = {}
        self.places: dict[tuple[object, ...], tuple[PlacedThreads, ...]] = {}
        self.free = tuple(LEVELS.index(level) for level in LEVELS if level in recipe.levels)

    def blueprints(self) -> Iterator[Blueprint]:
        """Every test of the recipe, each shape once."""
        for word in self.words():
            yield from self.of_word(word)

    def words(self) -> Iterator[Word]:
        """The cycles, as ranks of edges."""
        found = chain(self._spelt_out(), self._enumerated())
        pattern = self.recipe.conform
        return found if pattern is None else (word for word in found if pattern.matches(self.cycle(word)))

    def _spelt_out(self) -> Iterator[Word]:
        ranks = {edge: rank for rank, edge in enumerate(self.edges)}
        for cycle in self.recipe.cycles:
            yield tuple(ranks[edge] for edge in cycle)

    def _enumerated(self) -> Iterator[Word]:
        given = set(self.recipe.edges)
        ranks = [rank for rank, edge in enumerate(self.edges) if edge in given]
        edges = tuple(self.edges[rank] for rank in ranks)
        wanted = frozenset(place for place, edge in enumerate(edges) if edge in self.recipe.wanted)
        found = words(Alphabet(edges, wanted), self.recipe.limits)
        return found if len(edges) == len(self.edges) else (tuple(ranks[place] for place in word) for word in found)

    def cycle(self, word: Iterable[int]) -> Cycle:
        return tuple(self.edges[rank] for rank in word)

    def count(self) -> int:
        """How many tests there are, found without making them."""
        return sum(len(self._trees(threads, plan, turn)) for threads, plan, turn in map(self._arranged, self.words()))

    def of_word(self, word: Word) -> Iterator[Blueprint]:
        """The tests of one cycle: one for every scope tree."""
        threads, plan, turn = self._arranged(word)
        trees = self._trees(threads, plan, turn)
        if not trees:
            return
        ranks = [rank for thread in threads for rank in thread.ranks]
        filled = [self._filled(thread, plan, number) for number, thread in enumerate(threads)]
        filled += self._observers(ranks, plan, len(threads))
        spaces = "".join([self.spaces[ranks[index]] for index in plan.samples])
        mapped = "-" + "".join(map("".join, zip(plan.names, spaces, strict=True))) if "s" in spaces else ""
        name = test_name([thread.name for thread in threads])
        edges = tuple([self.names[rank] for rank in ranks])
        for placed in trees:
            yield Blueprint(f"{name}{placed.suffix}{mapped}", edges, filled, plan.names, spaces, plan.final, placed)

    def _arranged(self, word: Word) -> tuple[list[_Thread], _Plan, int]:
        """The threads of a cycle in their classic order, their plan, and by how many threads the cycle can turn."""
        threads = self._segments(word)
        count = len(threads)
        start = _classic_start(threads)
        threads = threads[start:] + threads[:start]
        turn = count
        if threads.count(threads[0]) > 1:
            turn = next((step for step in range(1, count) if threads[step:] + threads[:step] == threads), count)
        key = tuple([self.kinds[rank] for thread in threads for rank in thread.ranks])
        plan = self.plans.get(key)
        if plan is None:
            _make_room(self.plans)
            plan = self.plans[key] = _plan(self.cycle(rank for thread in threads for rank in thread.ranks))
        return threads, plan, turn

    def _segments(self, word: Word) -> list[_Thread]:
        """The threads of a cycle: each ends where an external edge leaves it, a lone one where it leads back."""
        external = self.external
        cuts = [index for index, rank in enumerate(word, 1) if external[rank]]
        if not cuts:
            cuts = [next(i for i, rank in enumerate(word, 1) if isinstance(self.edges[rank], Communication))]
        turned = word[cuts[-1] :] + word[: cuts[-1]]
        shift = len(word) - cuts[-1]
        ends = [cut + shift for cut in cuts[:-1]] + [len(word)]
        starts = [0, *ends[:-1]]
        return [self._thread(turned[start:end]) for start, end in zip(starts, ends, strict=True)]

    def _thread(self, segment: Segment) -> _Thread:
        thread = self.threads.get(segment)
        if thread is None:
            _make_room(self.threads)
            edges = self.cycle(segment)
            name = thread_name(edges)
            last = edges[-1]
            level = LEVELS.index(last.level) if isinstance(last, Communication) and last.external else -1
            barriers = sum(isinstance(edge, ProgramOrder) and edge.means.barrier for edge in edges)
            order = (name.rank, (name.word_rank, segment))
            core = (segment[:-1], self.ends.setdefault(last.source, len(self.ends)))
            thread = self.threads[segment] = _Thread(segment, core, edges, name, level, barriers, order)
        return thread

    def _trees(self, threads: Sequence[_Thread], plan: _Plan, turn: int) -> tuple[PlacedThreads, ...]:
        levels = tuple([thread.level for thread in threads])
        barriers = tuple([thread.barriers for thread in threads])
        key = (levels, turn, barriers, plan.observed)
        trees = self.places.get(key)
        if trees is None:
            _make_room(self.places)
            if levels == (-1,):
                levels = (0,)  # a thread alone
            neighbourhood = Neighbourhood(levels, turn, barriers, plan.observed, self.free)
            chosen = all_trees if self.recipe.trees is Trees.ALL and len(levels) > 1 else widest_tree
            trees = self.places[key] = chosen(neighbourhood)
        return trees

    def _filled(self, thread: _Thread, plan: _Plan, number: int) -> FilledThread:
        values, locations = plan.values[number], plan.locations[number]
        key = (thread.core, values, number, locations)
        filled = self.filled.get(key)
        if filled is None:
            _make_room(self.filled)
            code = self.codes.get((thread.core, values))
            if code is None:
                _make_room(self.codes)
                code = self.codes[thread.core, values] = thread_code(thread.edges, values)
            filled = self.filled[key] = FilledThread(code, number, locations)
        return filled

    def _observers(self, ranks: Sequence[int], plan: _Plan, first: int) -> list[FilledThread]:
        found: list[FilledThread] = []
        for number, (location, values) in enumerate(plan.layout.observers, first):
            space = self.spaces[ranks[plan.samples[location]]]
            code = observer_code(End("R", space, ".volatile"), values, OBSERVER_FENCE)
            found.append(FilledThread(code, number, (plan.names[location],) * len(values)))
        return found


def blueprint_of_cycle(cycle: Cycle) -> Blueprint:
    """The test of one cycle, in the scope tree with its threads furthest apart."""
    return next(Generator(Recipe((), trees=Trees.ONE, cycles=(cycle,))).blueprints())


def _classic_start(threads: list[_Thread]) -> int:
    """The thread that comes first when a cycle is turned as its classic name wants it, ties broken by the suffix."""
    shapes = [thread.order[0] for thread in threads]
    first = min(shapes)
    starts = [place for place, shape in enumerate(shapes) if shape == first]
    if len(starts) == 1:
        return starts[0]
    words = [thread.order[1] for thread in threads]
    return min(starts, key=lambda start: (shapes[start:] + shapes[:start], words[start:] + words[:start]))


def _plan(cycle: Cycle) -> _Plan:
    layout = layout_of(cycle)
    names = LOCATION_NAMES[: layout.location_count]
    samples = tuple(layout.locations.index(location) for location in range(layout.location_count))
    writers: list[int] = []
    for location, _ in layout.observers:
        last = max(
            (index for index, place in enumerate(layout.locations) if place == location and _writes(cycle, index)),
            key=layout.values.__getitem__,
        )
        writers.append(next(number for number, thread in enumerate(layout.threads) if last in thread))
    return _Plan(
        layout,
        names,
        tuple(layout.values[thread.start : thread.stop] for thread in layout.threads),
        tuple(tuple(names[layout.locations[index]] for index in thread) for thread in layout.threads),
        tuple((names[location], value) for location, value in layout.final),
        samples,
        tuple(writers),
    )


def _writes(cycle: Cycle, index: int) -> bool:
    return cycle[index].source.direction == "W"


def _kinds(edges: Sequence[Edge]) -> list[int]:
    """Numbers for edges, equal where locations and values cannot tell them apart."""
    known: dict[object, int] = {}
    kinds: list[int] = []
    for edge in edges:
        what: object = edge.relation if isinstance(edge, Communication) else edge.means.atomic
        kind = (what, edge.external, edge.same_location, edge.source.direction, edge.target.direction)
        kinds.append(known.setdefault(kind, len(known)))
    return kinds


def _edge_order(edge: Edge) -> tuple[bool, str]:
    return (isinstance(edge, Communication), edge.name)


def _make_room(parts: dict[object, object] | dict) -> None:  # type: ignore[type-arg]
    """Forget the parts made so far when there are too many: they can be made again."""
    if len(parts) >= REMEMBERED:
        parts.clear()
