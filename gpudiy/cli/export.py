"""`gpudiy export`: tests as a kit for a machine with a GPU and without gpudiy."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from gpudiy.cli import PATH_HELP
from gpudiy.cli.argument_types import natural, positive, seconds
from gpudiy.cli.build import BuildPrinter, parse_architectures
from gpudiy.cli.progress import say
from gpudiy.cli.run import DEFAULT_ITERATIONS, load_with_places
from gpudiy.errors import ExitCode, format_count
from gpudiy.harness.build_options import DEFAULT_OPTIONS, LEVELS, BuildOptions

if TYPE_CHECKING:
    from gpudiy.kits.export import Kit

EPILOG = """\
KIT has checked cubins for each architecture, PTX for later ones, and two programs that do the same: one in C, which
needs a compiler and NVIDIA's driver, one in Python, which needs the driver only. On the machine with the GPU `make run`
or `python3 run.py` writes log.jsonl, for a second GPU log-2.jsonl; `gpudiy run --import log.jsonl -o log.txt` makes
records of it.

examples:
  gpudiy export tests/ --arch sm_80,sm_90 -o kit.zip
  gpudiy export sb.litmus --arch sm_86 -s 10000000 --seed 1 -o kit
  gpudiy export tests/ --arch sm_90 --incantation tuned.toml --cuda 12 -o kit

exit code: 0 every test is in the kit, 1 some were refused or cannot be run (if all of them, no kit is made), 2 bad
usage or bad input, 3 a tool is missing or failed"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("paths", metavar="PATH", nargs="+", help=PATH_HELP)
    parser.add_argument(
        "--arch", metavar="SM", type=parse_architectures, required=True, help="architectures, such as sm_80,sm_90"
    )
    parser.add_argument("-o", "--output", metavar="KIT", required=True, help="a new folder, or a file NAME.zip")
    parser.add_argument(
        "-s", "--iterations", type=positive, default=DEFAULT_ITERATIONS, metavar="N",
        help="iterations of each test, at least (default: 100,000)",
    )  # fmt: skip
    parser.add_argument("--seed", type=natural, metavar="N", help="the seed of all launches (default: a new one)")
    parser.add_argument(
        "--incantation", metavar="NAME|FILE", default="default",
        help="default, none, all, switches such as stress+sync+random, or a file of `gpudiy tune`",
    )  # fmt: skip
    parser.add_argument("--limit", "--time-limit", type=seconds, metavar="SECONDS", help="time for each test")
    parser.add_argument(
        "--cuda", type=positive, metavar="MAJOR", help="the newest CUDA that the driver there supports, such as 12"
    )
    parser.add_argument("-j", "--jobs", metavar="N", type=positive, default=2, help="worker processes (default: 2)")
    parser.add_argument(
        "--optimise", metavar="N", type=int, choices=LEVELS, default=DEFAULT_OPTIONS.optimise,
        help="level of the assembler for the code of the tests: 0, 1 or 3 (default: 1)",
    )  # fmt: skip
    loudness = parser.add_mutually_exclusive_group()
    loudness.add_argument("-q", "--quiet", action="store_true", help="print no progress and no summary")
    loudness.add_argument("-v", "--verbose", action="store_true", help="print tools, cache and every finding too")


def run(arguments: Namespace) -> int:
    from gpudiy.devices.settings import make_settings
    from gpudiy.kits.export import EmptyKit, export_kit

    settings = make_settings(
        iterations=arguments.iterations,
        seed=arguments.seed,
        incantation=arguments.incantation,
        limit=arguments.limit,
    )
    found, bad = load_with_places(arguments.paths)
    if not found:
        return ExitCode.BAD_INPUT
    tests = {one.test: one for one in found}
    options = BuildOptions(arguments.optimise, arguments.cuda)
    printer = BuildPrinter(tests.__getitem__, arguments.quiet, arguments.verbose, options)
    output = Path(arguments.output)
    try:
        kit = export_kit(tests, arguments.arch, output, settings, arguments.jobs, options, printer.watch)
    except EmptyKit as problem:
        printer.print_refusals(problem.kit.entries)
        _print_left_out(problem.kit)
        raise
    code = max(printer.print_refusals(kit.entries), _print_kit(kit, len(tests), output, arguments.quiet))
    return max(ExitCode.BAD_INPUT if bad else ExitCode.FINE, code)


def _print_kit(kit: Kit, asked: int, output: Path, quiet: bool) -> ExitCode:
    """Say what is in the kit and what is not; return the exit code."""
    _print_left_out(kit)
    if not quiet:
        print(f"{kit.tests:,} of {format_count(asked, 'test')} in {output}, {_format_bytes(kit.bytes)}")
    return ExitCode.NO if kit.left_out or kit.tests < asked else ExitCode.FINE


def _print_left_out(kit: Kit) -> None:
    for test, reason in kit.left_out:
        say(f"{test.name}: not in the kit: {reason}")


def _format_bytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"
