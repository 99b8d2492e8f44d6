"""`gpudiy generate`: make tests from relaxation edges."""

from __future__ import annotations

import gc
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from gpudiy.cli.progress import progress
from gpudiy.errors import ExitCode, format_count

if TYPE_CHECKING:
    from gpudiy.diy.blueprint import Blueprint
    from gpudiy.diy.generator import Generator, Recipe

FAMILIES = ("classic", "thesis", "dependencies", "rmw", "scoped", "modern", "coherence")
EPILOG = """\
EDGES are names separated by blanks or commas: those of the thesis (Po-d-Wgl2-Rgl2, Fr-c-gl2l2), their extension, and
the shorthands of diy (PodWR, Rfe, MembarGld**, DpAddrdR); `gpudiy generate --list` explains them all.

examples:
  gpudiy generate --cycle 'PodWW Rfe PodRR Fre'
  gpudiy generate --safe 'Pod** MembarGld** Rfe Fre Coe' --edges 8 -o tests
  gpudiy generate --family scoped --conform 'Rfe ... Fre' --count

exit code: 0 tests were made, 1 the edges make no test, 2 bad usage or an unknown edge"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--safe", metavar="EDGES", help="edges to build cycles from")
    parser.add_argument("--relaxed", metavar="EDGES", help="more edges, at least one of which must occur in a cycle")
    parser.add_argument("--exclude", metavar="EDGES", help="edges that must not occur in a cycle")
    parser.add_argument(
        "--conform", metavar="PATTERN", help="only cycles like PATTERN: edges, with `...` for any number of edges"
    )
    parser.add_argument("--edges", metavar="N", type=_size, help="largest number of edges in a cycle (default: 6)")
    parser.add_argument("--threads", metavar="N", type=_size, help="largest number of threads (default: 4)")
    parser.add_argument("--locations", metavar="N", type=_size, help="largest number of locations (default: any)")
    parser.add_argument("--cycle", metavar="EDGES", help="make the test of this one cycle")
    parser.add_argument("--family", metavar="NAME", choices=FAMILIES, help=f"a named family: {', '.join(FAMILIES)}")
    parser.add_argument(
        "--trees",
        choices=("all", "one"),
        help="all scope trees that the edges allow, or only the one with the threads furthest apart"
        " (default: all if an edge names a level)",
    )
    parser.add_argument(
        "--levels", metavar="LETTERS", help="levels between threads that no edge joins (default: twlckd)"
    )
    parser.add_argument("--count", action="store_true", help="print only the number of tests")
    parser.add_argument("--list", action="store_true", help="explain every edge and every family")
    parser.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        default="-",
        help="write files and their indexes into DIR (default: one stream)",
    )
    parser.add_argument("--index", metavar="FILE", help="also write the index of the tests to FILE")
    parser.add_argument("-q", "--quiet", action="store_true", help="print no progress and no summary")


def _size(text: str) -> int:
    value = int(text)
    if not 1 <= value <= 20:
        raise ValueError(text)
    return value


_size.__name__ = "number from 1 to 20"  # the name in messages of argparse


def run(arguments: Namespace) -> int:
    gc.disable()  # tests hold no cycles, so there is nothing to collect
    try:
        return _run(arguments)
    finally:
        gc.enable()


def _run(arguments: Namespace) -> int:
    if arguments.list:
        from gpudiy.cli.edge_table import print_tables

        print_tables()
        return 0
    from gpudiy.diy.generator import Generator

    made = _write_or_count(Generator(_recipe(arguments)), arguments)
    if not made and not arguments.quiet:
        print("gpudiy generate: these edges make no cycle within the limits", file=sys.stderr)
    return ExitCode.FINE if made else ExitCode.NO


def _write_or_count(generator: Generator, arguments: Namespace) -> int:
    """Write or count the tests; return their number."""
    if arguments.count:
        count = generator.count()
        print(count)
        return count
    done = 0
    for _ in progress(_write_tests(generator.blueprints(), arguments), "tests", arguments.quiet):
        done += 1
    if arguments.output != "-" and not arguments.quiet and done:
        print(f"{format_count(done, 'test')} in {arguments.output}")
    return done


def _write_tests(blueprints: Iterator[Blueprint], arguments: Namespace) -> Iterator[Blueprint]:
    from gpudiy.diy.writer import write_directory, write_index, write_stream

    if arguments.index is not None:
        blueprints = write_index(blueprints, Path(arguments.index))
    if arguments.output == "-":
        return write_stream(blueprints, sys.stdout)
    return write_directory(blueprints, Path(arguments.output))


def _recipe(arguments: Namespace) -> Recipe:
    """The recipe of the options; raise `UsageError` if they contradict each other."""
    from gpudiy.diy.generate import make_recipe

    names = ("cycle", "family", "safe", "relaxed", "exclude", "conform", "edges", "threads", "locations", "trees",
             "levels")  # fmt: skip
    spelling: dict[str, str] = getattr(arguments, "spelling", {})  # gpu-diy has its own
    options = {name: getattr(arguments, name) for name in names}
    return make_recipe(**options, spell=lambda name: spelling.get(name, f"--{name}"))
