"""The histogram of a record as logs print it: a line an outcome, its count, `:>` or, where it is weak, `*>`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gpudiy.logs.record import OutcomeCount

LINE = re.compile(r"^[ \t]*(\d+)[ \t]*([:*])>[ \t]*(.*?)[ \t]*$", re.MULTILINE)
COUNT_WIDTH = 6  # as litmus prints it


def print_histogram(outcomes: Iterable[OutcomeCount]) -> str:
    return "".join(f"{entry.count:<{COUNT_WIDTH}}{'*' if entry.weak else ':'}>{entry.outcome}\n" for entry in outcomes)


def read_histogram(text: str) -> tuple[OutcomeCount, ...]:
    return tuple(OutcomeCount(outcome, int(count), mark == "*") for count, mark, outcome in LINE.findall(text))
