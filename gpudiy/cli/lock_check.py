"""`gpudiy lock check`: check by models and on devices whether a lock is right."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gpudiy.cli.argument_types import natural, positive
from gpudiy.cli.lock_reading import LOCK_HELP, add_model_argument, add_reading_arguments, model_names, reading_of
from gpudiy.cli.progress import RunProgress, progress, say
from gpudiy.errors import ExitCode
from gpudiy.files import expect_writable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpudiy.locks.report import LockReport

EPILOG = """\
Every question is asked for 2 and 3 threads in every placement, with lock and data in global and in shared space:
`allowed 30 of 44` says in how many of these settings the model allows an outcome that must not occur. A question
outside the scope of a model is undecided (not supported), which does not count as right. `library` means all locks of
the library.

examples:
  gpudiy lock check he-yu-spinlock --models ptx-asplos15
  gpudiy lock check my-lock.cu --models ptx-6.0 --device opencl -s 1000000
  gpudiy lock check library --models ptx-6.0 -j 2

exit code: 0 right, 1 wrong, 2 bad input or not supported by a model, 3 undecided or a tool or device failed"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("locks", metavar="LOCK", nargs="+", help=LOCK_HELP)
    add_model_argument(parser)
    parser.add_argument(
        "--device", "-d", metavar="D[,D2]", help="also run on these devices: opencl, vulkan, sim:kepler, cuda:0"
    )
    parser.add_argument("-s", "--iterations", type=positive, default=100_000, metavar="N",
                        help="iterations of each test on a device (default: 100,000)")  # fmt: skip
    parser.add_argument("--seed", type=natural, default=1, metavar="N", help="of the runs on devices (default: 1)")
    parser.add_argument("--witness", metavar="DIR", help="draw one execution for every outcome that a model allows")
    parser.add_argument(
        "--format", choices=("svg", "png", "dot", "json"), default="svg", help="of witnesses (default: svg)"
    )
    parser.add_argument("-j", "--jobs", type=positive, default=1, metavar="N", help="worker processes (default: 1)")
    parser.add_argument("--json", action="store_true", help="print one JSON line per answer")
    parser.add_argument("-q", "--quiet", action="store_true", help="print no progress")
    add_reading_arguments(parser)


def run(arguments: Namespace) -> int:
    from gpudiy.devices.opening import list_device_names
    from gpudiy.locks.experiment import run_lock_tests
    from gpudiy.locks.report import check_locks, draw_witnesses
    from gpudiy.locks.source import load_locks

    models = model_names(arguments)
    if arguments.witness:
        expect_writable(arguments.witness, folder=True)
    devices = list_device_names(arguments.device) if arguments.device else []
    locks = load_locks(arguments.locks, reading_of(arguments))
    reports = check_locks(
        locks, models, jobs=arguments.jobs, watch=lambda keys: progress(keys, "tests decided", arguments.quiet)
    )
    experiment = run_lock_tests(
        locks,
        devices,
        iterations=arguments.iterations,
        seed=arguments.seed,
        watch=lambda tests: RunProgress(tests, arguments.iterations, arguments.quiet),
        report_failure=lambda failure: say(failure.report("gpudiy lock check")),
    )
    reports = [replace(report, experiment=experiment) for report in reports]
    print_reports(reports, arguments.json)
    if arguments.witness:
        drawn = draw_witnesses(reports, Path(arguments.witness), arguments.format)
        found = f"{drawn:,} witness{'es' * (drawn != 1)} in {arguments.witness}"
        say(found if drawn else "no model allows an outcome in question: there is no witness to draw")
    return exit_code(reports)


def print_reports(reports: Sequence[LockReport], as_json: bool) -> None:
    """Print one lock in full, many as a table, or all as lines of JSON."""
    from gpudiy.locks.report_text import format_reports, report_rows

    if as_json:
        for report in reports:
            for row in report_rows(report):
                print(json.dumps(row))
    else:
        print(reports[0] if len(reports) == 1 else format_reports(reports))


def exit_code(reports: Sequence[LockReport]) -> int:
    """The exit code of all reports: a wrong lock counts more than an unknown answer."""
    from gpudiy.locks.report import Judgement

    answers = {answer for report in reports for answer in report.answers()}
    if any(report.judgement is Judgement.WRONG for report in reports):
        return ExitCode.NO
    failed = any(report.experiment.failed or report.lock.gaps for report in reports)
    code = ExitCode.FAILED if failed else ExitCode.FINE
    return max(code, *(answer.exit_code for answer in answers), ExitCode.FINE)
