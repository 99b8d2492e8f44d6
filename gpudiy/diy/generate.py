"""`generate`: tests from the names of edges, of a cycle or of a family."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from gpudiy.arguments import check_choice, check_text, check_whole_number
from gpudiy.diy.cycle import fault_of_cycle
from gpudiy.diy.edge import LEVELS
from gpudiy.diy.families import find_family
from gpudiy.diy.generator import Generator, Recipe, Trees
from gpudiy.diy.one_cycle import parse_cycle
from gpudiy.diy.pattern import agrees, parse_pattern
from gpudiy.diy.vocabulary import fill_open_ends, parse_edges
from gpudiy.errors import UsageError

if TYPE_CHECKING:
    from gpudiy.litmus.test import Test

LARGEST_SIZE = 20  # of edges, threads and locations of a cycle


def generate(
    *,
    cycle: str | None = None,
    family: str | None = None,
    safe: str | None = None,
    relaxed: str | None = None,
    exclude: str | None = None,
    conform: str | None = None,
    edges: int | None = None,
    threads: int | None = None,
    locations: int | None = None,
    trees: Literal["all", "one"] | None = None,
    levels: str | None = None,
) -> list[Test]:
    """Make tests: `gpudiy.generate(cycle="PodWW Rfe PodRR Fre")`, `gpudiy.generate(family="classic")`.

    Give one of `cycle` (the edges of one cycle), `family` (see `gpudiy generate --list`) and `safe` or `relaxed`
    (the edges of the cycles; every cycle has at least one relaxed edge). Edges are names separated
    by blanks or commas.

    `exclude` names edges that must not occur, `conform` is a pattern of edges, with `...` for any number of them.
    `edges` (6), `threads` (4) and `locations` (any number) limit the size of a cycle. `trees` says which scope trees a
    cycle gets: "all" that its edges allow, or "one", with the threads furthest apart. `levels` are the letters of the
    levels that may separate threads that no edge joins.

    An unknown edge raises `InputError`, options that contradict each other `UsageError`.
    """
    for option, size in (("edges", edges), ("threads", threads), ("locations", locations)):
        if size is not None:
            check_whole_number(size, option)
            if not 1 <= size <= LARGEST_SIZE:
                raise UsageError(f"{option}: expected a number from 1 to {LARGEST_SIZE}, not {size}")
    texts = {"cycle": cycle, "family": family, "safe": safe, "relaxed": relaxed, "exclude": exclude}
    for option, text in (texts | {"conform": conform, "trees": trees, "levels": levels}).items():
        check_text(text, option)
    recipe = make_recipe(
        cycle=cycle, family=family, safe=safe, relaxed=relaxed, exclude=exclude, conform=conform, edges=edges,
        threads=threads, locations=locations, trees=trees, levels=levels,
    )  # fmt: skip
    return [blueprint.test() for blueprint in Generator(recipe).blueprints()]


def make_recipe(
    *,
    cycle: str | None = None,
    family: str | None = None,
    safe: str | None = None,
    relaxed: str | None = None,
    exclude: str | None = None,
    conform: str | None = None,
    edges: int | None = None,
    threads: int | None = None,
    locations: int | None = None,
    trees: str | None = None,
    levels: str | None = None,
    spell: Callable[[str], str] = str,
) -> Recipe:
    """The recipe for the options of `generate`; messages name an option by `spell(option)`."""
    recipe = _starting_recipe(cycle, family, safe, relaxed, spell)
    sizes = {"edges": edges, "threads": threads, "locations": locations}
    limited = {name: size for name, size in sizes.items() if size is not None}
    if limited:
        limits = replace(recipe.limits, **limited)
        cycles = tuple(one for one in recipe.cycles if fault_of_cycle(one, limits) is None)
        recipe = replace(recipe, limits=limits, cycles=cycles)
    if trees is not None:
        check_choice(trees, Trees, spell("trees"))
        recipe = replace(recipe, trees=Trees(trees))
    if levels is not None:
        if not levels or not set(levels) <= set(LEVELS):
            raise UsageError(f"{spell('levels')}: expected letters of {LEVELS}, not {levels!r}")
        recipe = replace(recipe, levels=levels)
    if exclude is not None:
        banned = parse_edges(exclude, spell("exclude")).edges
        kept = tuple(edge for edge in recipe.edges if not any(agrees(edge, one) for one in banned))
        cycles = tuple(one for one in recipe.cycles if not any(agrees(edge, other) for edge in one for other in banned))
        recipe = replace(recipe, edges=kept, cycles=cycles)
    if conform is not None:
        recipe = replace(recipe, conform=parse_pattern(conform, spell("conform")))
    return recipe


def _starting_recipe(
    cycle: str | None, family: str | None, safe: str | None, relaxed: str | None, spell: Callable[[str], str]
) -> Recipe:
    from_edges = safe is not None or relaxed is not None
    if (cycle is not None) + (family is not None) + from_edges != 1:
        one_of = f"{spell('safe')} (with or without {spell('relaxed')}), {spell('cycle')} and {spell('family')}"
        raise UsageError(f"give one of {one_of}")
    if cycle is not None:
        return Recipe((), trees=Trees.ONE, cycles=(parse_cycle(cycle, spell("cycle")),))
    if family is not None:
        return find_family(family).recipe()
    return _recipe_of_edges(safe or "", relaxed or "", spell)


def _recipe_of_edges(safe: str, relaxed: str, spell: Callable[[str], str]) -> Recipe:
    safe_edges = parse_edges(safe, spell("safe"))
    relaxed_edges = parse_edges(relaxed, spell("relaxed"))
    if not safe_edges.edges and not relaxed_edges.edges:
        raise UsageError("no edges: name at least one safe or relaxed edge")
    both = safe_edges + relaxed_edges
    required = fill_open_ends(relaxed_edges.edges, among=both.edges)
    return Recipe(
        fill_open_ends(both.edges),
        required=frozenset(required),
        trees=Trees.ALL if both.names_levels else Trees.ONE,
    )
