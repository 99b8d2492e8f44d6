"""Progress on standard error: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")

FIRST_AFTER = 1.0  # seconds: short work says nothing
EVERY = 2.0  # seconds between two lines
BAR_WIDTH = 30
STRIDE = 64  # items of a stream between two looks at the clock


def progress(items: Sequence[Item], what: str, quiet: bool = False) -> Iterator[Item]:
    """The items, one by one, while telling how many are done."""
    if quiet:
        yield from items
        return
    terminal = sys.stderr.isatty()
    start = time.monotonic()
    due = start + (FIRST_AFTER / 4 if terminal else FIRST_AFTER)
    told = False
    for done, item in enumerate(items):
        now = time.monotonic()
        if now >= due:
            _tell(done, len(items), what, now - start, terminal)
            told = True
            due = now + (EVERY / 20 if terminal else EVERY)
        yield item
    if told:
        _tell(len(items), len(items), what, time.monotonic() - start, terminal)
        if terminal:
            print(file=sys.stderr)


def say(text: object) -> None:
    """A message on standard error that does not run into a bar."""
    print(f"\r\x1b[K{text}" if sys.stderr.isatty() else text, file=sys.stderr)


def stream_progress(items: Iterable[Item], what: str, quiet: bool = False) -> Iterator[Item]:
    """The items of a stream whose end nobody knows, while telling how many have passed."""
    terminal = sys.stderr.isatty()
    start = time.monotonic()
    due = start + (FIRST_AFTER / 4 if terminal else FIRST_AFTER)
    told = False
    done = 0
    for item in items:
        yield item
        done += 1
        if quiet or done % STRIDE:
            continue
        now = time.monotonic()
        if now >= due:
            told = True
            due = now + (EVERY / 20 if terminal else EVERY)
            _tell_passed(done, what, now - start, terminal)
    if told:
        _tell_passed(done, what, time.monotonic() - start, terminal)
        if terminal:
            print(file=sys.stderr)


def _tell_passed(done: int, what: str, seconds: float, terminal: bool) -> None:
    text = f"{done:,} {what}, {done / seconds if seconds > 0 else 0.0:,.0f}/s"
    if terminal:
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
    else:
        print(text, file=sys.stderr, flush=True)


def _tell(done: int, total: int, what: str, seconds: float, terminal: bool) -> None:
    rate = done / seconds if seconds > 0 else 0.0
    left = f", {(total - done) / rate:.0f} s left" if rate and done < total else ""
    text = f"{done:,} of {total:,} {what}, {rate:,.0f}/s{left}"
    if not terminal:
        print(text, file=sys.stderr, flush=True)
        return
    filled = BAR_WIDTH * done // max(1, total)
    print(f"\r\x1b[K{'█' * filled}{'░' * (BAR_WIDTH - filled)} {text}", end="", file=sys.stderr, flush=True)
