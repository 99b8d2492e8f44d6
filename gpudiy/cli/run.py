"""`gpudiy run`: run tests on devices and write the log."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from gpudiy.cli import PATH_HELP, discard_output
from gpudiy.cli.argument_types import natural, natural_seconds, positive, seconds
from gpudiy.cli.progress import say
from gpudiy.errors import ExitCode, UsageError
from gpudiy.files import expect_writable

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpudiy.devices.settings import RunSettings
    from gpudiy.litmus.draft import SourcedTest
    from gpudiy.litmus.test import Test
    from gpudiy.logs.growing_log import GrowingLog
    from gpudiy.logs.record import Record

DEFAULT_ITERATIONS = 100_000
DEFAULT_LAUNCHES = 32
OPENER = "gpudiy.devices.opening:open_device"
EPILOG = """\
A test is observed when its outcome was seen, and not observed when it was not although the harness could have shown
it; a rate comes with its 95 % interval, a zero with the rate it rules out. What hung, crashed, could not be run or
shows no sign that the harness worked is no evidence, with the reason, and the other tests go on.

examples:
  gpudiy run sb.litmus --device opencl -s 1000000
  gpudiy run tests/ --device sim:kepler -s 100000 --seed 1 -o kepler.jsonl
  gpudiy run tests/ --device cuda:0 --until observed -o log.txt --resume
  gpudiy build tests/ --arch sm_80 -o built && gpudiy run built --device cuda:0
  gpudiy run --import log.jsonl -o a100.txt

exit code: 0 done, 1 a ~exists or forall was violated, 2 bad input, 3 a device failed, could not run any of the tests,
or a run was no evidence"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="+",
        help=f"{PATH_HELP}; or the DIR of `gpudiy build`, to run its cubins as they are; with --import, logs of kits",
    )
    parser.add_argument(
        "--device",
        "-d",
        metavar="D[,D2]",
        help="where to run: opencl, vulkan, sim:kepler, cuda:0; see `gpudiy devices`",
    )
    parser.add_argument(
        "--import",
        dest="import_logs",
        action="store_true",
        help="run nothing: make records of the logs that came back from kits of `gpudiy export`",
    )
    parser.add_argument(
        "-s", "--iterations", type=positive, default=DEFAULT_ITERATIONS, metavar="N",
        help="iterations of each test (default: 100,000)",
    )  # fmt: skip
    parser.add_argument(
        "--seed", type=natural, metavar="N", help="run again what was run with this seed (default: a new one)"
    )
    parser.add_argument(
        "--incantation", metavar="NAME|FILE", default="default",
        help="default, none, all, switches such as stress+sync+random, or a file of `gpudiy tune`",
    )  # fmt: skip
    parser.add_argument(
        "--until", metavar="WHAT", help="stop a test early: observed, a number of sightings, or confidence"
    )
    parser.add_argument(
        "--memory", choices=("device", "managed", "host"), default="device",
        help="where the locations of tests lie: on the GPU, in managed memory, in pinned memory of the host",
    )  # fmt: skip
    parser.add_argument(
        "--launches", type=natural, default=DEFAULT_LAUNCHES, metavar="N",
        help="launches of each test, at least, where the device has launches (default: 32)",
    )  # fmt: skip
    parser.add_argument(
        "--seconds", type=natural_seconds, metavar="S",
        help="run each test at least so long; not on simulated devices (default: 1 on a GPU, else 0)",
    )  # fmt: skip
    parser.add_argument("--limit", "--time-limit", type=seconds, metavar="SECONDS", help="time for each test")
    parser.add_argument(
        "-o", "--output", metavar="LOG", help="write the log here: .txt or .log, .jsonl, .parquet (default: no log)"
    )
    parser.add_argument(
        "--format", choices=("text", "jsonl", "parquet"), help="format of the log, whatever its suffix is"
    )
    parser.add_argument("--resume", action="store_true", help="add to the log; tests that are in it are not run again")
    parser.add_argument("--json", action="store_true", help="print the records as JSON lines, with their sightings")
    loudness = parser.add_mutually_exclusive_group()
    loudness.add_argument("-q", "--quiet", action="store_true", help="print no progress and no speed")
    loudness.add_argument("-v", "--verbose", action="store_true", help="print outcomes and signs of life too")


def run(arguments: Namespace) -> int:
    from gpudiy.cli.run_output import RunTable
    from gpudiy.devices.opening import list_device_names
    from gpudiy.harness.built import find_built_folder, load_built_tests
    from gpudiy.logs.growing_log import open_log_of_run

    if arguments.import_logs:
        return _import_logs(arguments)
    if arguments.device is None:
        raise UsageError("--device is missing: name where to run, such as --device opencl; see `gpudiy devices`")
    devices = list_device_names(arguments.device)
    settings = run_settings(arguments)
    built = find_built_folder(arguments.paths)
    tests, bad = load(arguments.paths) if built is None else (load_built_tests(built), 0)
    log = open_log_of_run(arguments.output or None, arguments.format, resume=arguments.resume, report_damage=say)
    table = RunTable(arguments.quiet, arguments.verbose)
    code = ExitCode.BAD_INPUT if bad else ExitCode.FINE
    show_record: Callable[[Record], None] = _print_json_line if arguments.json else table.show
    if log is not None:
        show_record = _survive_closed_output(show_record)
    try:
        for device in devices:
            code = max(code, _run_on(device, tests, built, settings, log, show_record, arguments.quiet))
    except KeyboardInterrupt:
        kept = f"; what was finished is in {arguments.output}" if log is not None else ""
        say(f"gpudiy: interrupted{kept}")
        code = ExitCode.INTERRUPTED
    finally:
        if log is not None:
            log.close()
    if not arguments.json and table.sightings:
        table.finish()
    return code


def _import_logs(arguments: Namespace) -> int:
    """Print and write the records of the logs of kits, as if the tests had been run here."""
    from gpudiy.cli.run_output import RunTable
    from gpudiy.kits.importing import read_kit_logs, read_records
    from gpudiy.logs.growing_log import open_log_of_run
    from gpudiy.logs.writing import LogFormat, format_of, write_log

    if arguments.device is not None or arguments.resume:
        raise UsageError("--import runs nothing: it takes neither --device nor --resume")
    if not arguments.output:
        open_log_of_run(None, arguments.format)  # refuses a format without a log
    else:
        format = LogFormat(arguments.format) if arguments.format else format_of(arguments.output)
        expect_writable(arguments.output)
    logs = read_kit_logs(arguments.paths, arguments.output)
    for problem in (problem for log in logs for problem in log.problems):
        say(problem)
    records = [record for log in logs for record in read_records(log)]
    without = [log.path for log in logs if not log.tests]
    for path in without:
        say(f"{path}: no test was run: the GPU could not be used, or the log breaks off before")
    if arguments.output and records:
        write_log(records, arguments.output, format=format)
    table = RunTable(arguments.quiet, arguments.verbose)
    show_record: Callable[[Record], None] = _print_json_line if arguments.json else table.show
    for record in records:
        show_record(record)
    if not arguments.json and table.sightings:
        table.finish()
    damaged = ExitCode.BAD_INPUT if any(log.problems for log in logs) else ExitCode.FINE
    failed = ExitCode.FAILED if without else ExitCode.FINE
    return max(damaged, failed, _combine_codes([_exit_code(record) for record in records]))


def run_settings(arguments: Namespace) -> RunSettings:
    """What the command line asks of a run."""
    from gpudiy.devices.settings import make_settings

    return make_settings(
        iterations=arguments.iterations,
        seed=arguments.seed,
        incantation=arguments.incantation,
        until=arguments.until,
        limit=arguments.limit,
        memory=arguments.memory,
        launches=arguments.launches,
        seconds=arguments.seconds,
    )


def load(paths: list[str]) -> tuple[list[Test], int]:
    """The tests of the paths, and how many could not be read; each of these is reported."""
    found, bad = load_with_places(paths)
    return [one.test for one in found], bad


def load_with_places(paths: list[str]) -> tuple[list[SourcedTest], int]:
    """Like `load`, with the source of each test, to report later problems with their position."""
    from gpudiy.litmus.errors import LitmusError
    from gpudiy.litmus.sources import find_sources, load_each_with_places

    found = [one for source in find_sources(paths) for one in load_each_with_places(source)]
    errors = [one for one in found if isinstance(one, LitmusError)]
    for error in errors:
        say(error)
    return [one for one in found if not isinstance(one, LitmusError)], len(errors)


def _run_on(
    device: str,
    tests: list[Test],
    built: Path | None,
    settings: RunSettings,
    log: GrowingLog | None,
    show_record: Callable[[Record], None],
    quiet: bool,
) -> ExitCode:
    from gpudiy.cli.progress import RunProgress
    from gpudiy.devices.run import run_on_device
    from gpudiy.devices.worker import WorkerFailure
    from gpudiy.errors import InputError

    progress = RunProgress(len(tests), settings.iterations, quiet)
    codes = []
    try:
        for record in run_on_device(device, tests, settings, log=log, built=built, watch=progress, opener=OPENER):
            show_record(record)
            codes.append(_exit_code(record))
    except (InputError, WorkerFailure) as error:  # go on with the other devices
        say(error.report("gpudiy run"))
        return error.exit_code
    return _combine_codes(codes)


def _exit_code(record: Record) -> ExitCode | None:
    """The exit code for one record; None if its test cannot be run on the device."""
    from gpudiy.logs.decision import NoEvidence, breaks_claim, decide_sighting

    match decide_sighting(record).kind:
        case NoEvidence.NOT_RUNNABLE:
            return None
        case NoEvidence.FAILED | NoEvidence.HARNESS:
            return ExitCode.FAILED
        case None:
            return ExitCode.NO if breaks_claim(record) else ExitCode.FINE


def _combine_codes(codes: list[ExitCode | None]) -> ExitCode:
    ran = [code for code in codes if code is not None]
    return max(ran) if ran else ExitCode.FAILED if codes else ExitCode.FINE


def _survive_closed_output(show_record: Callable[[Record], None]) -> Callable[[Record], None]:
    """Print records until standard output is closed; the log is still written completely."""

    def show(record: Record) -> None:
        try:
            show_record(record)
            sys.stdout.flush()
        except BrokenPipeError:
            discard_output()

    return show


def _print_json_line(record: Record) -> None:
    from gpudiy.logs.json_lines import print_sighting_line

    print(print_sighting_line(record), end="", flush=True)
