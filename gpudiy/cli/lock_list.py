"""`gpudiy lock list`: the locks of the library."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace

EPILOG = """\
examples:
  gpudiy lock list
  gpudiy lock list --names

exit code: 0 done"""


def add_arguments(parser: ArgumentParser) -> None:
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--names", action="store_true", help="names only, one per line")
    form.add_argument("--json", action="store_true", help="one line of JSON per lock")


def run(arguments: Namespace) -> int:
    from gpudiy.locks.library import list_library

    found = list_library()
    width = max(len(entry.name) for entry in found) + 2
    for entry in found:
        if arguments.names:
            print(entry.name)
        elif arguments.json:
            print(json.dumps({"name": entry.name, "file": entry.file, "what": entry.what, "source": entry.source,
                              "wrong": entry.wrong or None, "mended": entry.mended}))  # fmt: skip
        else:
            print(f"{entry.name:<{width}}{'wrong' if entry.wrong else 'right':<7}{entry.what}")
    return 0
