"""`gpudiy campaign resume`: continue an interrupted campaign."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from gpudiy.cli import campaign_run

EPILOG = """\
The same as `gpudiy campaign run`, but only for a campaign that has already started.

example:
  gpudiy campaign resume plan.toml

exit code: that of `gpudiy campaign run`; 2 if the campaign has not started yet"""


def add_arguments(parser: ArgumentParser) -> None:
    campaign_run.add_arguments(parser)


def run(arguments: Namespace) -> int:
    return campaign_run.run(arguments, begun=True)
