"""`gpudiy campaign`: what its subverbs are."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from gpudiy.cli import BAD_INPUT

WORDS = ("init", "plan", "run", "status", "resume")
EPILOG = """\
  gpudiy campaign init plan.toml      write a commented plan
  gpudiy campaign plan plan.toml      what it would do, and about how long it takes
  gpudiy campaign run plan.toml       do it; what is done already is not done again
  gpudiy campaign status plan.toml    how far it is
  gpudiy campaign resume plan.toml    go on with one that was interrupted

`gpudiy campaign run --help` and the like tell about one of them."""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("word", metavar="|".join(WORDS), choices=WORDS, help="what to do, see below")


def run(arguments: Namespace) -> int:
    print(f"gpudiy campaign {arguments.word}: error: no plan is named", file=sys.stderr)
    return BAD_INPUT
