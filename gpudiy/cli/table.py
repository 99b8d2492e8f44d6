"""`gpudiy table`: print logs as a table of tests and chips."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from gpudiy.cli.argument_types import names
from gpudiy.cli.progress import say

KINDS = ("flat", "grid", "incantations")
FORMS = ("text", "html", "latex", "markdown", "csv", "json")
ORDERS = ("name", "rate", "log")

EPILOG = """\
kinds:
  flat          one row per test, one column per chip
  grid          one grid per shape: fences and dependencies of the first thread (down) and of the others (across)
  incantations  one column for each of the sixteen ways to set memory stress, bank conflicts, synchronisation and
                randomisation

Cells count sightings of the weak outcome; counts above zero are bold. A run that is not evidence (it failed, its
harness was dead, optcheck found a changed test) is marked and never counts as zero.

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
        help=f"{', '.join(FORMS)} (default: that of the suffix of -o, or text)",
    )
    parser.add_argument(
        "--json",
        dest="format",
        action="store_const",
        const="json",
        help="print one JSON line per row, as --format json",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write here (default: standard output)")
    parser.add_argument("--absolute", action="store_true", help="absolute sightings, not per 100,000 iterations")
    add_selection(parser, "--")
    add_layout(parser, "--")


def add_selection(parser: ArgumentParser, *dashes: str) -> None:
    """Options that choose tests, chips and records, with these dashes before their names."""
    for name, what in (("tests", "only these: MP*,SB"), ("chips", "only these, in this order")):
        spellings = [f"{dash}{name}" for dash in dashes]
        parser.add_argument(*spellings, metavar="NAMES", type=names, action="extend", default=[], help=what)
    best = "of several records of a test, use the one with the highest rate"
    parser.add_argument(*(f"{dash}best" for dash in dashes), action="store_true", help=best)


def add_layout(parser: ArgumentParser, *dashes: str) -> None:
    """Options for the rows of a table and how it is printed."""
    parser.add_argument(
        *(f"{dash}sort" for dash in dashes), choices=ORDERS, default="name", help="order of the tests (default: name)"
    )
    for name, what in (
        ("reverse", "reverse the order"),
        ("weak-only", "only tests whose weak outcome was observed"),
        ("no-heat", "no colours"),
        ("document", "a complete LaTeX document, not a part for \\input"),
    ):
        parser.add_argument(*(f"{dash}{name}" for dash in dashes), action="store_true", help=what)


def run(arguments: Namespace) -> int:
    from gpudiy.cli.log_input import load_observations
    from gpudiy.errors import format_count
    from gpudiy.files import expect_writable, write_whole
    from gpudiy.logs.tables import kinds
    from gpudiy.logs.tables.printing import TableFormat, format_of, tables_text
    from gpudiy.logs.tables.terminal import print_tables

    form = TableFormat(arguments.format) if arguments.format else format_of(arguments.output)
    if arguments.output is not None:
        expect_writable(arguments.output)
    tables = kinds.table(
        load_observations(arguments.logs, arguments.best),
        kind=arguments.kind,
        tests=arguments.tests,
        chips=arguments.chips,
        sort=arguments.sort,
        reverse=arguments.reverse,
        weak_only=arguments.weak_only,
        absolute=arguments.absolute,
    )
    heat = not arguments.no_heat
    if form is TableFormat.TEXT and arguments.output is None:
        print_tables(tables, sys.stdout, heat)
        return 0
    text = tables_text(tables, form, heat=heat, document=arguments.document)
    if arguments.output is None:
        sys.stdout.write(text)
    else:
        write_whole(arguments.output, text)
        say(f"{format_count(sum(len(table.rows) for table in tables), 'row')} in {arguments.output}")
    return 0
