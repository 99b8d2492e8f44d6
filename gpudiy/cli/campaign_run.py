"""`gpudiy campaign run`: do all work of a plan that is not finished."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from gpudiy.cli.argument_types import positive
from gpudiy.cli.progress import ProgressLine, progress, say
from gpudiy.errors import ExitCode, format_count
from gpudiy.files import expect_writable

if TYPE_CHECKING:
    from gpudiy.campaign.campaign import Campaign, CampaignStep, Execute

EPILOG = """\
Finished work is kept: interrupt the campaign, kill it, change the plan, and call it again. `gpudiy campaign status`
shows the progress, also while it runs.

examples:
  gpudiy campaign run plan.toml
  gpudiy campaign run plan.toml --workers 2
  gpudiy campaign run plan.toml --scheduler tcp://node7:8786
  gpudiy campaign run plan.toml --ci --junit result.xml

exit code: 0 done, 1 with --ci: a forbidden outcome was observed, 2 bad plan or a file that cannot be
written, 3 a device or a tool failed, 130 interrupted"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("plan", metavar="PLAN", type=Path, help="the plan, a TOML file")
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--scheduler", metavar="ADDRESS", help="run on the Dask cluster of this scheduler, tcp://HOST:PORT"
    )
    where.add_argument("--workers", metavar="N", type=positive, help="run on N Dask workers on this machine")
    parser.add_argument(
        "-j", "--jobs", metavar="N", type=positive, default=2, help="processes that decide and build (default: 2)"
    )
    parser.add_argument(
        "--ci", action="store_true", help="compare with the models of the plan; a forbidden outcome is exit code 1"
    )
    parser.add_argument("--junit", metavar="FILE", type=Path, help="with --ci: write the result as JUnit XML")
    loudness = parser.add_mutually_exclusive_group()
    loudness.add_argument("-q", "--quiet", action="store_true", help="print no progress")
    loudness.add_argument("-v", "--verbose", action="store_true", help="print every record as it comes")


def run(arguments: Namespace, begun: bool = False) -> int:
    from gpudiy.campaign.campaign import Campaign
    from gpudiy.campaign.store import StoreInUse
    from gpudiy.errors import GpudiyError, InputError

    if arguments.junit is not None:
        expect_writable(arguments.junit)
    try:
        campaign = Campaign.open(arguments.plan, begun=begun)
        campaign.check()
        return _do_stages(campaign, arguments)
    except (InputError, StoreInUse):
        raise
    except (GpudiyError, OSError, KeyboardInterrupt) as error:
        error.add_note(f"finished work is kept: `gpudiy campaign resume {arguments.plan}` continues")
        raise


def _do_stages(campaign: Campaign, arguments: Namespace) -> int:
    plan, quiet = campaign.plan, arguments.quiet
    known = len(campaign.books)
    print(
        f"{plan.name}: {format_count(len(campaign.tests), 'test')} on {', '.join(plan.run.devices) or 'no device'}"
        f" under {format_count(known, 'incantation')}, in {plan.directory}"
    )
    if plan.models.names:
        for _ in progress(campaign.decide(arguments.jobs), "tests decided", quiet):
            pass
    code = _build(campaign, arguments) if plan.build.architectures else 0
    watch = _RunWatcher(quiet, arguments.verbose)
    for step in campaign.run(_choose_executor(arguments)):
        watch.show(step)
    watch.line.clear()
    for problem in campaign.problems:
        say(problem)
    _print_summary(campaign)
    if arguments.ci:
        code = max(code, _conform(campaign, arguments))
    if plan.report and plan.run.devices:
        _report(campaign, arguments)
    return code


def _build(campaign: Campaign, arguments: Namespace) -> ExitCode:
    """Build for the architectures of the plan; a test that is changed by the compiler is a result, not a failure."""
    from gpudiy.cli.build import BuildPrinter

    printer = BuildPrinter(campaign.find_source, arguments.quiet)
    code = printer.finish(campaign.build(arguments.jobs, printer.watch), campaign.built_path)
    return ExitCode.FAILED if code == ExitCode.FAILED else ExitCode.FINE


def _choose_executor(arguments: Namespace) -> Execute:
    if arguments.scheduler is None and arguments.workers is None:
        from gpudiy.campaign.local import run_locally

        return run_locally
    from gpudiy.campaign.cluster import DaskCluster

    return DaskCluster(arguments.scheduler, arguments.workers or 0).run


class _RunWatcher:
    """Shows the progress of the runs on standard error."""

    def __init__(self, quiet: bool, verbose: bool) -> None:
        self.quiet = quiet
        self.verbose = verbose
        self.line = ProgressLine(quiet)
        self.round = self.first = 0
        self.start = 0.0

    def show(self, step: CampaignStep) -> None:
        if self.verbose:
            self._print_record(step)
            return
        if step.round != self.round:
            self.round, self.first, self.start = step.round, step.done - 1, time.monotonic()
        if self.line.is_due():
            seconds = time.monotonic() - self.start
            rate = f"{(step.done - self.first) / seconds:,.1f}/s, " if seconds > 0.1 else ""
            text = f"round {step.round}: {step.done:,} of {step.total:,} runs, {rate}last {step.record.test}"
            self.line.show(text, step.done, step.total)

    def _print_record(self, step: CampaignStep) -> None:
        from gpudiy.cli.run_output import describe_counts
        from gpudiy.logs.decision import decide_record

        decision = decide_record(step.record)
        counts = describe_counts(step.record, decision)
        say(f"round {step.round}: {step.record.device}: {step.record.test}: {decision.sighting}, {counts}")


def _print_summary(campaign: Campaign) -> None:
    from gpudiy.campaign.status import read_status

    status = read_status(campaign)
    for device in status.devices:
        print(
            f"{device.device}: {format_count(device.done, 'run')}, {device.iterations:,} iterations,"
            f" {device.observed:,} of {format_count(status.tests, 'test')} observed"
        )
    if status.failures:
        print("; ".join(f"{count:,} {ending}" for ending, count in sorted(status.failures.items())))


def _conform(campaign: Campaign, arguments: Namespace) -> int:
    """Compare the records with the models; return 1 if a forbidden outcome was observed."""
    from gpudiy.files import write_whole
    from gpudiy.logs.conformance import Agreement

    found = campaign.conform()
    for name, conformance in found.by_model.items():
        forbidden = conformance.count(Agreement.FORBIDDEN)
        print(f"{name}: {format_count(len(conformance.judged), 'test')} judged, {forbidden:,} observed but forbidden")
        for finding in conformance.findings:
            print(f"  {finding.test} on {finding.chip}: {finding.outcome} {finding.count:,} times")
    if arguments.junit is not None:
        write_whole(arguments.junit, found.junit_text())
        print(f"{arguments.junit} written")
    return ExitCode.NO if found.forbidden else ExitCode.FINE


def _report(campaign: Campaign, arguments: Namespace) -> None:
    report = campaign.report(
        arguments.jobs, lambda verdicts, total: progress(verdicts, "tests decided", arguments.quiet, total)
    )
    tests, chips = format_count(len(report.tests), "test"), format_count(len(report.chips), "chip")
    print(f"{tests} on {chips}: {campaign.report_path}")
