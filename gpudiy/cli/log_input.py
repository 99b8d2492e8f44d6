"""Logs named on the command line: read, with every damage reported."""

from __future__ import annotations

import gc
from collections.abc import Iterable
from typing import TYPE_CHECKING

from gpudiy.cli.progress import say

if TYPE_CHECKING:
    from gpudiy.logs.log import Log
    from gpudiy.logs.tables.tally import Observations

LOG_HELP = "a log (text, JSON Lines, Parquet, CSV, also .gz), a directory or a pattern of them, or -"
MOST_MESSAGES = 20  # problems of one kind on a screen


def load_logs(paths: list[str], without: tuple[str, ...] = ()) -> Log:
    """Read logs and report what is damaged; raises `LogError` where there is no record at all."""
    from gpudiy.logs.log import LogError
    from gpudiy.logs.reading import load_log

    gc.freeze()  # what is imported by now stays alive, and what is read holds no cycles:
    gc.disable()  # looking for them would cost a tenth of the time
    log = load_log(paths, without)
    gc.enable()
    report_messages(log.problems, "problems")
    if not len(log.columns):
        raise LogError("there is no whole record in these logs" if log.files else "there is no log here", path=paths[0])
    return log


def load_observations(paths: list[str], best: bool) -> Observations:
    """The records of logs by test and chip; names that stand for different tests are reported."""
    from gpudiy.logs.tables.tally import observe

    found = observe(load_logs(paths), best=best)
    report_clashes(found.clashes)
    return found


def report_clashes(clashes: Iterable[str]) -> None:
    report_messages([f"note: {clash}" for clash in clashes], "clashes")


def report_messages(messages: Iterable[object], what: str) -> None:
    """Print the first messages on standard error, and count the others."""
    listed = list(messages)
    for message in listed[:MOST_MESSAGES]:
        say(message)
    if len(listed) > MOST_MESSAGES:
        say(f"… and {len(listed) - MOST_MESSAGES:,} more {what}")
