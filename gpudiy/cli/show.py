"""`gpudiy show`: draw tests as text."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from gpudiy.cli import PATH_HELP
from gpudiy.errors import ExitCode

EPILOG = """\
examples:
  gpudiy show sb.litmus
  gpudiy show tests/ --hashes

exit code: 0 all tests are shown, 2 some cannot be read"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("paths", metavar="PATH", nargs="+", help=PATH_HELP)
    parser.add_argument(
        "--color", choices=("auto", "always", "never"), default="auto", help="colour (default: on a terminal)"
    )
    parser.add_argument("--hashes", action="store_true", help="also show the content hash and the shape hash")


def run(arguments: Namespace) -> int:
    from rich.console import Console

    from gpudiy.cli.drawing import draw_test
    from gpudiy.litmus.errors import LitmusError
    from gpudiy.litmus.sources import find_sources, load_tests

    class Output(Console):
        def on_broken_pipe(self) -> None:
            """Let `run_command` handle it: a closed pipe is not an error."""
            raise BrokenPipeError

    console = Output(
        force_terminal={"auto": None, "always": True, "never": False}[arguments.color],
        no_color=True if arguments.color == "never" else None,
        highlight=False,
        soft_wrap=True,
    )
    sources = list(find_sources(arguments.paths))
    bad = shown = 0
    for source in sources:
        try:
            for test in load_tests(source):
                if shown:
                    console.print()
                console.print(draw_test(test, arguments.hashes))
                shown += 1
        except LitmusError as error:
            bad += 1
            print(error, file=sys.stderr)
    return ExitCode.BAD_INPUT if bad else ExitCode.FINE
