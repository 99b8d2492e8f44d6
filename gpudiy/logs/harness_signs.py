"""Signs that a harness could have shown a weak outcome: threads ran at the same time, lines could be stale, stress ran.

Records without counters, as those of published logs, are taken as they are: what is not known is not missing.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from gpudiy.logs.record import Liveness, Record

if TYPE_CHECKING:
    from gpudiy.litmus.test import Test
    from gpudiy.models.serial_orders import SerialOrder

ON = "true"
LEAST = 0.01  # of all meetings, or of all iterations with a clock: with fewer, threads ran one after another


def find_missing_sign(record: Record) -> str:
    """Why a run that saw nothing proves nothing; empty if it could have seen something."""
    alive = record.liveness
    if alive is None:
        return ""
    if alive.discarded:
        return f"{alive.discarded:,} iterations were cut in a loop: what they would have shown is not known"
    test = _read_test(record.text)
    if test is None or len(test.threads) > 1:
        if turns := dict(record.options).get("turns"):
            return f"its threads took turns: {turns}, so they never all ran at the same time"
        problem = _never_together(alive) or _one_order_in_a_warp(alive, test) or _serial_histogram(record)
        if problem:
            return problem
    if test is not None and alive.near == 0 and alive.warmed == 0 and (read := _stale_read(record.text)):
        return f"`{read}` may be answered by a cache, and no line of it was ever in the cache before the test wrote it"
    if dict(record.options).get("memory_stress") == ON and not alive.stress_accesses:
        return "memory stress is on, and not one stressing access was made"
    return ""


def _never_together(alive: Liveness) -> str:
    """Threads that hardly ever met nor ran at the same time; where there is a clock, it decides."""
    if alive.timed and alive.overlaps >= alive.timed * LEAST:
        return ""
    if alive.timed:
        seen = f"{alive.overlaps:,}" if alive.overlaps else "none"
        return f"in {seen} of {alive.timed:,} iterations with a clock did all threads run at the same time"
    if not alive.meetings and not alive.overlaps:
        given_up = f"; {alive.timeouts:,} meetings were given up" if alive.timeouts else ""
        return f"no two threads were ever seen running at the same time{given_up}"
    together, asked = max(alive.meetings, alive.overlaps), alive.meetings + alive.timeouts
    if alive.timeouts and together < asked * LEAST:
        return f"of {asked:,} meetings only {alive.meetings:,} came about; the others were given up"
    return ""


def _one_order_in_a_warp(alive: Liveness, test: Test | None) -> str:
    """Threads of one warp that began in the same order in nearly all iterations: the compiler chose it, not chance."""
    if test is None or not alive.timed or alive.inversions is None or not test.scope_tree.shared_warps:
        return ""
    if test.scope_tree.shared_warps > 1:
        return "two warps have several threads each, and the clock does not tell their orders apart"
    others = min(alive.inversions, alive.timed - alive.inversions)
    if others < alive.timed * LEAST:
        most = "all" if not others else f"{alive.timed - others:,} of"
        return f"threads of one warp began in the same order in {most} {alive.timed:,} iterations with a clock"
    return ""


def _serial_histogram(record: Record) -> str:
    """Outcomes that are all those of threads that ran one after another in one order, although orders differ."""
    if not record.histogram:
        return ""
    from gpudiy.litmus.outcome import read_outcome

    orders = _serial_orders(record.text)
    seen = [read_outcome(entry.outcome) for entry in record.histogram if entry.count]
    agreeing = [order for order in orders if all(order.outcome == state for state in seen)]
    if not agreeing or len(agreeing) == len(orders):
        return ""
    order = ", ".join(f"P{thread}" for thread in agreeing[0].threads)
    return f"all outcomes are those of threads that run one after another in the order {order}"


@lru_cache(maxsize=4096)
def _read_test(text: str) -> Test | None:
    from gpudiy.litmus import LitmusError, read_test

    try:
        return read_test(text) if text else None
    except LitmusError:
        return None


@lru_cache(maxsize=4096)
def _serial_orders(text: str) -> list[SerialOrder]:
    from gpudiy.models.serial_orders import list_serial_orders

    test = _read_test(text)
    return [] if test is None else list_serial_orders(test)


@lru_cache(maxsize=4096)
def _stale_read(text: str) -> str:
    """The first read of the test that a cache may answer with an old value."""
    from gpudiy.litmus.instruction_text import instruction_text
    from gpudiy.litmus.stale_reads import find_stale_reads

    test = _read_test(text)
    reads = [] if test is None else find_stale_reads(test)
    return f"P{reads[0].thread}: {instruction_text(reads[0].instruction)}" if reads else ""
