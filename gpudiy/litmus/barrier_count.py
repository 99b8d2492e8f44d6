"""How many threads of a test a barrier waits for."""

from __future__ import annotations

WARP_SIZE = 32


def count_threads(count: int) -> int:
    """The threads of a test that the count of a barrier means.

    In PTX the count is of hardware threads, a multiple of the warp size, and a barrier counts whole warps: a thread of
    a test is one warp. Any other count, as Dat3M writes it, is of threads of the test.
    """
    return count // WARP_SIZE if count > 0 and count % WARP_SIZE == 0 else count
