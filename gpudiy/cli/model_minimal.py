"""`gpudiy model minimal`: what it takes to forbid an outcome."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from gpudiy.cli.argument_types import positive, seconds
from gpudiy.errors import ExitCode

if TYPE_CHECKING:
    from gpudiy.litmus.test import Test
    from gpudiy.models.minimal import Repair

EPILOG = """\
Fences can be added between accesses, orders and scopes of accesses made stronger. Each answer is minimal: weaken any
part of it and the outcome is allowed again. The cheapest comes first (cta < gpu < sys, orders < fences, acq_rel < sc).

examples:
  gpudiy model minimal mp.litmus --models ptx-6.0
  gpudiy model minimal mp.litmus --models ptx-6.0 --print

exit code: 0 done, 1 nothing forbids the outcome, 2 bad input, 3 undecided"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("paths", metavar="PATH", nargs="+", help="tests: a file, a directory, @LIST or -; then a model")
    parser.add_argument("--models", "-m", metavar="M", default="ptx-6.0", help="the model (default: %(default)s)")
    parser.add_argument(
        "--unroll",
        type=positive,
        metavar="N",
        help="times a loop may go round (default: as often as there is time for)",
    )
    parser.add_argument("--limit", type=seconds, metavar="SECONDS", help="give up on a test after so long")
    parser.add_argument("--most", type=positive, default=3, metavar="N", help="answers to show for a test (default: 3)")
    parser.add_argument("--print", action="store_true", dest="print_test", help="print the repaired test, canonically")
    parser.add_argument("--json", action="store_true", help="a JSON line for each test")


def run(arguments: Namespace) -> int:
    from gpudiy.litmus.printer import print_any_test
    from gpudiy.litmus.sources import find_sources, load_tests
    from gpudiy.models.library import load_model, model_names
    from gpudiy.models.minimal import minimal_repairs

    code = 0
    paths, name = arguments.paths, arguments.models
    if len(paths) > 1 and (paths[-1] in model_names() or paths[-1].endswith(".cat")):
        *paths, name = paths
    model = load_model(name)
    for source in find_sources(paths):
        for test in load_tests(source):
            repairs = minimal_repairs(test, model, unroll=arguments.unroll, limit=arguments.limit)
            code = code if repairs else ExitCode.NO
            if arguments.json:
                _print_json(test, model.name, repairs[: arguments.most])
                continue
            if not repairs:
                print(f"{test.name}: no fences, orders or scopes make {model.name} forbid it")
            elif not repairs[0].changes:
                print(f"{test.name}: forbidden by {model.name} as it is")
            for number, repair in enumerate(repairs[: arguments.most] if repairs and repairs[0].changes else [], 1):
                print(f"{test.name}: forbidden by {model.name} with" if number == 1 else "  or with")
                print("\n".join(f"    {change}" for change in repair.changes))
                if arguments.print_test:
                    print(print_any_test(repair.test))
    return code


def _print_json(test: Test, model: str, repairs: list[Repair]) -> None:
    """No repair: nothing forbids the outcome; a repair without changes: the test forbids it as it is."""
    from gpudiy.litmus.printer import print_any_test

    answers = [{"changes": list(repair.changes), "text": print_any_test(repair.test)} for repair in repairs]
    print(json.dumps({"test": test.name, "model": model, "repairs": answers}), flush=True)
