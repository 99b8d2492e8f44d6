"""`gpudiy report`: a page of what chips showed."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from gpudiy.cli.argument_types import positive
from gpudiy.cli.progress import progress
from gpudiy.cli.table import names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpudiy.logs.html_report.judgement import Judgement
    from gpudiy.logs.tables.tally import Observations

PICTURES = 100
EPILOG = """\
The page is one file that needs no network: a heat map, a table to sort and filter, each test with its program, the
execution behind its weak outcome, verdicts of models, rates with intervals and outcomes; two chips side by side; what
incantations do. `#test=NAME` at the end of its address opens a test.

Deciding and drawing take most of the time: --models none leaves verdicts and pictures out, --pictures N asks for more
or fewer pictures (tests that tell chips apart come first).

examples:
  gpudiy report titan.log gtx750.log -o report.html
  gpudiy report logs/ --plots plots --title 'All published counts'

exit code: 0 done, 2 bad input, 3 a tool is missing or a file cannot be written"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("logs", metavar="LOG", nargs="+", help="a log, a directory of logs, or a pattern of names")
    parser.add_argument("-o", "--output", metavar="FILE", default="report.html", help="the page (default: %(default)s)")
    parser.add_argument("--title", metavar="TEXT", default="What the chips showed", help="the heading of the page")
    parser.add_argument("--tests", metavar="NAMES", type=names, action="extend", default=[], help="only these: MP*,SB")
    parser.add_argument(
        "--chips", metavar="NAMES", type=names, action="extend", default=[], help="only these, so ordered"
    )
    parser.add_argument(
        "--best", action="store_true", help="of several records of a test the one with the highest rate"
    )
    parser.add_argument(
        "--models", metavar="M1,M2", type=_models, help="models that decide, or none (default: four of the library)"
    )
    parser.add_argument(
        "--pictures", metavar="N", type=_count, default=PICTURES, help="executions to draw (default: %(default)s)"
    )
    parser.add_argument("--plots", metavar="DIR", help="also write plots as PNG and SVG files there")
    parser.add_argument("-q", "--quiet", action="store_true", help="print no progress")
    parser.add_argument("-j", "--jobs", type=positive, default=1, metavar="N", help="worker processes (default: 1)")


def run(arguments: Namespace) -> int:
    from gpudiy.cli.log_input import load_observations
    from gpudiy.errors import counted
    from gpudiy.files import expect_writable, write_whole
    from gpudiy.logs.html_report.page import page_text
    from gpudiy.logs.html_report.payload import payload
    from gpudiy.logs.tables.selection import RowOrder, selected_chips, selected_tests
    from gpudiy.models.library import load_model

    expect_writable(arguments.output)
    if arguments.plots:
        expect_writable(arguments.plots, folder=True)
    models = _chosen_models(arguments)
    for model in models:
        load_model(model)
    found = load_observations(arguments.logs, best=arguments.best)
    chips = selected_chips(found, arguments.chips)
    tests = selected_tests(found, chips, arguments.tests, RowOrder.NAME)
    drawn = arguments.pictures if models else 0
    judgements = _judgements(found, tests, chips, models, drawn, arguments) if models else {}
    text = page_text(payload(found, tests, chips, judgements, models, drawn), arguments.title)
    write_whole(Path(arguments.output), text)
    print(f"{counted(len(tests), 'test')} on {counted(len(chips), 'chip')}: {arguments.output}")
    return _write_plots(found, tests, chips, arguments.plots) if arguments.plots else 0


def _chosen_models(arguments: Namespace) -> tuple[str, ...]:
    from gpudiy.logs.html_report.judgement import MODELS

    return MODELS if arguments.models is None else tuple(arguments.models)


def _judgements(
    found: Observations,
    tests: list[str],
    chips: list[str],
    models: tuple[str, ...],
    pictures: int,
    arguments: Namespace,
) -> dict[str, Judgement]:
    """What models say of each test, and pictures of those that are worth most."""
    from gpudiy.logs.html_report.judgement import most_telling

    drawn = set(most_telling(found, tests, chips)[:pictures])
    work = [(found.tests[test].text, models, test in drawn) for test in tests]
    return dict(zip(tests, _judged(work, arguments.jobs, arguments.quiet), strict=True))


def _judged(work: list[tuple[str, tuple[str, ...], bool]], jobs: int, quiet: bool) -> Iterator[Judgement]:
    from gpudiy.processes import map_in_processes

    yield from progress(map_in_processes(_judge_one, work, jobs), "tests decided", quiet, len(work))


def _judge_one(work: tuple[str, tuple[str, ...], bool]) -> Judgement:
    from gpudiy.logs.html_report.judgement import judge

    return judge(*work)


def _write_plots(found: Observations, tests: list[str], chips: list[str], folder: str) -> int:
    from gpudiy.logs.html_report.plots import write_plots

    files = write_plots(found, tests, chips, Path(folder))
    print(f"plots: {', '.join(str(file) for file in files)}")
    return 0


def _models(text: str) -> list[str]:
    return [] if text == "none" else names(text)


def _count(text: str) -> int:
    if not text.isdecimal() or len(text) > 7:
        raise ArgumentTypeError(f"a number from 0 on is wanted, not {text!r}")
    return int(text)
