"""`gpudiy check`: read tests and report every bad file."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from gpudiy.cli import PATH_HELP
from gpudiy.cli.progress import progress, say
from gpudiy.errors import ExitCode, format_count

if TYPE_CHECKING:
    from gpudiy.litmus.errors import LitmusError
    from gpudiy.litmus.test import Test

SYMBOLIC = "instructions contradict the memory map: models can decide this test, but it cannot be built"
EPILOG = """\
examples:
  gpudiy check tests/
  gpudiy check tests/ --json > tests.jsonl

exit code: 0 all tests are valid, 2 some are not"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("paths", metavar="PATH", nargs="+", help=PATH_HELP)
    parser.add_argument("--json", action="store_true", help="print one JSON line per test and per bad file")
    parser.add_argument("-q", "--quiet", action="store_true", help="print the errors only")


def run(arguments: Namespace) -> int:
    from gpudiy.litmus.errors import LitmusError
    from gpudiy.litmus.sources import find_sources, load_each

    sources: list[str] = []
    bad = tests = 0
    for path in arguments.paths:
        try:
            sources += find_sources([path])
        except LitmusError as error:
            bad += 1
            _report(error, arguments.json)
    for source in progress(sources, "files checked", arguments.quiet):
        for found in load_each(source):
            if isinstance(found, LitmusError):
                bad += 1
                _report(found, arguments.json)
                continue
            tests += 1
            if found.memory_map.symbolic:
                say(f"{source}: warning: {SYMBOLIC}")
            if arguments.json:
                print(json.dumps(_describe_test(source, found)))
    if not arguments.quiet and not arguments.json:
        print(_summary(tests, len(sources), bad))
    return ExitCode.BAD_INPUT if bad else ExitCode.FINE


def _summary(tests: int, files: int, bad: int) -> str:
    found = f"{format_count(tests, 'test')} in {format_count(files, 'file')}"
    return f"{found}: {bad:,} bad" if bad else f"{found}: all valid"


def _report(error: LitmusError, as_json: bool) -> None:
    if as_json:
        place = {"file": error.path, "line": error.line, "column": error.column}
        print(json.dumps({**place, "valid": False, "error": error.message}))
    say(error)


def _describe_test(source: str, test: Test) -> dict[str, object]:
    from gpudiy.litmus.content import content_hash
    from gpudiy.litmus.shape import shape_hash

    return {
        "file": source,
        "valid": True,
        "name": test.name,
        "threads": len(test.threads),
        "content_hash": content_hash(test),
        "shape_hash": shape_hash(test),
    }
