"""Counts of outcomes as a record keeps them: as text, each marked when it is what the test asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpudiy.litmus.condition import Quantifier, holds
from gpudiy.litmus.condition_text import expression_text
from gpudiy.litmus.memory_types import with_shown_constants
from gpudiy.litmus.outcome import Outcome, final_state, outcome_text
from gpudiy.litmus.test import Test
from gpudiy.logs.record import OutcomeCount


@dataclass(frozen=True, slots=True)
class Histogram:
    """`positive` and `negative` sum to all that was counted."""

    entries: tuple[OutcomeCount, ...]
    positive: int
    negative: int


def histogram(test: Test, counts: Mapping[Outcome, int]) -> Histogram:
    """The outcomes in a stable order. What the filter leaves out neither satisfies `exists` nor breaks `forall`."""
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


def condition_text(test: Test) -> str:
    return f"{test.condition.quantifier} ({expression_text(test.condition.expression)})"
