"""Verbs that only have verbs of their own: they print which these are."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from gpudiy.cli import SUBVERBS
from gpudiy.errors import ExitCode


def epilog_of(verb: str, about: str) -> str:
    """The end of the help text: the verbs, then what else is to say."""
    verbs = "\n".join(f"  {words[1]:<8}{what}" for words, what in SUBVERBS.items() if words[0] == verb)
    return f"verbs:\n{verbs}\n\n{about}\n\n`gpudiy {verb} VERB --help` describes one of them."


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("verb", metavar="VERB", nargs="?", help="what to do, see below")
    parser.set_defaults(parser=parser)


def run(arguments: Namespace) -> int:
    arguments.parser.print_help(sys.stderr)
    return ExitCode.BAD_INPUT
