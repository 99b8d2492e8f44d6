"""Logs named on the command line: read, with every damage told."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from gpudiy.cli.progress import say

if TYPE_CHECKING:
    from gpudiy.logs.reading import Log

LOG_HELP = "a log (text, JSON Lines, Parquet, CSV, also .gz), a directory or a pattern of them, or -"
MOST_TOLD = 20  # problems of one kind on a screen


def load_logs(paths: list[str], without: tuple[str, ...] = ()) -> Log:
    """Read logs and tell what is damaged; raises `LogError` where there is no record at all."""
    from gpudiy.logs.problem import LogError
    from gpudiy.logs.reading import load

    gc.freeze()  # what is imported by now lives on, and what is read holds no cycles:
    gc.disable()  # looking for them would cost a tenth of the time
    log = load(paths, without)
    gc.enable()
    tell([str(problem) for problem in log.problems], "problems")
    if not len(log.columns):
        raise LogError("there is no whole record in these logs")
    return log


def tell(messages: list[str], what: str) -> None:
    for message in messages[:MOST_TOLD]:
        say(message)
    if len(messages) > MOST_TOLD:
        say(f"… and {len(messages) - MOST_TOLD:,} more {what}")
