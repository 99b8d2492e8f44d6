"""`gpudiy lock`: prints the verbs for locks."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from gpudiy.cli import BAD_INPUT, SUBVERBS

EPILOG = (
    "verbs:\n"
    + "\n".join(f"  {words[1]:<8}{what}" for words, what in SUBVERBS.items() if words[0] == "lock")
    + """

LOCK is a name of the library, or a file: CUDA C (an acquire and a release function, or one function with
`// critical section` in place of the protected code), PTX (.ptx), or a lock description (.lock).

examples:
  gpudiy lock check he-yu-spinlock --models ptx-asplos15
  gpudiy lock fix my-lock.cu --models ptx-6.0

`gpudiy lock VERB --help` describes one of them."""
)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("verb", metavar="VERB", nargs="?", help="what to do, see below")
    parser.set_defaults(parser=parser)


def run(arguments: Namespace) -> int:
    arguments.parser.print_help(sys.stderr)
    return BAD_INPUT
