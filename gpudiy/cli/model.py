"""`gpudiy model`: decide tests under models."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import replace
from typing import TYPE_CHECKING

from gpudiy.cli.argument_types import positive, seconds
from gpudiy.cli.progress import progress, say
from gpudiy.errors import ExitCode, InputError

if TYPE_CHECKING:
    from gpudiy.models.deciding import DecidedTest
    from gpudiy.models.expectation import Expectations

EPILOG = """\
A verdict is about the outcome a test asks for: allowed if some execution that the model permits ends like this. For
forall it is about what would break the condition. `gpudiy model list` describes the models. More:
`gpudiy model diff --help`, `gpudiy model minimal --help`.

examples:
  gpudiy model sb.litmus --models sc,ptx-6.0
  gpudiy model tests/ --models ptx-asplos15 -j 4 --csv
  gpudiy model mp.litmus --explain
  gpudiy model mp.litmus --witness mp.svg
  gpudiy model mp.litmus --races --explain
  gpudiy model lock.litmus --progress obe

exit code: 0 done, 1 a verdict is not the expected one, or there is a race or a run that may hang, 2 bad input,
or undecided (not supported): the model has no meaning for the test, 3 undecided for another reason"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("paths", metavar="PATH", nargs="+", help="a file, a directory, @LIST, or - for standard input")
    parser.add_argument(
        "--models", "-m", metavar="M1,M2", default="ptx-6.0", help="library models or .cat files (default: %(default)s)"
    )
    question = parser.add_mutually_exclusive_group()
    question.add_argument("--races", action="store_true", help="is there a data race? which accesses?")
    question.add_argument(
        "--progress",
        choices=("fair", "hsa", "obe", "lobe", "lockstep"),
        help="does every run end, if the scheduler promises this?",
    )
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--all-outcomes", action="store_true", help="list all outcomes, as herd does")
    shown.add_argument(
        "--explain", action="store_true", help="show an execution, or the check that forbids the outcome"
    )
    parser.add_argument(
        "--witness", metavar="FILE", help="draw the execution: .svg .png .dot .json (one test, one model)"
    )
    parser.add_argument(
        "--expect", metavar="CSV", help="compare with expected verdicts: test or file, then 1/0 or verdicts"
    )
    parser.add_argument(
        "--engine", choices=("auto", "search", "sat"), default="auto", help="how to decide (default: auto)"
    )
    parser.add_argument(
        "--unroll",
        type=positive,
        metavar="N",
        help="times a loop may go round (default: as often as there is time for)",
    )
    parser.add_argument(
        "--dependencies",
        choices=("syntactic", "semantic", "both"),
        default="syntactic",
        help="what a value depends on: registers by name (default), or reads that can change it; or ask both ways",
    )
    parser.add_argument("--limit", type=seconds, metavar="SECONDS", help="give up on a test after so long")
    parser.add_argument("-j", "--jobs", type=positive, default=1, metavar="N", help="worker processes (default: 1)")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="a JSON line for each test and model")
    form.add_argument("--csv", action="store_true", help="a CSV table of verdicts")
    parser.add_argument("-q", "--quiet", action="store_true", help="print no progress")


def run(arguments: Namespace) -> int:
    from gpudiy.cli.verdict_output import choose_printer
    from gpudiy.litmus.dependencies import choose_kinds
    from gpudiy.litmus.sources import find_sources
    from gpudiy.models.deciding import FileDecider, HowToDecide, decide_files
    from gpudiy.models.expectation import Expectations
    from gpudiy.models.exploration import Engine
    from gpudiy.models.library import list_model_names, load_model

    names = list_model_names(arguments.models)
    for name in names:
        load_model(name)
    sources = list(find_sources(arguments.paths))
    expected = Expectations.read(arguments.expect) if arguments.expect else None
    if arguments.races or arguments.progress is not None:
        from gpudiy.cli.model_questions import ask

        return ask(arguments, sources, names)
    kinds = choose_kinds(arguments.dependencies)
    how = HowToDecide(Engine(arguments.engine), arguments.unroll, arguments.limit, arguments.all_outcomes, kinds[0])
    if arguments.witness is not None:
        from gpudiy.cli.witnessing import draw_execution

        if len(kinds) > 1:
            raise InputError("--witness draws one execution: choose one kind of dependencies")
        return draw_execution(sources, names, arguments.witness, replace(how, all_outcomes=False))
    decider = FileDecider(tuple(names), how, arguments.explain, kinds)
    printer = choose_printer(arguments, names)
    code = 0
    differing: list[str] = []
    found = decide_files(sources, decider, arguments.jobs)
    for tests in progress(found, "files decided", arguments.quiet, len(sources)):
        for decided in tests:
            printer.show(decided)
            code = max(code, _code(decided, expected, within_bound=arguments.unroll is not None))
            differing += [f"{decided.rows[0].test} by {name}" for name in names if decided.differs(name)]
    printer.finish()
    if arguments.dependencies == "both":
        say(f"verdicts that differ with semantic dependencies: {', '.join(differing) or 'none'}")
    if expected is not None:
        say(expected.summary)
        code = max(code, expected.exit_code)
    return code


def _code(decided: DecidedTest, expected: Expectations | None, *, within_bound: bool) -> int:
    """The exit code that a test asks for; what went wrong is printed."""
    from gpudiy.models.verdict import Answer

    if decided.error:
        say(decided.error)
        return ExitCode.BAD_INPUT
    undecided = [row for row in decided.rows if row.verdict.undecided]
    for row in undecided:
        hint = "; --unroll looks further" if row.verdict is Answer.BOUNDED else ""
        say(f"{decided.file}: {row.test} is {row.verdict} by {row.label}: {row.reason}{hint}")
    code = max((row.verdict.exit_code for row in undecided), default=0)
    if expected is None:
        return code
    problem = expected.compare(decided, within_bound=within_bound)  # None if all is as expected, or nothing is
    if problem is None:
        return 0
    say(problem)
    return code or ExitCode.NO
