"""`gpudiy model diff`: the smallest generated tests on which two models differ."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from gpudiy.arguments import list_names
from gpudiy.cli.argument_types import positive, seconds
from gpudiy.cli.progress import progress, say
from gpudiy.errors import ExitCode, format_count
from gpudiy.files import expect_writable

if TYPE_CHECKING:
    from gpudiy.models.difference import ModelDifference

FAMILIES = "coherence,classic,dependencies,rmw,scoped,modern"
EPILOG = """\
Tests are made from cycles of edges, those with few edges first, until enough differences are found. Each comes with the
execution that one model allows, and the check by which the other forbids it. Tests that a model gives no meaning to
are skipped.

examples:
  gpudiy model diff sc tso
  gpudiy model diff ptx-6.0 my-model.cat --most 10 -o differences

exit code: 0 no difference found, 1 the models differ, 2 bad input, 3 no difference found, but not all tests decided"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("one", metavar="M1", help="a model of the library, or a .cat file")
    parser.add_argument("other", metavar="M2", help="another one")
    parser.add_argument(
        "--most", type=positive, default=3, metavar="N", help="differences to show (default: %(default)s)"
    )
    parser.add_argument(
        "--edges", type=positive, default=6, metavar="N", help="edges of a cycle at most (default: %(default)s)"
    )
    parser.add_argument(
        "--families", default=FAMILIES, metavar="F1,F2", help="where tests come from (default: %(default)s)"
    )
    parser.add_argument(
        "-o", "--output", metavar="DIR", help="write the tests and pictures of their executions into DIR"
    )
    parser.add_argument("--limit", type=seconds, metavar="SECONDS", help="give up on a test after so long")
    parser.add_argument("--json", action="store_true", help="a JSON line for each difference")
    parser.add_argument("-q", "--quiet", action="store_true", help="print no progress")


def run(arguments: Namespace) -> int:
    from gpudiy.diy.smallest import smallest_tests
    from gpudiy.models.difference import compare_models
    from gpudiy.models.library import load_model

    if arguments.output is not None:
        expect_writable(arguments.output, folder=True)
    one, other = (load_model(name) for name in (arguments.one, arguments.other))
    tests = smallest_tests(list_names(arguments.families.replace(" ", ","), "--families"), arguments.edges)
    found = skipped = 0
    for compared in progress(compare_models(tests, one, other, arguments.limit), "tests compared", arguments.quiet):
        skipped += compared.undecided
        if not compared.differs:
            continue
        found += 1
        if arguments.json:
            _print_json(compared)
        else:
            _show(compared, arguments.limit)
        if arguments.output is not None:
            _write(compared, Path(arguments.output))
        if found >= arguments.most:
            break
    if skipped:
        say(f"{format_count(skipped, 'test')} skipped: undecided by one of the models")
    if not found and not arguments.json:
        names = f"{one.name} from {other.name}"
        print(f"no test of these families with at most {arguments.edges} edges distinguishes {names}")
    return ExitCode.NO if found else ExitCode.FAILED if skipped else ExitCode.FINE


def _print_json(compared: ModelDifference) -> None:
    from gpudiy.litmus.printer import print_any_test

    test, (first, second) = compared.test, compared.verdicts
    names = {"allowed_by": first.model.name, "forbidden_by": second.model.name}
    print(json.dumps({"test": test.name, **names, "text": print_any_test(test)}), flush=True)


def _show(compared: ModelDifference, limit: float | None) -> None:
    from gpudiy.models.report import explanation_within

    first, second = compared.verdicts
    print(f"{compared.test.name}: allowed by {first.model.name}, forbidden by {second.model.name}")
    for verdict in (first, second):
        print("\n".join(f"  {line}" for line in explanation_within(verdict, limit).splitlines()))
    print()


def _write(compared: ModelDifference, folder: Path) -> None:
    from gpudiy.files import write_whole
    from gpudiy.litmus.printer import print_any_test
    from gpudiy.models.execution_picture import picture_of_explanation
    from gpudiy.models.explanation import explain
    from gpudiy.pictures.writing import write_picture

    test = compared.test
    write_whole(folder / f"{test.name}.litmus", print_any_test(test))
    for verdict in compared.verdicts:
        write_picture(picture_of_explanation(explain(verdict)), folder / f"{test.name}.{verdict.model.name}.svg")
