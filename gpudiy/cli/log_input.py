"""Logs named on the command line: read, with every damage reported."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from gpudiy.cli.progress import say

if TYPE_CHECKING:
    from gpudiy.logs.reading import Log
    from gpudiy.logs.tables.tally import Observations

LOG_HELP = "a log (text, JSON Lines, Parquet, CSV, also .gz), a directory or a pattern of them, or -"
MOST_MESSAGES = 20  # problems of one kind on a screen


def load_logs(paths: list[str], without: tuple[str, ...] = ()) -> Log:
    """Read logs and report what is damaged; raises `LogError` where there is no record at all."""
    from gpudiy.logs.problem import LogError
    from gpudiy.logs.reading import load

    gc.freeze()  # what is imported by now lives on, and what is read holds no cycles:
    gc.disable()  # looking for them would cost a tenth of the time
    log = load(paths, without)
    gc.enable()
    report_messages([str(problem) for problem in log.problems], "problems")
    if not len(log.columns):
        raise LogError("there is no whole record in these logs" if log.files else "there is no log here", path=paths[0])
    return log


def load_observations(paths: list[str], best: bool = False) -> Observations:
    """All records of the logs by test and chip: summed up, or the best of each."""
    from gpudiy.logs.tables.tally import Combination, observations

    found = observations(load_logs(paths).columns, Combination.BEST if best else Combination.SUM)
    report_messages([f"note: {clash}" for clash in found.clashes], "clashes")
    return found


def report_messages(messages: list[str], what: str) -> None:
    """Print the first messages, and how many more there are."""
    for message in messages[:MOST_MESSAGES]:
        say(message)
    if len(messages) > MOST_MESSAGES:
        say(f"… and {len(messages) - MOST_MESSAGES:,} more {what}")
