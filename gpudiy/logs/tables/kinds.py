"""The three kinds of table: tests by chips, grids by what is between the accesses, tests by incantations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from typing import TypedDict, Unpack

from gpudiy.logs.frame import LogSource
from gpudiy.logs.log import LogError
from gpudiy.logs.operations import natural
from gpudiy.logs.tables.selection import RowOrder, selected_chips, selected_tests
from gpudiy.logs.tables.table import Table, TableRow, cell_of, notes_for
from gpudiy.logs.tables.tally import Observations, observe

SWITCH_LETTERS = "mbsr"
NOTHING = "\u2013"  # a dash
INCANTATION_NOTE = "Incantations: m memory stress, b bank conflicts, s synchronisation, r randomisation; \u2013 none."


class TableKind(StrEnum):
    """What a table shows."""

    FLAT = "flat"
    GRID = "grid"
    INCANTATIONS = "incantations"


def table(
    logs: LogSource, *, kind: str = TableKind.FLAT, best: bool = False, **options: Unpack[TableOptions]
) -> list[Table]:
    """What chips showed, as tables: one of a flat kind, several of a grid. `TableOptions` lists the options."""
    return make_tables(observe(logs, best=best), kind, **options)


class TableOptions(TypedDict, total=False):
    """Which tests and chips a table shows, in which order, and how it counts."""

    tests: Sequence[str]  # patterns such as MP*
    chips: Sequence[str]
    order: str  # name, rate or log
    reverse: bool
    weak_only: bool  # only tests whose weak outcome was observed
    absolute: bool  # sightings as they are, not per 100,000 iterations


def make_tables(found: Observations, kind: str = TableKind.FLAT, **options: Unpack[TableOptions]) -> list[Table]:
    """The tables of a kind; raises `LogError` where the observations have nothing for it."""
    chips = selected_chips(found, options.get("chips", ()))
    order = RowOrder(options.get("order", RowOrder.NAME))
    tests = selected_tests(found, chips, options.get("tests", ()), order, options.get("weak_only", False))
    if options.get("reverse", False):
        tests.reverse()
    absolute = options.get("absolute", False)
    match TableKind(kind):
        case TableKind.FLAT:
            return [flat_table(found, tests, chips, absolute)]
        case TableKind.GRID:
            tables = grid_tables(found, tests, chips, absolute)
            if not tables:
                raise LogError("no test here has a thread with two accesses: there is no grid to make")
            return tables
        case TableKind.INCANTATIONS:
            incantations = incantation_table(found, tests, chips, absolute)
            if not incantations.rows:
                raise LogError("no record here tells all four switches of its incantation")
            return [incantations]


def flat_table(found: Observations, tests: Sequence[str], chips: Sequence[str], absolute: bool = False) -> Table:
    """A row for each test, a column for each chip."""
    rows = tuple(
        TableRow((test,), tuple(cell_of(found.tallies.get((test, chip)), absolute) for chip in chips)) for test in tests
    )
    return Table("Observations", ("test",), tuple(chips), rows, notes=notes_for(rows, absolute))


def grid_tables(found: Observations, tests: Sequence[str], chips: Sequence[str], absolute: bool = False) -> list[Table]:
    """For each shape: what stands in the first thread down, in the other threads across, for each chip."""
    shapes: dict[str, dict[tuple[str, str], str]] = {}
    for test in tests:
        place = _place(found, test)
        if place is None:
            continue
        shape, words = place
        key = (words[0], " + ".join(words[1:]))
        number = 1
        while key in shapes.setdefault(shape if number == 1 else f"{shape} ({number})", {}):
            number += 1
        shapes[shape if number == 1 else f"{shape} ({number})"][key] = test
    tables = [_grid(found, shape, places, chips, absolute) for shape, places in shapes.items()]
    notes = ("Down: first thread; across: the others.", *_all_notes(tables, absolute))
    return [*tables[:-1], replace(tables[-1], notes=notes)] if tables else []


def incantation_table(found: Observations, tests: Sequence[str], chips: Sequence[str], absolute: bool = False) -> Table:
    """A row for each chip and test, a column for each of the sixteen ways to set the four switches."""
    rows = tuple(
        TableRow((chip, test), tuple(cell_of(found.incantations.get((test, chip, n)), absolute) for n in range(16)))
        for chip in chips
        for test in tests
        if any((test, chip, number) in found.incantations for number in range(16))
    )
    columns = tuple(switch_letters(number) for number in range(16))
    notes = (*notes_for(rows, absolute), INCANTATION_NOTE)
    return Table("Observations by incantation", ("chip", "test"), columns, rows, notes=notes)


def switch_letters(number: int) -> str:
    """`msr` for memory stress, synchronisation and randomisation; a dash for nothing."""
    return "".join(letter for bit, letter in enumerate(SWITCH_LETTERS) if number >> (3 - bit) & 1) or NOTHING


def _grid(
    found: Observations, shape: str, places: dict[tuple[str, str], str], chips: Sequence[str], absolute: bool
) -> Table:
    down = sorted({row for row, _ in places}, key=_strength)
    across = sorted({column for _, column in places}, key=_strength)
    shown = [chip for chip in chips if any((test, chip) in found.tallies for test in places.values())]
    rows = tuple(
        TableRow(
            (row,),
            tuple(
                cell_of(found.tallies.get((places.get((row, column), ""), chip)), absolute)
                for chip in shown
                for column in across
            ),
        )
        for row in down
    )
    groups = tuple((chip, len(across)) for chip in shown)
    columns = tuple(column or NOTHING for _ in shown for column in across)
    return Table(shape, ("between",), columns, rows, groups)


def _all_notes(tables: Sequence[Table], absolute: bool) -> tuple[str, ...]:
    """The notes of many tables, said once, below the last."""
    return notes_for(tuple(row for table in tables for row in table.rows), absolute)


def _strength(words: str) -> tuple[int, tuple[object, ...]]:
    """Nothing first, then dependencies, then fences by how far they reach."""
    ranks = ("po", "data", "addr", "ctrl", "membar.cta", "membar.gl", "membar.sys", "fence")
    rank = next((index for index, word in enumerate(ranks) if words.startswith(word)), len(ranks))
    return (0 if not words else rank + 1, natural(words))


def _place(found: Observations, test: str) -> tuple[str, tuple[str, ...]] | None:
    from gpudiy.litmus import LitmusError, read_test
    from gpudiy.logs.tables.between import between, between_of_name

    text = found.tests[test].text
    try:
        place = between(read_test(text)) if text else between_of_name(test)
    except LitmusError:
        place = between_of_name(test)
    return None if place is None else (place.shape, place.words)
