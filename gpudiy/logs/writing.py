"""Write logs whole, in the format of the suffix of the file."""

from __future__ import annotations

import csv
import gzip
import io
from enum import StrEnum
from pathlib import Path

from gpudiy.files import whole_file, write_whole
from gpudiy.logs.columns import EMPTY, LAUNCH_SUMS, LIVENESS, Columns
from gpudiy.logs.decision import keep_doubt
from gpudiy.logs.frame import LogSource, open_log
from gpudiy.logs.json_lines import print_json_line
from gpudiy.logs.log import LogError
from gpudiy.logs.text_writer import print_text

CSV_COLUMNS = ("test", "hash", "chip", "device", "architecture", "iterations", "positive", "negative", "ending",
               "optcheck", "condition", "options", "source")  # fmt: skip
CSV_WHERE_KNOWN = ("simulated", *LIVENESS, *LAUNCH_SUMS, "reason", "no_evidence")  # columns that most logs do not need


class LogFormat(StrEnum):
    """The formats in which a log is written."""

    TEXT = "text"
    JSON_LINES = "jsonl"
    PARQUET = "parquet"
    CSV = "csv"


SUFFIXES = {
    ".txt": LogFormat.TEXT,
    ".log": LogFormat.TEXT,
    ".jsonl": LogFormat.JSON_LINES,
    ".json": LogFormat.JSON_LINES,
    ".parquet": LogFormat.PARQUET,
    ".csv": LogFormat.CSV,
}


def format_of(path: str) -> LogFormat:
    """The format of the suffix of a file; raises `LogError` for an unknown suffix."""
    suffix = Path(path.removesuffix(".gz")).suffix.lower()
    if suffix not in SUFFIXES:
        raise LogError(f"the name of a log ends in {', '.join(SUFFIXES)}", path=path)
    return SUFFIXES[suffix]


def write_log(logs: LogSource, path: str | Path, *, format: LogFormat | None = None) -> None:
    """Write records (a DataFrame, records, logs) to a file, which appears when it is whole; a name in .gz is packed.

    The format is that of the suffix: .txt .log .jsonl .parquet .csv.
    """
    columns = open_log(logs).columns
    path = str(path)
    chosen = format or format_of(path)
    if chosen is LogFormat.PARQUET:
        from gpudiy.logs.parquet import write_parquet

        with whole_file(path) as temporary:
            write_parquet(columns, temporary)
        return
    data = log_text(columns, chosen).encode("utf-8", errors="replace")
    packed = gzip.compress(data, mtime=0) if path.endswith(".gz") else data
    write_whole(path, packed)


def log_text(columns: Columns, format: LogFormat) -> str:
    """The records in a format of text."""
    if format is LogFormat.CSV:
        return _csv_text(columns)
    if format is LogFormat.PARQUET:
        raise LogError("Parquet is not text: give the name of a file to write")
    one = print_json_line if format is LogFormat.JSON_LINES else print_text
    return "".join(one(record) for record in columns.records())


def _csv_text(columns: Columns) -> str:
    """Counts without histograms; other fields are left out, and columns in which no record says anything.

    A record that is no evidence says why, since what shows it may be left out.
    """
    columns = Columns.of(keep_doubt(record, record) for record in columns.records())
    names = (*CSV_COLUMNS, *(name for name in CSV_WHERE_KNOWN if any(value != EMPTY[name] for value in columns[name])))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(zip(*(columns[name] for name in names), strict=True))
    return text.getvalue()
