"""Logs named on the command line, read into observations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudiy.cli.progress import say

if TYPE_CHECKING:
    from gpudiy.logs.tables.tally import Observations

MOST_PROBLEMS = 20  # told one by one; the others are counted


def gathered(paths: list[str], best: bool = False) -> Observations:
    """All records of the logs by test and chip; what is damaged is told, `LogError` where no record is left."""
    from gpudiy.logs.problem import LogError
    from gpudiy.logs.reading import load
    from gpudiy.logs.tables.tally import Combination, observations

    log = load(paths)
    for problem in log.problems[:MOST_PROBLEMS]:
        say(problem)
    if len(log.problems) > MOST_PROBLEMS:
        say(f"… and {len(log.problems) - MOST_PROBLEMS:,} more damaged records")
    if not len(log.columns):
        raise LogError("there is no record in these logs" if log.files else "there is no log here", path=paths[0])
    found = observations(log.columns, Combination.BEST if best else Combination.SUM)
    for clash in found.clashes[:MOST_PROBLEMS]:
        say(f"note: {clash}")
    return found
