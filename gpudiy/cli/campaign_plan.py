"""`gpudiy campaign plan`: what a plan will do, and how long it will take."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path

from gpudiy.errors import ExitCode

EPILOG = """\
Nothing is written. The time is estimated by running a few tests on every device.

example:
  gpudiy campaign plan plan.toml

exit code: 0 the plan can be run, 2 it has a mistake, 3 a device is missing"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("plan", metavar="PLAN", type=Path, help="the plan, a TOML file")
    parser.add_argument("--dry-run", action="store_true", help="has no effect: this verb never writes anything")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: Namespace) -> int:
    from dataclasses import asdict

    from gpudiy.campaign.estimate import estimate
    from gpudiy.campaign.plan import read_plan
    from gpudiy.errors import format_count

    plan = read_plan(arguments.plan)
    found = estimate(plan)
    if arguments.json:
        print(json.dumps(asdict(found) | {"seconds": round(found.seconds, 1)}))
    else:
        build = format_count(found.architectures, "architecture")
        print(f"{format_count(found.tests, 'test')}, {format_count(found.models, 'model')}, {build} to build for")
        for device in found.devices:
            time = device.problem or f"about {duration(device.seconds)}"
            failed = f"; {device.not_runnable} of {device.tried} trial tests cannot run" if device.not_runnable else ""
            print(f"  {device.device:<16} {device.runs:>9,} runs  {time}{failed}")
        more = f", then up to {found.rounds - 1} rounds for uncertain tests" if found.rounds > 1 else ""
        print(f"the devices work in parallel: about {duration(found.seconds)}{more}")
    return ExitCode.FAILED if any(device.problem for device in found.devices) else ExitCode.FINE


def duration(seconds: float) -> str:
    """`40 s`, `3 min`, `2 h 10 min`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60:,} h {minutes % 60} min"
