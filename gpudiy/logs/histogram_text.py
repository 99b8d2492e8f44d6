"""The histogram of a record as logs print it: a line an outcome, its count, `:>` or, where it is weak, `*>`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from gpudiy.logs.record import OutcomeCount

if TYPE_CHECKING:
    from gpudiy.litmus.condition import Expression

LINE = re.compile(r"^[ \t]*(\d+)[ \t]*([:*])>[ \t]*(.*?)[ \t]*$", re.MULTILINE)
COUNT_WIDTH = 6  # as litmus prints it


def print_histogram(outcomes: Iterable[OutcomeCount]) -> str:
    return "".join(f"{entry.count:<{COUNT_WIDTH}}{'*' if entry.weak else ':'}>{entry.outcome}\n" for entry in outcomes)


def mark_weak(histogram: str, condition: str, positive: int) -> str:
    """The histogram with its weak outcomes marked, where the log did not and the condition tells which they are."""
    expression = _expression(condition)
    if expression is None:
        return histogram
    from gpudiy.litmus.outcome import read_outcome, satisfies

    lines = []
    total = 0
    for count, _, outcome in LINE.findall(histogram):
        weak = satisfies(read_outcome(outcome), expression)
        total += int(count) * weak
        lines.append(f"{count:<{COUNT_WIDTH}}{'*' if weak else ':'}>{outcome}\n")
    return "".join(lines) if total == positive else histogram


def read_histogram(text: str) -> tuple[OutcomeCount, ...]:
    return tuple(OutcomeCount(outcome, int(count), mark == "*") for count, mark, outcome in LINE.findall(text))


@lru_cache(maxsize=4096)
def _expression(condition: str) -> Expression | None:
    from gpudiy.litmus.grammar import SyntaxProblem, parse_condition  # slow to import, and seldom needed

    try:
        return parse_condition(condition).expression
    except SyntaxProblem:
        return None
