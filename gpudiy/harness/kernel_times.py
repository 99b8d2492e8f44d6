"""Times of threads by which the kernel `reduce` is tried: any words, and such that are close to each other."""

from __future__ import annotations

from random import Random
from typing import Any

WORD = 0xFFFFFFFF


def plan_times(dice: Random, rows: int) -> dict[str, Any]:
    """Fields of a launch: threads whose times are in rows of their own, or in those of others."""
    threads = dice.choice((1, 2, 3, 8))
    return {
        "timed": dice.choice((0, 1, 1, 1)),
        "threads": threads,
        "first_row": [dice.randrange(rows - 1) for _ in range(threads)],
        "earlier": [dice.randrange(thread + 1) for thread in range(threads)],
    }


def bring_times_together(dice: Random, results: list[int], width: int) -> None:
    """All results, of `width` words, are close to each other, so that threads overlap; some are around zero."""
    for row in range(0, len(results), width):
        near = dice.choice((100, 100, 0))
        results[row] = near + dice.randrange(-6, 7) & WORD
