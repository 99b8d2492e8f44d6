"""The log that a run writes: every record is there as soon as its test is done."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Self, TextIO

from gpudiy.arguments import check_choice
from gpudiy.errors import InputError, UnwritableOutput
from gpudiy.litmus.content import content_hash
from gpudiy.logs.json_lines import print_json_line
from gpudiy.logs.memory_place import MemoryPlace, memory_of
from gpudiy.logs.record import Ending, Record
from gpudiy.logs.text_writer import print_text
from gpudiy.logs.writing import LogFormat, format_of

if TYPE_CHECKING:
    from types import TracebackType

    from gpudiy.litmus.test import Test
    from gpudiy.logs.log import LogProblem

# When a log is continued, a test is run again if it failed for a reason that does not lie in the test.
UNDONE = (Ending.DEVICE_LOST, Ending.OUT_OF_MEMORY)
INTERRUPTED = "interrupted"
Done = tuple[str, str, MemoryPlace]  # a test by its hash, a device, and the memory of the locations


def open_log_of_run(
    name: str | None,
    format: str | None = None,
    *,
    resume: bool = False,
    report_damage: Callable[[LogProblem], None] = lambda problem: None,
) -> GrowingLog | None:
    """The log that a run is asked to write, see `GrowingLog.open`; None if it is not asked for one."""
    if name is not None:
        return GrowingLog.open(name, format, resume=resume, report_damage=report_damage)
    if resume:
        raise InputError(
            "there is nothing to resume", hint="-o LOG (in Python: output) names the log that is continued"
        )
    if format is not None:
        raise InputError(f"there is no log to write as {format}", hint="-o LOG (in Python: output) names it")
    return None


class GrowingLog:
    """A log of text or JSON Lines grows record by record. Parquet cannot: it is kept as JSON Lines beside its place,
    under a hidden name, until the run ends."""

    def __init__(self, path: Path, format: LogFormat, file: TextIO, done: set[Done], fresh: bool) -> None:
        self.path = path
        self.format = format
        self._file = file
        self._done = done
        self._fresh = fresh  # nothing is written yet: the old content stays until something is

    @staticmethod
    def open(
        name: str,
        format: str | None = None,
        *,
        resume: bool = False,
        report_damage: Callable[[LogProblem], None] = lambda problem: None,
    ) -> GrowingLog:
        """The log of a name, empty or, with `resume`, continued; raises `GpudiyError` when that cannot be done.

        `report_damage` is called for every part of a continued log that cannot be read.
        """
        known = (".txt", ".log", ".jsonl", ".json", ".parquet")
        if not format and not name.lower().endswith(known):
            raise InputError(f"the name of the log of a run ends in {', '.join(known)}", path=name)
        if format:
            check_choice(format, LogFormat, "format")
        chosen = LogFormat(format) if format else format_of(name)
        if chosen is LogFormat.PARQUET:
            from gpudiy.logs.parquet import expect_parquet

            expect_parquet()
        path = Path(name)
        growing = _spool(path) if chosen is LogFormat.PARQUET else path
        file: TextIO | None = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = growing.open("a", encoding="utf-8", errors="replace")
            _reserve(file, name)
            done = _find_done(path, growing, report_damage) if resume else set()
            if resume and growing.stat().st_size and not growing.read_bytes().endswith(b"\n"):
                file.write("\n")  # the last record was cut
        except (OSError, InputError) as error:
            if file is not None:
                file.close()
            if isinstance(error, InputError):
                raise
            raise UnwritableOutput(name, error) from None
        return GrowingLog(path, chosen, file, done, fresh=not resume)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def missing(self, tests: Iterable[Test], device: str, memory: MemoryPlace = MemoryPlace.DEVICE) -> list[Test]:
        """The tests that have no result on this device and in this memory: those that must still be run."""
        return [test for test in tests if (content_hash(test), device, memory) not in self._done]

    def add(self, record: Record) -> None:
        """Write one record, at once."""
        text = print_text(record) if self.format is LogFormat.TEXT else print_json_line(record)
        if self._fresh:
            self._file.truncate(0)
            self._fresh = False
        self._file.write(text)
        self._file.flush()

    def close(self) -> None:
        """Close the log; Parquet appears now."""
        self._file.close()
        if self.format is LogFormat.PARQUET and self._fresh:
            _spool(self.path).unlink()
        elif self.format is LogFormat.PARQUET:
            self._pack()

    def _pack(self) -> None:
        from gpudiy.logs.columns import Columns
        from gpudiy.logs.reading import read_file
        from gpudiy.logs.writing import write_log

        spool = _spool(self.path)
        columns = Columns()
        if spool.stat().st_size:
            columns, _ = read_file(str(spool))
        write_log(columns, str(self.path), format=LogFormat.PARQUET)
        spool.unlink()


def _reserve(file: TextIO, name: str) -> None:
    """Only one run at a time writes a log; the lock ends with the process, however that ends."""
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InputError("another gpudiy is writing this log", path=name, hint="wait for it, or name another") from None


def _spool(path: Path) -> Path:
    return path.with_name(f".{path.name}.jsonl")


def _find_done(path: Path, growing: Path, report_damage: Callable[[LogProblem], None]) -> set[Done]:
    """What the log has; the records of a Parquet file go back to where the log grows."""
    from gpudiy.logs.reading import read_file

    done: set[Done] = set()
    moved = ""
    for place in dict.fromkeys((path, growing)):
        if not place.exists() or not place.stat().st_size:
            continue
        columns, problems = read_file(str(place))
        for problem in problems:
            report_damage(problem)
        for record in columns.records():
            if record.ending not in UNDONE and record.reason != INTERRUPTED:
                done.add((record.hash, record.device, memory_of(record.options)))
            if place != growing:
                moved += print_json_line(record)
    if moved:
        growing.write_text(moved + (growing.read_text() if growing.exists() else ""), encoding="utf-8")
    return done
