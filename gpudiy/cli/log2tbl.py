"""`log2tbl`: tables from logs, under the name and with the options of the literature."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from gpudiy.cli.argument_types import names
from gpudiy.cli.help_text import HelpText
from gpudiy.cli.table import KINDS, ORDERS
from gpudiy.version import __version__

SUBCOMMANDS = {"flat": "flat", "two-level": "grid", "grid": "grid", "incantations": "incantations"}
FORMS = {
    "html": "html", "latex": "latex", "md": "markdown", "csv": "csv", "json": "json", "text": "text",
}  # fmt: skip
EPILOG = """\
subcommands:
  flat          one row per test, one column per chip (the default)
  two-level     one grid per shape: fences and dependencies of the first thread against those of the others; or: grid
  incantations  one column for each of the sixteen incantations

examples:
  log2tbl.py -html titan.txt gtx750.txt > table.html
  log2tbl.py two-level -latex -o grids.tex titan.txt

exit code: 0 done, 2 bad input"""


def main(arguments: list[str] | None = None) -> int:
    """Run log2tbl and return its exit code."""
    from gpudiy.cli import run_command

    words = list(sys.argv[1:] if arguments is None else arguments)
    kind = SUBCOMMANDS[words.pop(0)] if words and words[0] in SUBCOMMANDS else KINDS[0]
    given = _parser().parse_args(words)
    return run_command(lambda: _run(given, kind), "log2tbl")


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="log2tbl",
        usage="log2tbl [SUBCOMMAND] [options] LOG [LOG ...]",
        description="Make tables from testing logs: HTML, LaTeX, Markdown, CSV, JSON, or text.",
        epilog=EPILOG,
        formatter_class=HelpText,
        allow_abbrev=False,
    )
    parser.add_argument("logs", metavar="LOG", nargs="+", help="a log, a directory of logs, or a pattern of names")
    forms = parser.add_mutually_exclusive_group()
    for word, form in FORMS.items():
        forms.add_argument(
            f"-{word}", f"--{word}", dest="format", action="store_const", const=form, help=f"print {form}"
        )
    parser.add_argument("-o", "--output", dest="output", metavar="FILE", help="write here; the suffix chooses the form")
    counts = parser.add_mutually_exclusive_group()
    counts.add_argument("-abs", "--absolute", dest="absolute", action="store_true", help="absolute sightings")
    counts.add_argument(
        "-per100k", "--per100k", dest="absolute", action="store_false", help="per 100,000 iterations (the default)"
    )
    parser.add_argument(
        "-tests", "--tests", metavar="NAMES", type=names, action="extend", default=[], help="only these: MP*,SB"
    )
    parser.add_argument(
        "-chips", "--chips", metavar="NAMES", type=names, action="extend", default=[], help="only these, in this order"
    )
    parser.add_argument("-sort", "--sort", choices=ORDERS, default="name", help="order of the tests (default: name)")
    parser.add_argument("-reverse", "--reverse", action="store_true", help="reverse the order")
    parser.add_argument("-weak-only", "--weak-only", action="store_true", help="only tests observed somewhere")
    parser.add_argument(
        "-best", "--best", action="store_true", help="of several records, the one with the highest rate"
    )
    parser.add_argument("-no-heat", "--no-heat", action="store_true", help="no colours")
    parser.add_argument("-document", "--document", action="store_true", help="a complete LaTeX document")
    parser.add_argument("-version", "--version", action="version", version=f"log2tbl (gpudiy {__version__})")
    return parser


def _run(arguments: Namespace, kind: str) -> int:
    from gpudiy.cli.table import run

    return run(Namespace(**vars(arguments), kind=kind))
