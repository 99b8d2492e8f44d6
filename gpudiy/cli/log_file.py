"""The log that a run writes: every record is there as soon as its test is done."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from gpudiy.cli.progress import say
from gpudiy.litmus.content import content_hash
from gpudiy.litmus.errors import LitmusError
from gpudiy.logs.json_lines import print_json_line
from gpudiy.logs.record import Ending, Record
from gpudiy.logs.text_writer import print_text
from gpudiy.logs.writing import LogFormat, format_of

if TYPE_CHECKING:
    from types import TracebackType

    from gpudiy.litmus.test import Test

# What did not end for a reason that lies in the test is run again when a log is continued.
UNDONE = (Ending.DEVICE_LOST, Ending.OUT_OF_MEMORY)
INTERRUPTED = "interrupted"


class RecordSink:
    """Where records go, one after the other."""

    def add(self, record: Record) -> None:
        """Take one record; the default prints it as text."""
        print(print_text(record), end="", flush=True)

    def close(self) -> None:
        """Nothing is held back on standard output."""

    def __enter__(self) -> RecordSink:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class LogFile(RecordSink):
    """A log of text or JSON Lines grows record by record. Parquet cannot: it is kept as JSON Lines beside its place,
    under a hidden name, until the run ends."""

    def __init__(self, path: Path, format: LogFormat, file: TextIO, done: set[tuple[str, str]]) -> None:
        self.path = path
        self.format = format
        self._file = file
        self._done = done

    @staticmethod
    def open(name: str, format: str | None, resume: bool) -> LogFile:
        """The log of a name, empty or continued; raises `LitmusError` when it cannot be written or continued."""
        chosen = LogFormat(format) if format else format_of(name)
        if chosen is LogFormat.CSV or name.endswith(".gz"):
            raise LitmusError("a run writes text, JSON Lines or Parquet: .txt, .jsonl, .parquet", path=name)
        path = Path(name)
        growing = _spool(path) if chosen is LogFormat.PARQUET else path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            done = _kept(path, growing) if resume else set()
            file = growing.open("a" if resume else "w", encoding="utf-8", errors="replace")
            if resume and growing.stat().st_size and not growing.read_bytes().endswith(b"\n"):
                file.write("\n")  # the last record was cut
        except OSError as error:
            raise LitmusError(f"cannot be written: {error.strerror}", path=name) from None
        return LogFile(path, chosen, file, done)

    def has(self, test: Test, device: str) -> bool:
        return (content_hash(test), device) in self._done

    def add(self, record: Record) -> None:
        text = print_text(record) if self.format is LogFormat.TEXT else print_json_line(record)
        self._file.write(text)
        self._file.flush()

    def close(self) -> None:
        self._file.close()
        if self.format is LogFormat.PARQUET:
            self._pack()

    def _pack(self) -> None:
        from gpudiy.logs.columns import Columns
        from gpudiy.logs.reading import read_file
        from gpudiy.logs.writing import write_log

        spool = _spool(self.path)
        columns = Columns()
        if spool.stat().st_size:
            columns, _ = read_file(str(spool))
        write_log(columns, str(self.path), LogFormat.PARQUET)
        spool.unlink()


def _spool(path: Path) -> Path:
    return path.with_name(f".{path.name}.jsonl")


def _kept(path: Path, growing: Path) -> set[tuple[str, str]]:
    """What the log already says; the records of a Parquet file go back to where it grows."""
    from gpudiy.logs.reading import read_file

    done: set[tuple[str, str]] = set()
    moved = ""
    for place in dict.fromkeys((path, growing)):
        if not place.exists() or not place.stat().st_size:
            continue
        columns, problems = read_file(str(place))
        for problem in problems:
            say(problem)
        for record in columns.records():
            if record.ending not in UNDONE and record.reason != INTERRUPTED:
                done.add((record.hash, record.device))
            if place != growing:
                moved += print_json_line(record)
    if moved:
        growing.write_text(moved + (growing.read_text() if growing.exists() else ""), encoding="utf-8")
    return done
