"""The three kinds of table: tests by chips, grids by what is between the accesses, tests by incantations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Literal

from gpudiy.arguments import check_choice
from gpudiy.logs.frame import LogSource
from gpudiy.logs.log import LogError
from gpudiy.logs.operations import natural
from gpudiy.logs.tables.selection import RowOrder, selected_chips, selected_tests
from gpudiy.logs.tables.table import Table, TableRow, Tables, cell_of, notes_for
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
    logs: LogSource | Observations,
    *,
    kind: Literal["flat", "grid", "incantations"] = "flat",
    tests: str | Sequence[str] = (),
    chips: str | Sequence[str] = (),
    sort: Literal["name", "rate", "log"] = "name",
    reverse: bool = False,
    weak_only: bool = False,
    absolute: bool = False,
    best: bool = False,
) -> Tables:
    """Show what chips showed: `print(gpudiy.table("logs/", tests=["MP*"]))`.

    `logs` are paths, records, or a DataFrame of records. A "flat" table has one row per test and one column per chip, a
    "grid" of each shape shows what is between the accesses, "incantations" has one column per incantation. `tests`
    and `chips` are patterns such as `MP*`. `sort` orders the tests by name, by highest rate or as in the log, `reverse`
    the other way round. `weak_only` leaves out tests whose weak outcome was not observed, `absolute` prints sightings
    as they are and not per 100,000 iterations. Of several records of a test on a chip `best` takes the one with the
    highest rate. Bad input raises `InputError`.
    """
    check_choice(kind, TableKind, "kind")
    check_choice(sort, RowOrder, "sort")
    found = observe(logs, best=best)
    shown_chips = selected_chips(found, chips)
    shown_tests = selected_tests(found, shown_chips, tests, RowOrder(sort), weak_only)
    if reverse:
        shown_tests.reverse()
    match TableKind(kind):
        case TableKind.FLAT:
            return Tables([flat_table(found, shown_tests, shown_chips, absolute)])
        case TableKind.GRID:
            tables = grid_tables(found, shown_tests, shown_chips, absolute)
            if not tables:
                raise LogError("no test here has a thread with two accesses: there is no grid to make")
            return Tables(tables)
        case TableKind.INCANTATIONS:
            incantations = incantation_table(found, shown_tests, shown_chips, absolute)
            if not incantations.rows:
                raise LogError("no record here says how all four switches of its incantation were set")
            return Tables([incantations])


def flat_table(found: Observations, tests: Sequence[str], chips: Sequence[str], absolute: bool = False) -> Table:
    """A row for each test, a column for each chip."""
    rows = tuple(
        TableRow((test,), tuple(cell_of(found.tallies.get((test, chip)), absolute) for chip in chips)) for test in tests
    )
    return Table("Observations", ("test",), tuple(chips), rows, notes=notes_for(rows, absolute))


def grid_tables(found: Observations, tests: Sequence[str], chips: Sequence[str], absolute: bool = False) -> list[Table]:
    """For each shape and chip: what is between the accesses, of the first thread down, of the others across."""
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
