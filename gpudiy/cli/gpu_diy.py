"""`gpu-diy`: generate tests, under the name and with the options of the literature."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from gpudiy.cli.help_text import original_parser

EPILOG = """\
example:
  gpu-diy -gpu-safe 'Po-d-Wgl2-Rgl2 Fr-c-gl2l2'

Tests are written into the current directory, one file each, with the list @all and the index index.jsonl.
`gpudiy generate` has more options, and `gpudiy generate --list` explains the edges."""


def main(arguments: list[str] | None = None) -> int:
    """Run gpu-diy and return its exit code: 0 tests were made, 1 none were, 2 bad usage or an unknown edge."""
    from gpudiy.cli import run_command

    parser = _parser()
    given = parser.parse_args(arguments)
    if given.safe is None and given.relaxed is None and not given.names:
        parser.error("give edges with -gpu-safe or -gpu-relax; -gpu-list prints them all")
    return run_command(lambda: _run(given), "gpu-diy")


def _parser() -> ArgumentParser:
    parser = original_parser("gpu-diy", "Make litmus tests from relaxation edges.", EPILOG)
    parser.add_argument("-gpu-safe", "-safe", dest="safe", metavar="EDGES", help="edges to build cycles from")
    parser.add_argument(
        "-gpu-relax",
        "-relax",
        dest="relaxed",
        metavar="EDGES",
        help="more edges, at least one of which must occur in a cycle",
    )
    parser.add_argument("-gpu-list", dest="names", action="store_true", help="print all edges, separated by commas")
    parser.add_argument("-size", dest="edges", metavar="N", type=int, help="largest number of edges (default: 6)")
    parser.add_argument("-nprocs", dest="threads", metavar="N", type=int, help="largest number of threads (default: 4)")
    parser.add_argument("-o", dest="output", metavar="DIR", default=".", help="write here (default: .)")
    parser.add_argument("-q", dest="quiet", action="store_true", help="print no progress and no summary")
    return parser


def _run(arguments: Namespace) -> int:
    if arguments.names:
        _print_names()
        return 0
    from gpudiy.cli.generate import run

    nothing = dict.fromkeys(("exclude", "conform", "locations", "cycle", "family", "trees", "levels", "index"))
    spelling = {"safe": "-gpu-safe", "relaxed": "-gpu-relax"}
    return run(Namespace(**vars(arguments), **nothing, count=False, list=False, spelling=spelling))


def _print_names() -> None:
    from gpudiy.diy.vocabulary import vocabulary

    separator = ""
    for edge in vocabulary():
        sys.stdout.write(separator + edge.name)
        separator = ","
    sys.stdout.write("\n")
