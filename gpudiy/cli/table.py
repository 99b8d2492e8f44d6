"""`gpudiy table`: what chips showed, as a table."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from gpudiy.cli.argument_types import names
from gpudiy.cli.progress import say

if TYPE_CHECKING:
    from typing import TextIO

    from rich.table import Table as Drawn
    from rich.text import Text

    from gpudiy.logs.tables.table import Cell, Table
    from gpudiy.logs.tables.tally import Observations

KINDS = ("flat", "grid", "incantations")
FORMS = ("text", "html", "latex", "markdown", "csv", "json")
ORDERS = ("name", "rate", "log")
WIDE = 100_000  # columns of an output that is no terminal: nothing is folded there

EPILOG = """\
kinds:
  flat          a row for each test, a column for each chip
  grid          for each shape, what stands between the accesses of the first thread (down) and of the others (across)
  incantations  a column for each of the sixteen ways to set memory stress, bank conflicts, synchronisation and
                randomisation

Cells count sightings of the weak outcome, those above zero in bold. A run that is no evidence (it failed, its harness
was dead, optcheck found another program) is named as such and never counted as zero.

examples:
  gpudiy table titan.log gtx750.log
  gpudiy table logs/ --kind grid --chips 'GTX Titan' -o grids.html
  gpudiy table logs/ --tests 'MP*' --sort rate -o mp.tex --document

exit code: 0 done, 2 bad input"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("logs", metavar="LOG", nargs="+", help="a log, a directory of logs, or a pattern of names")
    parser.add_argument("--kind", choices=KINDS, default="flat", help="what the table shows (default: flat)")
    parser.add_argument(
        "--format",
        "-f",
        choices=FORMS,
        metavar="FORM",
        help=f"{', '.join(FORMS)}: how it is printed (default: as the suffix of -o, or text)",
    )
    parser.add_argument(
        "--json", dest="format", action="store_const", const="json", help="a JSON line for each row, as --format json"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write here (default: standard output)")
    parser.add_argument("--tests", metavar="NAMES", type=names, action="extend", default=[], help="only these: MP*,SB")
    parser.add_argument(
        "--chips", metavar="NAMES", type=names, action="extend", default=[], help="only these, so ordered"
    )
    parser.add_argument("--sort", choices=ORDERS, default="name", help="order of the tests (default: name)")
    parser.add_argument("--reverse", action="store_true", help="the other way round")
    parser.add_argument("--weak-only", action="store_true", help="only tests whose weak outcome was observed")
    parser.add_argument("--absolute", action="store_true", help="sightings as they are, not per 100,000 iterations")
    parser.add_argument(
        "--best", action="store_true", help="of several records of a test the one with the highest rate"
    )
    parser.add_argument("--no-heat", action="store_true", help="no colours")
    parser.add_argument("--document", action="store_true", help="LaTeX that compiles as it is, not a part to \\input")


def run(arguments: Namespace) -> int:
    from gpudiy.cli.log_input import load_observations
    from gpudiy.errors import counted
    from gpudiy.files import expect_writable, write_whole

    form = _form(arguments)
    if arguments.output is not None:
        expect_writable(arguments.output)
    found = load_observations(arguments.logs, best=arguments.best)
    tables = _tables(found, arguments)
    if form == "text" and arguments.output is None:
        _print(tables, heat=not arguments.no_heat)
        return 0
    text = _text(tables, form, arguments)
    if arguments.output is None:
        sys.stdout.write(text)
    else:
        write_whole(Path(arguments.output), text)
        say(f"{counted(sum(len(table.rows) for table in tables), 'row')} in {arguments.output}")
    return 0


def _form(arguments: Namespace) -> str:
    from gpudiy.errors import InputError
    from gpudiy.logs.tables.printing import SUFFIXES

    if arguments.format is not None:
        return str(arguments.format)
    if arguments.output is None:
        return "text"
    suffix = Path(arguments.output).suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(
            f"{arguments.output}: no table is printed as {suffix or 'a file without suffix'}",
            hint=f"suffixes: {' '.join(SUFFIXES)}; or say --format",
        )
    return str(SUFFIXES[suffix])


def _tables(found: Observations, arguments: Namespace) -> list[Table]:
    from gpudiy.errors import InputError
    from gpudiy.logs.tables.kinds import flat_table, grid_tables, incantation_table
    from gpudiy.logs.tables.selection import RowOrder, selected_chips, selected_tests

    chips = selected_chips(found, arguments.chips)
    tests = selected_tests(found, chips, arguments.tests, RowOrder(arguments.sort), arguments.weak_only)
    if arguments.reverse:
        tests.reverse()
    if arguments.kind == "flat":
        return [flat_table(found, tests, chips, arguments.absolute)]
    if arguments.kind == "grid":
        tables = grid_tables(found, tests, chips, arguments.absolute)
        if not tables:
            raise InputError("no test here has a thread with two accesses: there is no grid to make")
        return tables
    table = incantation_table(found, tests, chips, arguments.absolute)
    if not table.rows:
        raise InputError("no record here tells all four switches of its incantation")
    return [table]


def _text(tables: list[Table], form: str, arguments: Namespace) -> str:
    from io import StringIO

    from gpudiy.logs.tables.printing import csv_text, html_text, json_text, latex_text, markdown_text

    heat = not arguments.no_heat
    if form == "html":
        return html_text(tables, heat)
    if form == "latex":
        return latex_text(tables, heat, arguments.document)
    if form == "markdown":
        return markdown_text(tables)
    if form == "csv":
        return csv_text(tables)
    if form == "json":
        return json_text(tables)
    out = StringIO()
    _print(tables, heat=False, file=out)
    return out.getvalue()


def _print(tables: list[Table], heat: bool, file: TextIO | None = None) -> None:
    """Tables for a terminal, or as plain text whose lines end where their text ends."""
    from io import StringIO

    from rich.console import Console

    stream = sys.stdout if file is None else file
    terminal = stream.isatty()
    console = Console(file=stream if terminal else StringIO(), width=None if terminal else WIDE, highlight=False)
    for index, table in enumerate(tables):
        if index:
            console.print()
        console.print(table.title, style="bold", markup=False)
        console.print(_drawn(table, heat))
        for note in table.notes:
            console.print(note, style="dim", markup=False)
    if isinstance(console.file, StringIO):
        stream.writelines(f"{line.rstrip()}\n" for line in console.file.getvalue().splitlines())


def _drawn(table: Table, heat: bool) -> Drawn:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as Drawn
    from rich.text import Text

    drawn = Drawn(box=SIMPLE_HEAD, pad_edge=False)
    for word in table.corner:
        drawn.add_column(Text(f"\n{word}" if table.groups else word), justify="left", no_wrap=True)
    firsts = [name if not place else "" for name, span in table.groups for place in range(span)]
    for index, column in enumerate(table.columns):
        drawn.add_column(Text(f"{firsts[index]}\n{column}" if firsts else column), justify="right", no_wrap=True)
    for row in table.rows:
        drawn.add_row(*(Text(label) for label in row.labels), *(_drawn_cell(cell, heat) for cell in row.cells))
    return drawn


def _drawn_cell(cell: Cell, heat: bool) -> Text:
    from rich.text import Text

    from gpudiy.logs.tables.heat import colour, step_of

    if not cell.text:
        return Text("")
    if not cell.weak:
        return Text(cell.text, style="dim")
    background, ink = colour(step_of(cell.heat))
    return Text(cell.text, style=f"bold {ink} on {background}" if heat else "bold")
