"""`gpudiy campaign`: prints the verbs for campaigns."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from gpudiy.cli import BAD_INPUT, SUBVERBS

EPILOG = (
    "verbs:\n"
    + "\n".join(f"  {words[1]:<8}{what}" for words, what in SUBVERBS.items() if words[0] == "campaign")
    + """

examples:
  gpudiy campaign init plan.toml
  gpudiy campaign run plan.toml

`gpudiy campaign VERB --help` describes one of them."""
)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("verb", metavar="VERB", nargs="?", help="what to do, see below")
    parser.set_defaults(parser=parser)


def run(arguments: Namespace) -> int:
    arguments.parser.print_help(sys.stderr)
    return BAD_INPUT
