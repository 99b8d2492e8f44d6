"""Read the logs that the command line names, and report damage."""

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
    """Read logs and report damage; raise `LogError` if there is no record at all."""
    from gpudiy.logs.log import LogError
    from gpudiy.logs.reading import load_log

    gc.freeze()  # imported modules stay alive, and records hold no cycles:
    gc.disable()  # searching for cycles would cost a tenth of the time
    log = load_log(paths, without)
    gc.enable()
    report_messages(log.problems, "problems")
    if not len(log.columns):
        raise LogError("these logs contain no complete record" if log.files else "no log found", path=paths[0])
    return log


def load_observations(paths: list[str], best: bool) -> Observations:
    """Read the records of logs by test and chip; report a name that is used for different tests."""
    from gpudiy.logs.tables.tally import observe

    found = observe(load_logs(paths), best=best)
    report_clashes(found.clashes)
    return found


def report_clashes(clashes: Iterable[str]) -> None:
    """Print names that are used for different tests."""
    report_messages([f"note: {clash}" for clash in clashes], "clashes")


def report_messages(messages: Iterable[object], what: str) -> None:
    """Print the first messages on standard error, and count the others."""
    listed = list(messages)
    for message in listed[:MOST_MESSAGES]:
        say(message)
    if len(listed) > MOST_MESSAGES:
        say(f"… and {len(listed) - MOST_MESSAGES:,} more {what}")
