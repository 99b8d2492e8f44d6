"""The generator: makes the tests of a recipe one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from gpudiy.diy.blueprint import Blueprint, FilledThread
from gpudiy.diy.cycle import DEFAULT_LIMITS, Cycle, CycleLimits
from gpudiy.diy.edge import LEVELS, Communication, Edge, End, ProgramOrder
from gpudiy.diy.enumeration import Alphabet, Word, enumerate_words
from gpudiy.diy.layout import LOCATION_NAMES, Layout, lay_out_cycle
from gpudiy.diy.naming import ThreadName, test_name, thread_name
from gpudiy.diy.placement import Neighbourhood, PlacedThreads, all_trees, widest_tree
from gpudiy.diy.thread_code import ThreadCode, observer_code, thread_code
from gpudiy.litmus.access import Scope
from gpudiy.litmus.instruction import Fence, FenceKind

if TYPE_CHECKING:
    from gpudiy.diy.pattern import Pattern

REMEMBERED = 1 << 15  # most parts of each kind that are kept; a family needs far fewer
OBSERVER_FENCE = Fence(FenceKind.MEMBAR, Scope.SYS)
Segment = tuple[int, ...]  # the ranks of the edges of one thread


class Trees(StrEnum):
    """Which scope trees a cycle gets: all that its edges allow, or the one with the threads furthest apart."""

    ALL = "all"
    ONE = "one"


@dataclass(frozen=True, slots=True)
class Recipe:
    """What to generate: edges, limits and scope trees; every enumerated cycle has a `required` edge, if there are any.

    The tests of `cycles` come first; these need not follow the rules of enumeration.
    """

    edges: tuple[Edge, ...]
    required: frozenset[Edge] = frozenset()
    limits: CycleLimits = DEFAULT_LIMITS
    trees: Trees = Trees.ALL
    levels: str = LEVELS
    conform: Pattern | None = None
    cycles: tuple[Cycle, ...] = ()


class _Thread(NamedTuple):
    """A segment with its properties, which are the same in every cycle.

    `core` determines its code: of the edge that leaves the thread, only the first access matters.
    """

    ranks: Segment
    core: tuple[Segment, int]
    edges: tuple[Edge, ...]
    name: ThreadName
    level: int
    barriers: int
    order: tuple[tuple[int, str], tuple[tuple[bool, str, str], Segment]]  # by shape, then by the edges inside


class _Plan(NamedTuple):
    """Locations and values of a cycle; cycles whose edges have the same kinds share a plan."""

    layout: Layout
    names: str
    values: tuple[tuple[int, ...], ...]
    locations: tuple[tuple[str, ...], ...]
    final: tuple[tuple[str, int], ...]
    samples: tuple[int, ...]  # one access per location
    observed: tuple[int, ...]  # per observer, the thread whose write it sees last


class Generator:
    """Makes the blueprints of a recipe and keeps the parts that tests share."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        explicit = [edge for cycle in recipe.cycles for edge in cycle]
        self.edges = tuple(sorted(dict.fromkeys([*recipe.edges, *explicit]), key=_edge_order))
        self.names = [edge.name for edge in self.edges]
        self.external = [edge.external for edge in self.edges]
        self.spaces = [edge.source.space for edge in self.edges]
        self.kinds = _number_kinds(self.edges)
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
            yield from self.blueprints_of_word(word)

    def words(self) -> Iterator[Word]:
        """The cycles, as ranks of edges."""
        found = chain(self._explicit_words(), self._enumerate_words())
        pattern = self.recipe.conform
        return found if pattern is None else (word for word in found if pattern.matches(self.cycle(word)))

    def _explicit_words(self) -> Iterator[Word]:
        ranks = {edge: rank for rank, edge in enumerate(self.edges)}
        for cycle in self.recipe.cycles:
            yield tuple(ranks[edge] for edge in cycle)

    def _enumerate_words(self) -> Iterator[Word]:
        given = set(self.recipe.edges)
        ranks = [rank for rank, edge in enumerate(self.edges) if edge in given]
        edges = tuple(self.edges[rank] for rank in ranks)
        required = frozenset(place for place, edge in enumerate(edges) if edge in self.recipe.required)
        found = enumerate_words(Alphabet(edges, required), self.recipe.limits)
        return found if len(edges) == len(self.edges) else (tuple(ranks[place] for place in word) for word in found)

    def cycle(self, word: Iterable[int]) -> Cycle:
        return tuple(self.edges[rank] for rank in word)

    def count(self) -> int:
        """The number of tests, counted without making them."""
        return sum(
            len(self._find_trees(threads, plan, turn)) for threads, plan, turn in map(self._arrange, self.words())
        )

    def blueprints_of_word(self, word: Word) -> Iterator[Blueprint]:
        """The tests of one cycle, one per scope tree."""
        threads, plan, turn = self._arrange(word)
        trees = self._find_trees(threads, plan, turn)
        if not trees:
            return
        ranks = [rank for thread in threads for rank in thread.ranks]
        filled = [self._fill_thread(thread, plan, number) for number, thread in enumerate(threads)]
        filled += self._make_observers(ranks, plan, len(threads))
        spaces = "".join([self.spaces[ranks[index]] for index in plan.samples])
        mapped = "-" + "".join(map("".join, zip(plan.names, spaces, strict=True))) if "s" in spaces else ""
        name = test_name([thread.name for thread in threads])
        edges = tuple([self.names[rank] for rank in ranks])
        for placed in trees:
            yield Blueprint(f"{name}{placed.suffix}{mapped}", edges, filled, plan.names, spaces, plan.final, placed)

    def _arrange(self, word: Word) -> tuple[list[_Thread], _Plan, int]:
        """The threads of a cycle in their classic order, their plan, and the least rotation that keeps the cycle."""
        threads = self._split_threads(word)
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
            plan = self.plans[key] = _make_plan(self.cycle(rank for thread in threads for rank in thread.ranks))
        return threads, plan, turn

    def _split_threads(self, word: Word) -> list[_Thread]:
        """The threads of a cycle: each ends with an external edge, a single thread with a communication."""
        external = self.external
        cuts = [index for index, rank in enumerate(word, 1) if external[rank]]
        if not cuts:
            cuts = [next(i for i, rank in enumerate(word, 1) if isinstance(self.edges[rank], Communication))]
        turned = word[cuts[-1] :] + word[: cuts[-1]]
        shift = len(word) - cuts[-1]
        ends = [cut + shift for cut in cuts[:-1]] + [len(word)]
        starts = [0, *ends[:-1]]
        return [self._find_thread(turned[start:end]) for start, end in zip(starts, ends, strict=True)]

    def _find_thread(self, segment: Segment) -> _Thread:
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

    def _find_trees(self, threads: Sequence[_Thread], plan: _Plan, turn: int) -> tuple[PlacedThreads, ...]:
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

    def _fill_thread(self, thread: _Thread, plan: _Plan, number: int) -> FilledThread:
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

    def _make_observers(self, ranks: Sequence[int], plan: _Plan, first: int) -> list[FilledThread]:
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
    """The first thread in the order of the classic name, ties broken by the suffix."""
    shapes = [thread.order[0] for thread in threads]
    first = min(shapes)
    starts = [place for place, shape in enumerate(shapes) if shape == first]
    if len(starts) == 1:
        return starts[0]
    words = [thread.order[1] for thread in threads]
    return min(starts, key=lambda start: (shapes[start:] + shapes[:start], words[start:] + words[:start]))


def _make_plan(cycle: Cycle) -> _Plan:
    layout = lay_out_cycle(cycle)
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


def _number_kinds(edges: Sequence[Edge]) -> list[int]:
    """Numbers of edges, equal for edges that lead to the same locations and values."""
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
    """Forget the parts when there are too many; they can be made again."""
    if len(parts) >= REMEMBERED:
        parts.clear()
