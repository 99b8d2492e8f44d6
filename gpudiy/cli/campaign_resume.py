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
    return campaign_run.run(arguments, begun=True)
