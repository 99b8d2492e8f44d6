"""`RowStore`: rows that survive a kill at any moment. Each row is one line of a journal; full journals become parts.

A row is finished when its line is in the journal. A journal of `PART_SIZE` rows is written as a part whose name
contains the digest of its bytes, and only then emptied. If the process is killed in between, the next one finds each
finished row exactly once: it drops an incomplete last line, counts a row that is in a part and in the journal once, and
sets aside what does not match its digest, so that this work is done again.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Generic, Self, TypeVar

from gpudiy.errors import GpudiyError, UnwritableOutput
from gpudiy.files import synchronise, write_whole

Row = TypeVar("Row")

PART_SIZE = 1000  # rows of a part
DIGEST = 16  # hexadecimal digits of a digest
JOURNAL, LOCK = "journal", "lock"


class StoreInUse(GpudiyError):
    """Another process uses the store."""


@dataclass(frozen=True, slots=True)
class Form(Generic[Row]):
    """How rows are identified and written: as lines of the journal and as whole parts."""

    key: Callable[[Row], str]
    line: Callable[[Row], str]
    parse: Callable[[str], Row]
    write_part: Callable[[Sequence[Row], Path], None]
    read_part: Callable[[Path], Sequence[Row]]
    suffix: str


class RowStore(Generic[Row]):
    """Rows in a directory; one process at a time may add to it."""

    def __init__(self, directory: Path, form: Form[Row], seen: Callable[[Row], None] = lambda row: None) -> None:
        """`seen` is called with every finished row, also with those found on opening; the store keeps only keys."""
        self.directory = directory
        self.form = form
        self.seen = seen
        self.keys: set[str] = set()
        self.pending: list[Row] = []  # rows that are only in the journal
        self.problems: list[str] = []  # damaged files and lines that were set aside

    def __enter__(self) -> Self:
        self.directory.mkdir(parents=True, exist_ok=True)
        self.lock = os.open(self.directory / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self.lock)
            raise StoreInUse(f"{self.directory} is in use by another gpudiy: wait for it, or end it") from None
        self._recover()
        self.journal = os.open(self.directory / JOURNAL, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        self.length = os.fstat(self.journal).st_size
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.fsync(self.journal)
        os.close(self.journal)
        os.close(self.lock)

    def __contains__(self, key: str) -> bool:
        return key in self.keys

    def add(self, row: Row) -> None:
        """Store a row, unless there is one with the same key."""
        if self.form.key(row) in self.keys:
            return
        self._append(_make_line(self.form.line(row)))
        self._take(row)
        self.pending.append(row)
        if len(self.pending) >= PART_SIZE:
            self.flush()

    def flush(self) -> None:
        """Write the rows of the journal as a part and empty the journal."""
        if not self.pending:
            return
        temporary = self.directory / f".part.{os.getpid()}{self.form.suffix}"
        try:
            self.form.write_part(self.pending, temporary)
            synchronise(temporary)
            number = 1 + max((_number(part) for part in self.parts()), default=0)
            temporary.replace(self.directory / f"part-{number:06}-{_digest(temporary.read_bytes())}{self.form.suffix}")
        finally:
            temporary.unlink(missing_ok=True)
        synchronise(self.directory)
        os.ftruncate(self.journal, 0)
        self.length = 0
        self.pending = []

    def parts(self) -> list[Path]:
        return sorted(self.directory.glob(f"part-*{self.form.suffix}"))

    def _take(self, row: Row) -> bool:
        """Count a row as finished; return whether it is new."""
        key = self.form.key(row)
        if key in self.keys:
            return False
        self.keys.add(key)
        self.seen(row)
        return True

    def _append(self, line: bytes) -> None:
        try:
            written = os.write(self.journal, line)
            if written != len(line):
                raise OSError(28, "No space left on device")
        except OSError as error:
            os.ftruncate(self.journal, self.length)  # leave no incomplete line behind
            raise UnwritableOutput(str(self.directory / JOURNAL), error) from error
        self.length += len(line)

    def _recover(self) -> None:
        for leftover in self.directory.glob(".part.*"):
            leftover.unlink()
        for part in self.parts():
            self._take_part(part)
        journal = self.directory / JOURNAL
        if not journal.exists():
            return
        kept = []
        for row, line in self._journal_rows(journal):
            if self._take(row):
                self.pending.append(row)
                kept.append(line)
        write_whole(journal, b"".join(kept), durable=True)

    def _take_part(self, part: Path) -> None:
        data = part.read_bytes()
        if _digest(data) != part.name[: -len(self.form.suffix)].rpartition("-")[2]:
            part.rename(part.with_name(f"{part.name}.damaged"))
            self.problems.append(f"{part}: damaged; set aside, and its work is done again")
            return
        for row in self.form.read_part(part):
            self._take(row)

    def _journal_rows(self, journal: Path) -> Iterator[tuple[Row, bytes]]:
        data = journal.read_bytes()
        lines = data.splitlines(keepends=True)
        for number, line in enumerate(lines, 1):
            text = _read_line(line)
            if text is None:
                if number < len(lines):  # only the last line may be incomplete, after a kill
                    self.problems.append(f"{journal}:{number}: damaged line dropped, its work is done again")
                continue
            yield self.form.parse(text), line


def load_rows(directory: Path, form: Form[Row]) -> list[Row]:
    """Read the finished rows without locking or changing anything."""
    rows: list[Row] = []
    store = RowStore(directory, form, rows.append)
    for part in store.parts():
        for row in form.read_part(part):
            store._take(row)
    journal = directory / JOURNAL
    if journal.exists():
        for row, _ in store._journal_rows(journal):
            store._take(row)
    return rows


def _make_line(text: str) -> bytes:
    data = text.encode()
    return _digest(data).encode() + b" " + data + b"\n"


def _read_line(line: bytes) -> str | None:
    """The text of a line of the journal; None if the line is damaged."""
    digest, _, data = line.partition(b" ")
    if not data.endswith(b"\n") or _digest(data[:-1]).encode() != digest:
        return None
    return data[:-1].decode()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:DIGEST]


def _number(part: Path) -> int:
    return int(part.name.split("-")[1])
