"""`log2tbl`: tables from logs, under the name and with the options of the literature."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from gpudiy.cli.help_text import original_parser
from gpudiy.cli.table import KINDS, add_layout, add_selection

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
    parser = original_parser(
        "log2tbl",
        "Make tables from testing logs: HTML, LaTeX, Markdown, CSV, JSON, or text.",
        EPILOG,
        usage="log2tbl [SUBCOMMAND] [options] LOG [LOG ...]",
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
    add_selection(parser, "-", "--")
    add_layout(parser, "-", "--")
    return parser


def _run(arguments: Namespace, kind: str) -> int:
    from gpudiy.cli.table import run

    return run(Namespace(**vars(arguments), kind=kind))
