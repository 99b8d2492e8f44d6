"""`gpudiy campaign resume`: go on with a campaign that was interrupted."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from gpudiy.cli import campaign_run

EPILOG = """\
The same as `gpudiy campaign run`, for a campaign that was begun: a misspelt plan begins nothing.

example:
  gpudiy campaign resume plan.toml

exit code: that of `gpudiy campaign run`; 2 if the campaign was not begun"""


def add_arguments(parser: ArgumentParser) -> None:
    campaign_run.add_arguments(parser)


def run(arguments: Namespace) -> int:
    from gpudiy.campaign.plan import read_plan
    from gpudiy.errors import InputError

    plan = read_plan(arguments.plan)
    if not plan.directory.is_dir():
        hint = f"`gpudiy campaign run {arguments.plan}` begins it"
        raise InputError("this campaign was not begun", path=str(arguments.plan), hint=hint)
    return campaign_run.run(arguments)
