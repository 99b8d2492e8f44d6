"""A report of what chips showed: one page that needs nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpudiy.errors import format_count
from gpudiy.files import write_whole
from gpudiy.logs.frame import LogSource
from gpudiy.logs.html_report.model_verdicts import MODELS, ModelVerdicts, decide_text, most_telling
from gpudiy.logs.html_report.page import page_text
from gpudiy.logs.html_report.payload import payload
from gpudiy.logs.tables.selection import RowOrder, selected_chips, selected_tests
from gpudiy.logs.tables.tally import Observations, observe
from gpudiy.models.library import list_model_names, load_model
from gpudiy.processes import map_in_processes

TITLE = "What the chips showed"
PICTURES = 100  # executions that are drawn
Watch = Callable[[Iterator[ModelVerdicts], int], Iterator[ModelVerdicts]]


@dataclass(frozen=True, slots=True)
class HtmlReport:
    """The page as text, and what is on it."""

    text: str
    tests: list[str]
    chips: list[str]
    found: Observations

    def write(self, path: str | Path) -> None:
        """Write the page into a file."""
        write_whole(path, self.text)

    def __repr__(self) -> str:
        return f"<HtmlReport: {format_count(len(self.tests), 'test')} on {format_count(len(self.chips), 'chip')}>"


def report(
    logs: LogSource | Observations,
    *,
    title: str = TITLE,
    tests: str | Sequence[str] = (),
    chips: str | Sequence[str] = (),
    best: bool = False,
    models: str | Sequence[str] = MODELS,
    pictures: int = PICTURES,
    jobs: int = 1,
    watch: Watch = lambda verdicts, total: verdicts,
) -> HtmlReport:
    """Make a page of what chips showed: `gpudiy.report("logs/").write("report.html")`.

    `logs` are paths, records, or a DataFrame of records. `tests` and `chips` are patterns such as `MP*` for what
    is shown. Of several records of a test on a chip `best` takes the one with the highest rate. `models` decide every
    test, in `jobs` processes; `pictures` is how many executions are drawn, of tests that tell chips apart first.
    `watch` passes the verdicts on as they come, and is given their number. Bad input raises `InputError`.
    """
    models = list_model_names(models) if models else []
    for model in models:
        load_model(model)  # a model that cannot be read is an error before any work is done
    found = observe(logs, best=best)
    shown_chips = selected_chips(found, chips)
    shown_tests = selected_tests(found, shown_chips, tests, RowOrder.NAME)
    drawn = pictures if models else 0
    verdicts: dict[str, ModelVerdicts] = {}
    if models:
        pictured = set(most_telling(found, shown_tests, shown_chips)[:drawn])
        work = [(found.tests[test].text, tuple(models), test in pictured) for test in shown_tests]
        judged = watch(map_in_processes(_judge_one, work, jobs), len(work))
        verdicts = dict(zip(shown_tests, judged, strict=True))
    data = payload(found, shown_tests, shown_chips, verdicts, models, drawn)
    return HtmlReport(page_text(data, title), shown_tests, shown_chips, found)


def _judge_one(work: tuple[str, tuple[str, ...], bool]) -> ModelVerdicts:
    return decide_text(*work)
