"""`log2log`: read, change, compare and write logs, under the name and with the options of the literature."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import Any

from gpudiy.cli import log2log_work as work
from gpudiy.cli.argument_types import positive
from gpudiy.cli.help_text import original_parser
from gpudiy.cli.log_input import LOG_HELP
from gpudiy.errors import ExitCode

EPILOG = """\
example:
  log2log cmp -weaker log1.txt log2.txt     tests whose weak outcome only the first log shows

Options have one dash or two. Logs are written as text to standard output, or with -o into a file whose suffix names
the format: .txt .log .jsonl .parquet .csv, also with .gz.

exit code: 0 fine, 1 an assertion does not hold, 2 bad input"""
FORMATS = ("text", "jsonl", "parquet", "csv")
ORDERS = ("test", "chip", "sightings", "rate", "started")


def main(arguments: list[str] | None = None) -> int:
    """Run log2log and return its exit code."""
    from gpudiy.cli import run_command

    parser = _parser()
    words = sys.argv[1:] if arguments is None else arguments
    if not words:
        parser.print_help(sys.stderr)
        return ExitCode.BAD_INPUT
    given = parser.parse_args(words)
    return run_command(lambda: int(given.do(given)), "log2log")


def _parser() -> ArgumentParser:
    parser = original_parser("log2log", "Read, change, compare and write logs of litmus tests.", EPILOG)
    verbs = parser.add_subparsers(metavar="SUBCOMMAND", required=True)
    _reading_verbs(verbs)
    _changing_verbs(verbs)
    _comparing_verbs(verbs)
    return parser


Verbs = Any  # argparse does not name the type of its subparsers


def _verb(verbs: Verbs, name: str, what: str, do: Callable[[Namespace], int], logs: str | int = "+") -> ArgumentParser:
    verb: ArgumentParser = verbs.add_parser(
        name, help=what, description=what[0].upper() + what[1:] + ".", allow_abbrev=False
    )
    verb.add_argument("logs", metavar="LOG", nargs=logs, help=LOG_HELP)
    verb.set_defaults(do=do)
    return verb


def _option(verb: ArgumentParser, short: str, name: str, **rest: Any) -> None:
    """An option with one dash or two."""
    spellings = [f"-{name}", f"--{name}"]
    verb.add_argument(*([f"-{short}"] if short else []), *spellings, **rest)


def _change(verbs: Verbs, name: str, what: str) -> ArgumentParser:
    """A verb that writes changed logs."""
    verb = _verb(verbs, name, what, work.change_logs)
    verb.set_defaults(change=name)
    _option(verb, "o", "output", metavar="FILE", default="-", help="write here (default: standard output)")
    _option(verb, "f", "format", choices=FORMATS, help="default: that of the suffix of FILE, else text")
    return verb


def _reading_verbs(verbs: Verbs) -> None:
    dump = _verb(verbs, "dump", "print the records, one per line", work.print_records)
    _option(dump, "r", "raw", action="store_true", help="print whole records as text")
    _option(dump, "j", "json", action="store_true", help="print whole records as JSON Lines")
    _verb(verbs, "parse", "read logs and print their damage; exit code 2 if there is any", work.check_logs)
    summary = _verb(verbs, "summary", "count records, tests, iterations and sightings by chip", work.print_summary)
    _option(summary, "j", "json", action="store_true", help="print one JSON object per chip")
    _change(verbs, "convert", "write logs in another format")


def _changing_verbs(verbs: Verbs) -> None:
    sort = _change(verbs, "sort", "sort the records by the names of their tests")
    _option(sort, "", "by", choices=ORDERS, default="test", help="sort by this (default: %(default)s)")
    for name, what in (
        ("sum", "add up the records of each test on each chip"),
        ("avg", "average the rates of each test on each chip, in 100,000 iterations"),
    ):
        verb = _change(verbs, name, what)
        _option(verb, "i", "incantations", dest="by_incantation", action="store_true", help="keep incantations apart")
    _change(verbs, "merge", "join logs; of records of one test, chip and incantation keep the first")
    normalize = _change(verbs, "normalize", "scale counts to 100,000 iterations")
    _option(normalize, "", "to", type=positive, default=100_000, metavar="N", help="iterations (default: %(default)s)")
    _change(verbs, "best", "keep the incantation that showed the most, for each test on each chip")
    rename = _change(verbs, "rename", "rename tests or chips")
    _option(rename, "t", "test", action="append", default=[], metavar="OLD=NEW", help="rename a test")
    _option(rename, "c", "chip", action="append", default=[], metavar="OLD=NEW", help="rename a chip")
    _option(rename, "", "map", metavar="FILE", help="old and new names of tests, one pair per line")
    _option(
        rename, "", "regex", nargs=2, metavar=("PATTERN", "NEW"), help="rename tests that match a regular expression"
    )
    _filter_verb(verbs)


def _filter_verb(verbs: Verbs) -> None:
    verb = _change(verbs, "filter", "keep some records")
    _option(verb, "t", "test", action="append", default=[], metavar="PATTERN", help="tests, with * and ?")
    _option(verb, "c", "chip", action="append", default=[], metavar="PATTERN", help="chips, with * and ?")
    _option(verb, "i", "incantation", action="append", default=[], metavar="PATTERN", help="as dump prints them")
    _option(verb, "", "min-iterations", type=positive, default=0, metavar="N", help="with at least N iterations")
    for group in (
        (("observed", True, "the weak outcome was seen"), ("never", False, "it was not")),
        (("evidence", True, "sound runs of the unchanged test"), ("apart", False, "all others")),
    ):
        either = verb.add_mutually_exclusive_group()
        for name, value, what in group:
            dest = "observed" if name in ("observed", "never") else "evidence"
            either.add_argument(f"-{name}", f"--{name}", dest=dest, action="store_const", const=value, help=what)


def _comparing_verbs(verbs: Verbs) -> None:
    compare = _verb(verbs, "cmp", "compare two logs test by test", work.compare_logs, 2)
    _option(compare, "j", "json", action="store_true", help="print one JSON object per test")
    which = compare.add_mutually_exclusive_group(required=True)
    for short, name, what in (
        ("a", "all", "all tests"),
        ("s", "stronger", "tests not observed in the first log, and observed in the second or missing there"),
        ("w", "weaker", "tests observed in the first log, and not observed in the second or missing there"),
        ("e", "equal", "tests with the same answer in both logs"),
    ):
        which.add_argument(
            f"-{short}", f"-{name}", f"--{name}", dest="which", action="store_const", const=name, help=what
        )
    claim = _verb(
        verbs, "assert", "check a claim about the tests in both logs; exit code 1 if it is wrong", work.check_claim, 2
    )
    which = claim.add_mutually_exclusive_group(required=True)
    for short, name, what in (
        ("e", "equal", "both logs observed the same tests"),
        ("s", "stronger-or-equal", "every test observed in the first log is observed in the second"),
        ("w", "weaker-or-equal", "every test observed in the second log is observed in the first"),
    ):
        which.add_argument(
            f"-{short}", f"-{name}", f"--{name}", dest="which", action="store_const", const=name, help=what
        )
