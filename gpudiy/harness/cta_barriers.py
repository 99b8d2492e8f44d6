"""Tests that wait at barriers of their CTA: which of them a harness can run, and how.

Each thread of such a test has a warp of its own. The lanes of a warp run the same thread of different instances side by
side, and no other instance runs in the CTA: so what a warp waits for at a barrier is what its lanes wait for. Before
every instance the warps meet at a barrier that no test uses: a thread that only arrives at a barrier cannot come back
to it before the others were there.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpudiy.litmus.barrier_count import WARP_SIZE, count_threads
from gpudiy.litmus.instruction import Barrier, BarrierMode, Branch, Immediate, Label, Operand, guard_of
from gpudiy.litmus.test import Test, Thread

FIRST_BARRIER, START_BARRIER = 0, 15  # that of the harness, for a whole CTA; that before every instance
BARRIERS = 16  # of a CTA


def barriers_of(thread: Thread) -> list[Barrier]:
    """The barriers of a thread, in their order."""
    return [instruction for instruction in thread if isinstance(instruction, Barrier)]


def uses_barriers(test: Test) -> bool:
    """Whether threads wait for each other at barriers."""
    return any(barriers_of(thread) for thread in test.threads)


def start_warps(test: Test, thread: int) -> int:
    """The warps that meet before every instance of a thread: those of its CTA that come to barriers, if it does."""
    if not barriers_of(test.threads[thread]):
        return 0
    return len(_waiting_threads(test)[test.scope_tree.placements[thread].cta])


def start_barrier(warps: int) -> Barrier:
    """The barrier at which so many warps meet before every instance."""
    return Barrier(BarrierMode.SYNC, Immediate(START_BARRIER), Immediate(WARP_SIZE * warps))


def count_warps(barrier: Barrier) -> int | None:
    """The warps that a barrier counts; None: all of the CTA."""
    return count_threads(barrier.count.value) if isinstance(barrier.count, Immediate) else None


def barrier_text(barrier: Barrier) -> str:
    """A barrier in PTX: all lanes of a warp come to it, since all of them run the same thread without a branch."""
    warps = count_warps(barrier)
    counted = "" if warps is None else f",{WARP_SIZE * warps}"
    return f"bar.{barrier.mode} {_number(barrier.identifier)}{counted};"


def obstacle_of_barriers(test: Test, warps: int, *, lanes: int, shared: bool) -> str | None:
    """Why no harness can run the barriers of a test; None if one can.

    An instance has places for so many `warps` in each of its CTAs, and for so many `lanes` in a warp.
    """
    for number, thread in enumerate(test.threads):
        if barriers_of(thread) and (found := _obstacle_of_thread(thread)):
            return f"P{number}: {found}"
    waiting = _waiting_threads(test)
    if waiting and lanes > 1:
        return "it waits at a barrier, and two of its threads are in one warp: a warp is at a barrier as a whole"
    for threads in waiting.values():
        if found := _obstacle_of_cta(test, threads, warps, shared):
            return found
    return None


def _waiting_threads(test: Test) -> dict[int, list[int]]:
    """The threads of each CTA that come to barriers."""
    found: dict[int, list[int]] = {}
    for number, thread in enumerate(test.threads):
        if barriers_of(thread):
            found.setdefault(test.scope_tree.placements[number].cta, []).append(number)
    return found


def _obstacle_of_thread(thread: Thread) -> str | None:
    for instruction in thread:
        if isinstance(instruction, (Branch, Label)):
            return "it waits at a barrier and branches: lanes of its warp, which run other instances, may not wait"
        if isinstance(instruction, Barrier):
            if guard_of(instruction) is not None:
                return "it waits at a barrier under a condition, which other instances in its warp may not fulfil"
            if not isinstance(instruction.identifier, Immediate) or not _is_number(instruction.count):
                return "the number of a barrier, or how many it waits for, is in a register"
            if not 0 <= instruction.identifier.value < BARRIERS:
                return f"there is no barrier {instruction.identifier.value}: they are 0 to {BARRIERS - 1}"
            if instruction.identifier.value == START_BARRIER:
                return f"the harness itself uses barrier {START_BARRIER}, where threads meet before an instance"
    return None


def _obstacle_of_cta(test: Test, threads: Sequence[int], warps: int, shared: bool) -> str | None:
    visits = {
        tuple((one.identifier, one.count, one.instance) for one in barriers_of(test.threads[number]))
        for number in threads
    }
    if len(visits) > 1:
        return "threads of one CTA do not all come to the same barriers in the same order"
    for number in threads:
        for barrier in barriers_of(test.threads[number]):
            counted = count_warps(barrier)
            if counted is None and not barrier.mode.waits:
                return f"P{number}: a thread that only arrives at a barrier must say for how many threads"
            if counted not in (None, len(threads)):
                return f"a barrier counts {counted} threads of the test, and {len(threads)} come to it"
            if len(threads) < warps and (counted is None or (shared and _number(barrier.identifier) == FIRST_BARRIER)):
                return "not all threads of a CTA come to a barrier that is one of the whole CTA"
    return None


def _is_number(operand: Operand | None) -> bool:
    return operand is None or isinstance(operand, Immediate)


def _number(operand: Operand) -> int:
    assert isinstance(operand, Immediate)
    return operand.value
