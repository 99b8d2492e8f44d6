"""Histograms: counts of outcomes, as a record keeps them and as logs print them.

A printed histogram has one line per outcome: its count, `:>` or, where the outcome is weak, `*>`, and the outcome.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from gpudiy.logs.record import OutcomeCount, Record

if TYPE_CHECKING:
    from gpudiy.litmus.condition import Expression
    from gpudiy.litmus.outcome import Outcome
    from gpudiy.litmus.test import Test

LINE = re.compile(r"^[ \t]*(\d+)[ \t]*([:*])>[ \t]*(.*?)[ \t]*$", re.MULTILINE)
COUNT_WIDTH = 6  # as litmus prints it


@dataclass(frozen=True, slots=True)
class Histogram:
    """`positive` and `negative` sum to all that was counted."""

    entries: tuple[OutcomeCount, ...]
    positive: int
    negative: int


def make_histogram(test: Test, counts: Mapping[Outcome, int]) -> Histogram:
    """The outcomes in a stable order. What the filter leaves out neither satisfies `exists` nor breaks `forall`."""
    from gpudiy.litmus.condition import Quantifier, holds
    from gpudiy.litmus.memory_types import with_shown_constants
    from gpudiy.litmus.outcome import final_state, outcome_text

    expression = with_shown_constants(test, test.condition.expression)
    inside = None if test.filter is None else with_shown_constants(test, test.filter)
    universal = test.condition.quantifier is Quantifier.FORALL
    entries: list[OutcomeCount] = []
    positive = 0
    for outcome, count in sorted(counts.items(), key=lambda item: tuple(str(value) for value in item[0])):
        if not count:
            continue
        values = final_state(test, outcome)
        counted = inside is None or holds(inside, values.__getitem__)
        satisfied = holds(expression, values.__getitem__)
        weak = satisfied or not counted if universal else satisfied and counted
        entries.append(OutcomeCount(outcome_text(test, outcome), count, weak))
        positive += count * weak
    return Histogram(tuple(entries), positive, sum(counts.values()) - positive)


def print_histogram(outcomes: Iterable[OutcomeCount]) -> str:
    """One line per outcome, as text logs have it; `*` marks a weak outcome."""
    return "".join(f"{entry.count:<{COUNT_WIDTH}}{'*' if entry.weak else ':'}>{entry.outcome}\n" for entry in outcomes)


def mark_weak(histogram: str, condition: str, positive: int) -> str:
    """The histogram with its weak outcomes marked, if the log does not mark them and the condition can be read."""
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
    """The counted outcomes of the lines of a text log."""
    return tuple(OutcomeCount(outcome, int(count), mark == "*") for count, mark, outcome in LINE.findall(text))


def find_fault(record: Record) -> str:
    """What is wrong with the numbers of a record; nothing when they agree."""
    if record.iterations != record.positive + record.negative:
        return (
            f"{record.positive:,} positive and {record.negative:,} negative iterations are not "
            f"{record.iterations:,} iterations"
        )
    return find_histogram_fault(record.histogram, record.positive, record.iterations)


def find_histogram_fault(histogram: Sequence[OutcomeCount], positive: int, iterations: int) -> str:
    """Outcomes that were not counted (a count of 0 for each) say nothing about numbers."""
    total = sum(entry.count for entry in histogram)
    if total and total != iterations:
        return f"the outcomes sum to {total:,}, and the iterations are {iterations:,}"
    weak = sum(entry.count for entry in histogram if entry.weak)
    if weak and weak not in (positive, iterations - positive):
        return f"the weak outcomes sum to {weak:,}, and {positive:,} iterations are positive"
    return ""


@lru_cache(maxsize=4096)
def _expression(condition: str) -> Expression | None:
    from gpudiy.litmus.grammar import SyntaxProblem, parse_condition  # slow to import, and seldom needed

    try:
        return parse_condition(condition).expression
    except SyntaxProblem:
        return None
