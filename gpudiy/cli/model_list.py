"""`gpudiy model list`: what models cover, where they come from, what they do not cover."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from textwrap import fill

EPILOG = """\
MODEL is a model of the library or a .cat file. Without one, all models of the library are described. The words are
those of the comment at the top of the file of the model.

examples:
  gpudiy model list
  gpudiy model list ptx-6.0

exit code: 0 done, 2 bad input"""
WIDTH = 100


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("models", metavar="MODEL", nargs="*", help="a model of the library, or a .cat file")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--names", action="store_true", help="names only, one per line")
    form.add_argument("--json", action="store_true", help="one line of JSON per model")


def run(arguments: Namespace) -> int:
    from gpudiy.models.description import describe_model
    from gpudiy.models.library import load_model, model_names

    for place, name in enumerate(arguments.models or model_names()):
        found = describe_model(load_model(name))
        if arguments.names:
            print(found.name)
        elif arguments.json:
            print(json.dumps(asdict(found)))
        else:
            if place:
                print()
            print(f"{found.name}: {found.title} ({found.chips})")
            for word, text in (("covers", found.covers), ("source", found.source), ("not covered", found.not_covered)):
                if text:
                    print(fill(text, WIDTH, initial_indent=f"  {word + ':':<13}", subsequent_indent=" " * 15))
    return 0
