"""`gpudiy model`: decide tests under models."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from gpudiy.cli.numbers import positive, seconds
from gpudiy.cli.progress import progress, say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpudiy.cli.expectation import Expectations
    from gpudiy.models.judging import Answer

EPILOG = """\
A verdict is about the outcome a test asks for: allowed if some execution that the model permits ends so. For forall it
is about what would break the condition. `gpudiy model diff --help` and `gpudiy model minimal --help` tell of more.

examples:
  gpudiy model sb.litmus --models sc,ptx-6.0
  gpudiy model tests/ --models ptx-asplos15 -j 4 --csv
  gpudiy model mp.litmus --explain
  gpudiy model mp.litmus --witness mp.svg

exit code: 0 done, 1 a verdict is not the expected one, 2 bad input, 3 undecided within the time limit"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("paths", metavar="PATH", nargs="+", help="a file, a directory, @LIST, or - for standard input")
    parser.add_argument(
        "--models", "-m", metavar="M1,M2", default="ptx-6.0", help="library models or .cat files (default: %(default)s)"
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
        "--unroll", type=positive, default=2, metavar="N", help="times a loop may go round (default: 2)"
    )
    parser.add_argument("--limit", type=seconds, metavar="SECONDS", help="give up on a test after so long")
    parser.add_argument("-j", "--jobs", type=positive, default=1, metavar="N", help="worker processes (default: 1)")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="a JSON line for each test and model")
    form.add_argument("--csv", action="store_true", help="a CSV table of verdicts")
    parser.add_argument("-q", "--quiet", action="store_true", help="print no progress")


def run(arguments: Namespace) -> int:
    from gpudiy.cli.expectation import Expectations
    from gpudiy.cli.verdict_output import printer_for
    from gpudiy.errors import InputError
    from gpudiy.litmus.sources import find_sources
    from gpudiy.models.judging import Judge
    from gpudiy.models.library import load_model

    names = list(dict.fromkeys(arguments.models.replace(",", " ").split()))
    if not names:
        raise InputError("no model is named", hint="--models takes names such as ptx-6.0, or .cat files")
    for name in names:
        load_model(name)
    sources = list(find_sources(arguments.paths))
    expected = Expectations.read(arguments.expect) if arguments.expect else None
    if arguments.witness is not None:
        from gpudiy.cli.witnessing import draw

        return draw(sources, names, arguments.witness, arguments.unroll)
    judge = Judge(
        tuple(names), arguments.engine, arguments.unroll, arguments.limit,
        "outcomes" if arguments.all_outcomes else "explain" if arguments.explain else "verdict",
    )  # fmt: skip
    printer = printer_for(arguments, names)
    code = bounded = 0
    for answers in _answers(judge, sources, arguments.jobs, arguments.quiet):
        for answer in answers:
            printer.show(answer)
            code = max(code, _code(answer, expected))
            bounded += answer.bounded
    printer.finish()
    if bounded:
        tests = "1 test has" if bounded == 1 else f"{bounded:,} tests have"
        say(f"note: {tests} loops that may go round more than {arguments.unroll} times; --unroll looks further")
    return code if expected is None else max(code, expected.finish())


def _answers(judge: object, sources: list[str], jobs: int, quiet: bool) -> Iterator[list[Answer]]:
    from gpudiy.models.judging import Judge

    assert isinstance(judge, Judge)
    if jobs == 1 or len(sources) == 1:
        yield from map(judge, progress(sources, "files decided", quiet))
        return
    from multiprocessing import Pool

    with Pool(jobs, initializer=leave_interrupts_to_the_parent) as pool:
        results = pool.imap(judge, sources, chunksize=max(1, min(16, len(sources) // (4 * jobs))))
        for _, answers in zip(progress(sources, "files decided", quiet), results, strict=True):
            yield answers


def leave_interrupts_to_the_parent() -> None:
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _code(answer: Answer, expected: Expectations | None) -> int:
    if answer.error is not None:
        say(answer.error)
        if expected is not None and answer.test and not expected.expects(answer):
            return 0  # nothing is expected of this test
        return 3 if answer.undecided else 2
    if expected is None:
        return 0
    problem = expected.compare(answer)
    if problem is not None:
        say(problem)
    return 0 if problem is None else 1
