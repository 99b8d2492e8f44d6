"""Work shared by several processes; the parent alone answers an interrupt."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import Pool, parent_process
from threading import Thread
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

LARGEST_CHUNK = 16  # items a process is given at a time


def follow_parent() -> None:
    """Prepare a worker process: leave interrupts to the parent, and end when the parent ends, however that happens."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def map_in_processes(function: Callable[[Item], Result], items: Sequence[Item], jobs: int) -> Iterator[Result]:
    """The results for the items, in their order. One job, or one item, needs no other process."""
    if jobs == 1 or len(items) < 2:
        yield from map(function, items)
        return
    chunk = max(1, min(LARGEST_CHUNK, len(items) // (4 * jobs)))
    with Pool(jobs, initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN)) as pool:
        yield from pool.imap(function, items, chunksize=chunk)
