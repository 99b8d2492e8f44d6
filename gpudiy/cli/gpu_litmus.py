"""`gpu-litmus`: run tests, under the name and with the options of the literature."""

from __future__ import annotations

import secrets
from argparse import ArgumentParser, Namespace
from contextlib import nullcontext

from gpudiy.cli.argument_types import natural, positive, seconds
from gpudiy.cli.help_text import original_parser
from gpudiy.cli.run import DEFAULT_ITERATIONS, DEFAULT_LAUNCHES, OPENER, load, run_settings
from gpudiy.errors import ExitCode

EPILOG = """\
example:
  gpu-litmus -gpu sb.litmus -s 1000

The log is printed as text that the tools of the herd family read. `gpudiy run` has more options, and `gpudiy devices`
lists the devices."""


def main(arguments: list[str] | None = None) -> int:
    """Run gpu-litmus and return its exit code: 0 done, 2 bad usage or bad input, 3 a device failed."""
    from gpudiy.cli import run_command

    given = _parser().parse_args(arguments)
    return run_command(lambda: _run(given), "gpu-litmus")


def _parser() -> ArgumentParser:
    parser = original_parser("gpu-litmus", "Run litmus tests on a GPU and print the log.", EPILOG)
    parser.add_argument("paths", metavar="TEST", nargs="+", help="a .litmus file, a directory, @LIST, or -")
    parser.add_argument("-gpu", action="store_true", help="has no effect: tests are always for GPUs")
    parser.add_argument(
        "-s", dest="size", type=positive, default=DEFAULT_ITERATIONS, metavar="N",
        help="iterations of each test (default: 100000)",
    )  # fmt: skip
    parser.add_argument(
        "-r", dest="runs", type=positive, default=1, metavar="N", help="multiply the iterations by N (default: 1)"
    )
    parser.add_argument("-device", metavar="D", help="where to run (default: the first of `gpudiy devices`)")
    parser.add_argument("-seed", type=natural, metavar="N", help="seed, to repeat a run")
    parser.add_argument(
        "-incantation", metavar="NAME", default="default", help="default, none, all, stress+sync+random, or a file"
    )
    parser.add_argument("-limit", type=seconds, metavar="SECONDS", help="time for each test")
    parser.add_argument("-o", dest="output", metavar="FILE", help="write the log here (default: standard output)")
    parser.add_argument("-q", dest="quiet", action="store_true", help="print no progress")
    return parser


def _run(arguments: Namespace) -> int:
    from gpudiy.cli.progress import RunProgress
    from gpudiy.devices.opening import check_kind, list_devices
    from gpudiy.devices.run import run_on_device
    from gpudiy.logs.growing_log import GrowingLog
    from gpudiy.logs.record import EVIDENCE
    from gpudiy.logs.text_writer import print_text

    arguments.iterations = arguments.size * arguments.runs
    arguments.until = arguments.seconds = None
    arguments.launches, arguments.memory = DEFAULT_LAUNCHES, "device"
    if arguments.seed is None:
        arguments.seed = secrets.randbits(32)
    failed = 0
    device = arguments.device or next((one.name for one in list_devices() if one.there), "")
    check_kind(device)
    settings = run_settings(arguments)
    tests, bad = load(arguments.paths)
    log = GrowingLog.open(arguments.output, "text") if arguments.output else None
    progress = RunProgress(len(tests), settings.iterations, arguments.quiet)
    with log or nullcontext():
        for record in run_on_device(device, tests, settings, log=log, watch=progress, opener=OPENER):
            if log is None:
                print(print_text(record), end="", flush=True)
            failed += record.ending not in EVIDENCE
    return ExitCode.BAD_INPUT if bad else ExitCode.FAILED if failed else ExitCode.FINE
