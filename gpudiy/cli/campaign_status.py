"""`gpudiy campaign status`: the progress of a campaign."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path

from gpudiy.cli.campaign_plan import duration
from gpudiy.errors import format_count

EPILOG = """\
This does not disturb a campaign that runs.

example:
  gpudiy campaign status plan.toml

exit code: 0 done, 2 the plan does not exist or has not started yet"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("plan", metavar="PLAN", type=Path, help="the plan, a TOML file")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: Namespace) -> int:
    from gpudiy.campaign.campaign import Campaign
    from gpudiy.campaign.status import read_status

    status = read_status(Campaign.open(arguments.plan, begun=True))
    if arguments.json:
        print(json.dumps(status.as_json()))
        return 0
    print(f"{format_count(status.tests, 'test')}, {status.decided:,} decided; round {status.round} of {status.rounds}")
    for device in status.devices:
        total = device.done + device.left
        share = f"{100 * device.done / total:.0f} %" if total else "nothing to do"
        left = f", {duration(device.seconds_left)} left" if device.left and device.seconds_each else ""
        speed = f", {1 / device.seconds_each:,.1f} runs/s" if device.seconds_each else ""
        print(
            f"  {device.device:<16} {device.done:>8,} of {total:,} runs ({share}){speed}{left}; "
            f"{device.observed:,} tests observed in {device.iterations:,} iterations"
        )
    for ending, count in sorted(status.failures.items()):
        print(f"  {ending:<16} {count:>8,} runs")
    print("done" if not status.left else f"{status.left:,} runs left: `gpudiy campaign resume {arguments.plan}`")
    return 0
