"""`gpudiy campaign run`: do all work of a plan that is not done yet."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from gpudiy.cli import INTERRUPTED
from gpudiy.cli.numbers import positive
from gpudiy.cli.progress import progress, say

if TYPE_CHECKING:
    from gpudiy.campaign.campaign import Campaign, Execute

EPILOG = """\
Whatever is done stays done: interrupt it, kill it, change the plan, and call it again. `gpudiy campaign status` tells
how far it is, also while it runs.

examples:
  gpudiy campaign run plan.toml
  gpudiy campaign run plan.toml --workers 2
  gpudiy campaign run plan.toml --scheduler tcp://node7:8786
  gpudiy campaign run plan.toml --ci --junit result.xml

exit code: 0 done, 1 with --ci: something forbidden was observed, 2 bad plan, 3 a device or a tool failed, 130 interrupted"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("plan", metavar="PLAN", type=Path, help="the plan, a TOML file")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--scheduler", metavar="ADDRESS", help="run on the Dask cluster of this scheduler: tcp://HOST:PORT")
    where.add_argument("--workers", metavar="N", type=positive, help="run on N Dask workers on this machine")
    parser.add_argument(
        "-j", "--jobs", metavar="N", type=positive, default=2, help="processes that decide and build (default: 2)"
    )
    parser.add_argument("--ci", action="store_true", help="compare with the models of the plan; forbidden is exit code 1")
    parser.add_argument("--junit", metavar="FILE", type=Path, help="with --ci: write the result as JUnit XML")
    parser.add_argument("-q", "--quiet", action="store_true", help="print no progress")


def run(arguments: Namespace) -> int:
    from gpudiy.campaign.campaign import Campaign
    from gpudiy.campaign.cluster import ClusterError
    from gpudiy.campaign.plan import read_plan
    from gpudiy.campaign.store import StoreError
    from gpudiy.devices.opening import check_kind
    from gpudiy.devices.worker import WorkerFailure
    from gpudiy.litmus.errors import LitmusError

    try:
        plan = read_plan(arguments.plan)
        for device in plan.run.devices:
            check_kind(device)
        campaign = Campaign(plan)
        return _stages(campaign, arguments)
    except LitmusError as error:
        say(error)
        return 2
    except (ClusterError, StoreError, WorkerFailure) as error:
        say(f"gpudiy campaign: error: {error}")
        say(f"what is finished is kept: `gpudiy campaign resume {arguments.plan}` goes on")
        return 3
    except KeyboardInterrupt:
        say(f"gpudiy: interrupted; what is finished is kept: `gpudiy campaign resume {arguments.plan}` goes on")
        return INTERRUPTED


def _stages(campaign: Campaign, arguments: Namespace) -> int:
    from gpudiy.campaign.verdicts import decided

    plan, quiet = campaign.plan, arguments.quiet
    campaign.books  # noqa: B018 - an incantation that does not exist is an error before any work
    say(f"{plan.name}: {len(campaign.tests):,} tests in {plan.directory}")
    if plan.models.names:
        for _ in zip(decided(plan, campaign.tests, arguments.jobs), progress(campaign.tests, "tests decided", quiet), strict=False):
            pass
    for step in campaign.run(_executor(arguments)):
        if not quiet:
            pass
    for problem in campaign.problems:
        say(problem)
    return 0


def _executor(arguments: Namespace) -> Execute:
    if arguments.scheduler is None and arguments.workers is None:
        from gpudiy.campaign.local import run_locally

        return run_locally
    from gpudiy.campaign.cluster import Cluster

    return Cluster(arguments.scheduler, arguments.workers or 0).run
