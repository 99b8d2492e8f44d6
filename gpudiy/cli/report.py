"""`gpudiy report`: make a web page from logs."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from gpudiy.cli.argument_types import names, natural, positive
from gpudiy.cli.progress import progress
from gpudiy.cli.table import add_selection

PICTURES = 100
EPILOG = """\
The page is one file that needs no network: a heat map; a table to sort and filter; each test with its program, the
execution of its weak outcome, verdicts, rates with intervals and outcomes; a comparison of two chips; the effect of
incantations. `#test=NAME` at the end of its address opens a test.

Verdicts and pictures take most of the time: --models none leaves them out, --pictures N draws more or fewer pictures
(tests on which chips differ come first).

examples:
  gpudiy report titan.log gtx750.log -o report.html
  gpudiy report logs/ --plots plots --title 'All published counts'

exit code: 0 done, 2 bad input or a file that cannot be written, 3 a tool is missing"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("logs", metavar="LOG", nargs="+", help="a log, a directory of logs, or a pattern of names")
    parser.add_argument("-o", "--output", metavar="FILE", default="report.html", help="the page (default: %(default)s)")
    parser.add_argument("--title", metavar="TEXT", default="What the chips showed", help="the heading of the page")
    add_selection(parser, "--")
    parser.add_argument(
        "--models", metavar="M1,M2", type=_models, help="models of the verdicts, or none (default: four of the library)"
    )
    parser.add_argument(
        "--pictures", metavar="N", type=natural, default=PICTURES, help="executions to draw (default: %(default)s)"
    )
    parser.add_argument("--plots", metavar="DIR", help="also write plots as PNG and SVG files into DIR")
    parser.add_argument("-q", "--quiet", action="store_true", help="print no progress")
    parser.add_argument("-j", "--jobs", type=positive, default=1, metavar="N", help="worker processes (default: 1)")


def run(arguments: Namespace) -> int:
    from gpudiy.cli.log_input import load_observations
    from gpudiy.errors import format_count
    from gpudiy.files import expect_writable
    from gpudiy.logs.html_report import report as html
    from gpudiy.logs.html_report.model_verdicts import MODELS

    expect_writable(arguments.output)
    if arguments.plots:
        expect_writable(arguments.plots, folder=True)
    report = html.report(
        load_observations(arguments.logs, best=arguments.best),
        title=arguments.title,
        tests=arguments.tests,
        chips=arguments.chips,
        models=MODELS if arguments.models is None else tuple(arguments.models),
        pictures=arguments.pictures,
        jobs=arguments.jobs,
        watch=lambda verdicts, total: progress(verdicts, "tests decided", arguments.quiet, total),
    )
    report.write(arguments.output)
    print(f"{format_count(len(report.tests), 'test')} on {format_count(len(report.chips), 'chip')}: {arguments.output}")
    if arguments.plots:
        from gpudiy.logs.html_report.plots import write_plots

        files = write_plots(report.found, report.tests, report.chips, Path(arguments.plots))
        print(f"plots: {', '.join(str(file) for file in files)}")
    return 0


def _models(text: str) -> list[str]:
    return [] if text == "none" else names(text)
