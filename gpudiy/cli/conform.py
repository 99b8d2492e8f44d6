"""`gpudiy conform`: logs compared with a memory model."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from gpudiy.cli.argument_types import positive, seconds
from gpudiy.cli.log_input import LOG_HELP, load_logs, report_clashes
from gpudiy.cli.progress import progress, say
from gpudiy.errors import ExitCode, format_count

if TYPE_CHECKING:
    from gpudiy.logs.conformance import Breach, Conformance, ConformanceRow

EPILOG = """\
Every outcome of every histogram is compared with all outcomes that the model allows. An outcome that it forbids is a
bug of the chip, of the model, or of the harness. For a record without histogram, only its condition is compared.
Records that are no evidence (failed, changed by the compiler, or without signs that the harness worked) and records
without a readable test are set apart and counted.

examples:
  gpudiy conform titan.log --model ptx-asplos15
  gpudiy conform old.txt --model my-model.cat --tests tests/

exit code: 0 no forbidden outcome was observed, 1 one was, 2 bad input, or no record could be judged"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("logs", metavar="LOG", nargs="+", help=LOG_HELP)
    parser.add_argument(
        "--model", "--models", "-m", required=True, metavar="M", help="a model of the library, or a .cat file"
    )
    parser.add_argument(
        "--tests", action="append", default=[], metavar="PATH", help="tests for records that do not contain their test"
    )
    parser.add_argument("--limit", type=seconds, metavar="SECONDS", help="seconds for one test")
    parser.add_argument(
        "--most", type=positive, default=10, metavar="N", help="findings and tests to show (default: %(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")
    parser.add_argument("-q", "--quiet", action="store_true", help="print no progress")


def run(arguments: Namespace) -> int:
    from gpudiy.litmus.loading import read_all
    from gpudiy.logs.conformance import Agreement, conform
    from gpudiy.models.library import load_model

    model = load_model(arguments.model)  # mistakes in a model or a test are reported before the logs are read
    tests = read_all(arguments.tests)
    found = conform(
        load_logs(arguments.logs),
        model,
        tests=tests,
        limit=arguments.limit,
        watch=lambda groups: progress(groups, "tests judged", arguments.quiet),
    )
    report_clashes(found.clashes)
    if arguments.json:
        print(json.dumps(found.as_json(), indent=2))
    else:
        _print_conformance(found, arguments.most)
    if found.count(Agreement.FORBIDDEN):
        return ExitCode.NO
    return ExitCode.FINE if found.judged else ExitCode.BAD_INPUT


def _print_conformance(found: Conformance, most: int) -> None:
    from gpudiy.logs.conformance import Agreement

    for finding in found.findings[:most]:
        _print_breach(finding, found.model)
    if len(found.findings) > most:
        print(f"… and {len(found.findings) - most:,} more findings\n")
    for answer in Agreement:
        print(f"{answer:<30}{found.count(answer):>9,}")
    for reason, number in found.apart.most_common():
        print(f"set apart: {format_count(number, 'record')}, {reason}")
    never = [entry for entry in found.judged if entry.answer is Agreement.NEVER]
    if never:
        print(f"\n{Agreement.NEVER}:")
        width = max(len(entry.test) for entry in never[:most])
        for entry in never[:most]:
            print(f"  {entry.test:<{width}}  {entry.chip}  0/{entry.iterations:,}: {_describe_zero(entry)}")
        if len(never) > most:
            print(f"  … and {len(never) - most:,} more")
    if not found.judged:
        say("error: no record could be judged")


def _describe_zero(row: ConformanceRow) -> str:
    """The rate that a zero rules out; where launches are known, also what it says if those of one are all alike."""
    from gpudiy.logs.statistics import zero_bound

    beside = "" if row.launches is None else f" (0 of {row.launches:,} launches: below {zero_bound(row.launches):.2g})"
    return f"below {zero_bound(row.iterations):.2g}{beside}"


def _print_breach(finding: Breach, model: str) -> None:
    why = " and ".join(finding.checks) or "every model: no run of the threads ends like this"
    print(f"{finding.place}: {finding.test} on {finding.chip}: observed {finding.count:,}/{finding.iterations:,}")
    print(f"  {finding.outcome}\n  forbidden by {model}: {why}")
    print("\n".join(f"  {line}" for line in finding.explanation.splitlines()[1:]) + "\n")
