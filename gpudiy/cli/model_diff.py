"""`gpudiy model diff`: the smallest generated tests on which two models differ."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from gpudiy.cli.argument_types import positive, seconds
from gpudiy.cli.progress import progress, say
from gpudiy.errors import ExitCode, format_count
from gpudiy.files import expect_writable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpudiy.litmus.test import Test
    from gpudiy.models.verdict import Verdict

FAMILIES = "coherence,classic,dependencies,rmw,scoped,modern"
EPILOG = """\
Tests are made from cycles of edges, those with few edges first, until enough differences are found. Each comes with the
execution that one model allows, and the check by which the other forbids it. Tests that a model gives no meaning to
are passed over.

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
    from gpudiy.models.library import load_model
    from gpudiy.models.verdict import decide

    if arguments.output is not None:
        expect_writable(arguments.output, folder=True)
    models = [load_model(name) for name in (arguments.one, arguments.other)]
    tests = _tests(arguments.families.replace(",", " ").split(), arguments.edges)
    found = passed_over = 0
    for test in progress(tests, "tests compared", arguments.quiet):
        verdicts = [decide(test, model, limit=arguments.limit) for model in models]
        passed_over += any(verdict.undecided for verdict in verdicts)
        first, second = sorted(verdicts, key=lambda verdict: not verdict.allowed)
        if first.allowed and second.forbidden:
            found += 1
            if arguments.json:
                _print_json(test, first, second)
            else:
                _show(test, first, second, arguments.limit)
            if arguments.output is not None:
                _write(test, (first, second), Path(arguments.output))
            if found >= arguments.most:
                break
    if passed_over:
        say(f"{format_count(passed_over, 'test')} skipped: undecided by one of the models")
    if not found and not arguments.json:
        names = f"{models[0].name} from {models[1].name}"
        print(f"no test of these families with at most {arguments.edges} edges distinguishes {names}")
    return ExitCode.NO if found else ExitCode.FAILED if passed_over else ExitCode.FINE


def _tests(families: list[str], most: int) -> Iterator[Test]:
    """The tests of the families, by the number of edges of their cycles; each shape once."""
    from dataclasses import replace

    from gpudiy.diy.families import FAMILIES as KNOWN
    from gpudiy.diy.generator import Generator
    from gpudiy.errors import InputError, near_name
    from gpudiy.litmus.reader import read_test
    from gpudiy.litmus.shape import shape_hash

    for name in families:
        if name not in KNOWN:
            hint = near_name(name, list(KNOWN)) or "families: " + ", ".join(KNOWN)
            raise InputError(f"unknown family {name!r}", hint=hint)
    seen: set[str] = set()
    for edges in range(2, most + 1):
        for name in families:
            recipe = KNOWN[name].recipe()
            recipe = replace(recipe, limits=replace(recipe.limits, edges=min(edges, recipe.limits.edges)))
            for blueprint in Generator(recipe).blueprints():
                if len(blueprint.edges) == edges:
                    test = read_test(blueprint.text(), blueprint.name)
                    shape = shape_hash(test)
                    if shape not in seen:
                        seen.add(shape)
                        yield test


def _print_json(test: Test, first: Verdict, second: Verdict) -> None:
    from gpudiy.litmus.printer import print_any_test

    names = {"allowed_by": first.model.name, "forbidden_by": second.model.name}
    print(json.dumps({"test": test.name, **names, "text": print_any_test(test)}), flush=True)


def _show(test: Test, first: Verdict, second: Verdict, limit: float | None) -> None:
    from gpudiy.models.report import explanation_within

    print(f"{test.name}: allowed by {first.model.name}, forbidden by {second.model.name}")
    for verdict in (first, second):
        print("\n".join(f"  {line}" for line in explanation_within(verdict, limit).splitlines()))
    print()


def _write(test: Test, verdicts: tuple[Verdict, Verdict], folder: Path) -> None:
    from gpudiy.files import write_whole
    from gpudiy.litmus.printer import print_any_test
    from gpudiy.models.execution_picture import picture_of_explanation
    from gpudiy.models.explanation import explain
    from gpudiy.pictures.writing import write_picture

    write_whole(folder / f"{test.name}.litmus", print_any_test(test))
    for verdict in verdicts:
        write_picture(picture_of_explanation(explain(verdict)), folder / f"{test.name}.{verdict.model.name}.svg")
