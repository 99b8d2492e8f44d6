"""Progress on standard error: one changing line on a terminal, a new line every few seconds elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sized
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.live import Live

    from gpudiy.litmus.test import Test

Item = TypeVar("Item")

FIRST_AFTER, FIRST_ON_TERMINAL = 1.0, 0.25  # seconds: short work prints nothing
EVERY, EVERY_ON_TERMINAL = 2.0, 0.1  # seconds between two lines
BAR_WIDTH = 24
STRIDE = 64  # items of a stream between two looks at the clock


class ProgressLine:
    """One line about the current work; on a terminal rich draws it, with a bar if the total is known."""

    shown: ProgressLine | None = None  # the line that is on the terminal now

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet
        self.start = time.monotonic()
        self._terminal = sys.stderr.isatty()
        self._due = self.start + (FIRST_ON_TERMINAL if self._terminal else FIRST_AFTER)
        self._live: Live | None = None
        self.used = False

    def is_due(self) -> bool:
        """Whether it is time for the next line; if so, the caller must show one."""
        now = time.monotonic()
        if self.quiet or now < self._due:
            return False
        self._due = now + (EVERY_ON_TERMINAL if self._terminal else EVERY)
        return True

    def show(self, text: str, done: int = 0, total: int = 0) -> None:
        """Replace the text of the line; with a `total`, show a bar before it."""
        self.used = True
        if self._terminal:
            self._draw(text, done, total)
        else:
            print(text, file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Remove the line from the terminal, so that results can be printed."""
        if self._live is not None:
            self._live.transient = True
        self.leave()

    def leave(self) -> None:
        """End the line and leave it on the terminal."""
        if self._live is not None:
            self._live.stop()
            self._live = ProgressLine.shown = None

    def print_above(self, text: object) -> None:
        """Print a message above the line."""
        assert self._live is not None
        self._live.console.print(str(text), markup=False, highlight=False, soft_wrap=True)

    def _draw(self, text: str, done: int, total: int) -> None:
        from rich.bar import Bar
        from rich.console import Console
        from rich.live import Live
        from rich.table import Table
        from rich.text import Text

        row = Table.grid(padding=(0, 1))
        message = Text(text, no_wrap=True, overflow="ellipsis")
        row.add_row(*([Bar(total, 0, done, width=BAR_WIDTH), message] if total else [message]))
        if self._live is None:
            console = Console(stderr=True)
            self._live = Live(console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False)
            self._live.start()
            ProgressLine.shown = self
        self._live.update(row, refresh=True)


class RunProgress:
    """The progress of a run on a device: finished tests, and the iterations of the current one."""

    def __init__(self, tests: int, iterations: int, quiet: bool) -> None:
        self.tests = tests
        self.iterations = iterations
        self.done = 0
        self._line = ProgressLine(quiet)

    def start(self, device: str, left: int) -> None:
        if left < self.tests:
            say(f"{device}: {self.tests - left:,} of {self.tests:,} tests are in the log already")
        self.tests = left

    def tell(self, test: Test, iterations: int, sightings: int) -> None:
        if self._line.is_due():
            text = f"{test.name}: {iterations:,} of {self.iterations:,} iterations, {sightings:,} sightings"
            self._line.show(f"{self.done:,} of {self.tests:,} tests done; {text}" if self.tests > 1 else text)

    def finish_test(self) -> None:
        self.done += 1
        self._line.clear()


def say(text: object) -> None:
    """Print a message on standard error that does not run into a progress line."""
    if ProgressLine.shown is not None:
        ProgressLine.shown.print_above(text)
    else:
        print(text, file=sys.stderr)


def progress(items: Iterable[Item], what: str, quiet: bool = False, total: int | None = None) -> Iterator[Item]:
    """Yield the items while a line shows how many are done, of `total` if that is known."""
    if total is None and isinstance(items, Sized):
        total = len(items)
    line = ProgressLine(quiet)
    stride = STRIDE if total is None else 1
    done = 0
    try:
        for item in items:
            yield item
            done += 1
            if not done % stride and line.is_due():
                line.show(_progress_text(done, total, what, line), done, total or 0)
        if line.used:
            line.show(_progress_text(done, total, what, line), done, total or 0)
    finally:
        line.leave()


def _progress_text(done: int, total: int | None, what: str, line: ProgressLine) -> str:
    seconds = time.monotonic() - line.start
    rate = done / seconds if seconds > 0 else 0.0
    if total is None:
        return f"{done:,} {what}, {rate:,.0f}/s"
    left = f", {(total - done) / rate:.0f} s left" if rate and done < total else ""
    return f"{done:,} of {total:,} {what}, {rate:,.0f}/s{left}"
