"""`gpudiy lock`: says which verbs there are for locks."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from gpudiy.cli import SUBVERBS
from gpudiy.cli.progress import say

EPILOG = (
    "verbs:\n"
    + "\n".join(f"  {words[1]:<8}{what}" for words, what in SUBVERBS.items() if words[0] == "lock")
    + """

A lock is one of the library, or a file: CUDA C (a function that takes it and one that gives it back, or one function
with `// critical section` where the protected code stands), PTX (.ptx), or a lock description (.lock).
`gpudiy lock VERB --help` tells about one of them."""
)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("verb", metavar="VERB", nargs="?", help="what to do, see below")


def run(arguments: Namespace) -> int:
    verbs = ", ".join(words[1] for words in SUBVERBS if words[0] == "lock")
    said = "" if arguments.verb is None else f", not {arguments.verb!r}"
    say(f"gpudiy lock: error: one of {verbs} is wanted{said}")
    return 2
