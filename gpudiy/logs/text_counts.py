"""The counts of many histograms at once: digits of a large text summed by numpy instead of line by line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

LINE_END, ZERO, NINE, BLANK, STAR = b"\n09 *"
MOST_DIGITS = 18  # what 64 bits hold in any case
MOST_BLANKS = 8  # between a count and its mark


def sums_of(text: str, spans: Sequence[tuple[int, int]]) -> tuple[list[int], list[int], list[int]]:
    """For each span of whole lines that start with a count: how many lines, their sum, the sum of those marked weak.

    A sum is -1 where a count is too long to be added here. The text is ASCII.
    """
    import numpy

    data = numpy.frombuffer(text.encode("ascii"), dtype=numpy.uint8)
    starts = numpy.flatnonzero(data == LINE_END) + 1
    starts = starts[starts < len(data)]
    first = data[starts]
    starts = starts[(first >= ZERO) & (first <= NINE)]
    counts, weak, sound = _counts(data, starts)
    bounds = numpy.searchsorted(starts, numpy.asarray(spans, dtype=numpy.int64).reshape(-1, 2))
    lines = bounds[:, 1] - bounds[:, 0]
    sums = _between(counts, bounds)
    sums[_between((~sound).astype(numpy.int64), bounds) > 0] = -1
    return lines.tolist(), sums.tolist(), _between(weak, bounds).tolist()


def _counts(
    data: NDArray[numpy.uint8], starts: NDArray[numpy.int64]
) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64], NDArray[numpy.bool_]]:
    """The number each line starts with, the same where it is marked weak, and whether all of it was read."""
    import numpy

    padded = numpy.concatenate((data, numpy.zeros(MOST_DIGITS + MOST_BLANKS + 1, dtype=numpy.uint8)))
    counts = numpy.zeros(len(starts), dtype=numpy.int64)
    at = starts.copy()
    open_lines = numpy.arange(len(starts))
    for _ in range(MOST_DIGITS):
        character = padded[at[open_lines]]
        digit = (character >= ZERO) & (character <= NINE)
        open_lines = open_lines[digit]
        if not len(open_lines):
            break
        counts[open_lines] = counts[open_lines] * 10 + (character[digit] - ZERO)
        at[open_lines] += 1
    sound = numpy.ones(len(starts), dtype=bool)
    sound[open_lines] = False
    blank = numpy.flatnonzero(padded[at] == BLANK)
    for _ in range(MOST_BLANKS):
        if not len(blank):
            break
        at[blank] += 1
        blank = blank[padded[at[blank]] == BLANK]
    return counts, numpy.where(padded[at] == STAR, counts, 0), sound


def _between(values: NDArray[numpy.int64], bounds: NDArray[numpy.int64]) -> NDArray[numpy.int64]:
    """Sums of the values from one bound to the other."""
    import numpy

    running = numpy.concatenate((numpy.zeros(1, dtype=numpy.int64), numpy.cumsum(values)))
    sums: NDArray[numpy.int64] = running[bounds[:, 1]] - running[bounds[:, 0]]
    return sums
