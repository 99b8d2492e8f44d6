"""Whether the numbers of a record agree with each other; a record whose numbers do not is damaged."""

from __future__ import annotations

from collections.abc import Sequence

from gpudiy.logs.record import OutcomeCount, Record


def unsound(record: Record) -> str:
    """What is wrong with the numbers of a record; nothing when they agree."""
    if record.iterations != record.positive + record.negative:
        return (
            f"{record.positive:,} positive and {record.negative:,} negative iterations are not "
            f"{record.iterations:,} iterations"
        )
    return unsound_histogram(record.histogram, record.positive, record.iterations)


def unsound_histogram(histogram: Sequence[OutcomeCount], positive: int, iterations: int) -> str:
    """Outcomes that were not counted (a count of 0 for each) say nothing about numbers."""
    total = sum(entry.count for entry in histogram)
    if total and total != iterations:
        return f"the outcomes sum to {total:,}, and the iterations are {iterations:,}"
    weak = sum(entry.count for entry in histogram if entry.weak)
    if weak and weak not in (positive, iterations - positive):
        return f"the weak outcomes sum to {weak:,}, and {positive:,} iterations are positive"
    return ""
