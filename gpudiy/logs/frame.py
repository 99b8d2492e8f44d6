"""Logs as pandas DataFrames, for notebooks: one row per record, and, from its histogram, one row per outcome."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Union, cast

from gpudiy.errors import UsageError
from gpudiy.logs.columns import EMPTY, NAMES, SCHEMA, Columns, record_of
from gpudiy.logs.histogram import LINE
from gpudiy.logs.log import Log, LogError
from gpudiy.logs.reading import Paths, load_log
from gpudiy.logs.record import Record

if TYPE_CHECKING:
    from pandas import DataFrame

LogSource = Union[str, Path, Iterable[str | Path], Iterable[Record], Log, Columns, "DataFrame"]


class DamagedLog(UserWarning):
    """Some of a log could not be read; the rest is there."""


def read_log(paths: Paths) -> DataFrame:
    """Read logs into one DataFrame, one row per record, with the columns of `gpudiy.logs.SCHEMA`.

    `paths` is a path or several: files, directories, globs; text, JSON Lines, Parquet, CSV, also gzipped. What is
    damaged is left out with a `DamagedLog` warning and listed in `frame.attrs["problems"]`; what is not a log at all
    raises `LogError`.
    """
    log = load_log(paths)
    _warn(log)
    frame = frame_of(log.columns)
    frame.attrs["problems"] = [problem.as_json() for problem in log.problems]
    return frame


def open_log(source: LogSource, without: tuple[str, ...] = ()) -> Log:
    """Open whatever has records: paths, a DataFrame of `read_log`, records, or a `Log` itself.

    What is damaged is left out with a `DamagedLog` warning. Raises `LogError` where it finds no record.
    """
    if isinstance(source, Log):
        return source
    if isinstance(source, Columns):
        return Log(source)
    if isinstance(source, (str, Path)):
        log = load_log(source, without)
    elif not isinstance(source, Iterable):
        raise UsageError(f"expected paths of logs, records, or a DataFrame of records, not {type(source).__name__}")
    elif (pandas := sys.modules.get("pandas")) is not None and isinstance(source, pandas.DataFrame):
        log = Log(columns_of(source))
    else:
        entries = cast("list[Record | str | Path]", list(source))
        records = [entry for entry in entries if isinstance(entry, Record)]
        paths = [entry for entry in entries if not isinstance(entry, Record)]
        log = load_log(paths, without) if paths else Log(Columns.of(records))
    if not len(log.columns):
        raise LogError("these logs contain no complete record")
    _warn(log)
    return log


def _warn(log: Log) -> None:
    for problem in log.problems:
        warnings.warn(str(problem), DamagedLog, stacklevel=3)


def frame_of(columns: Columns) -> DataFrame:
    """The columns as a DataFrame: repeated texts are categories, missing numbers are <NA>."""
    import pandas

    series = {}
    for column in SCHEMA:
        values = columns[column.name]
        if column.kind == "category":
            series[column.name] = pandas.Series(pandas.Categorical(values))
        elif column.kind == "optional":
            series[column.name] = pandas.Series(values, dtype="Int64")
        else:
            dtype = {"text": "str", "integer": "int64", "real": "float64", "flag": "bool"}[column.kind]
            series[column.name] = pandas.Series(values, dtype=dtype)
    return pandas.DataFrame(series)


def outcomes(frame: DataFrame) -> DataFrame:
    """One row per outcome: `record` (index of its row in `frame`), test, chip, incantation, outcome, count, weak."""
    import pandas

    places: list[object] = []
    texts: list[str] = []
    counts: list[int] = []
    weak: list[bool] = []
    for place, histogram in zip(frame.index, frame["histogram"], strict=True):
        found = LINE.findall(histogram)
        places += [place] * len(found)
        counts += [int(count) for count, _, _ in found]
        weak += [mark == "*" for _, mark, _ in found]
        texts += [sys.intern(outcome) for _, _, outcome in found]
    rows = pandas.DataFrame({"record": places, "outcome": texts, "count": counts, "weak": weak})
    about = frame[["test", "chip", "incantation"]]
    joined = rows.join(about, on="record")
    return joined[["record", "test", "chip", "incantation", "outcome", "count", "weak"]]


def columns_of(frame: DataFrame) -> Columns:
    """The columns of a DataFrame that has at least `test` and `iterations`; what else it lacks is empty."""
    import pandas

    if missing := {"test", "iterations"} - {*frame.columns}:
        raise LogError(f"this DataFrame has no column `{min(missing)}`: its rows are not records")
    lists = {}
    for column in SCHEMA:
        empty = EMPTY[column.name]
        if column.name not in frame:
            lists[column.name] = [empty] * len(frame)
            continue
        values = frame[column.name].astype(object)
        lists[column.name] = values.where(~pandas.isna(values), empty).tolist()
    return Columns(lists)


def records_of(frame: DataFrame) -> Iterator[Record]:
    """The records behind the rows."""
    columns = columns_of(frame)
    for row in zip(*(columns[name] for name in NAMES), strict=True):
        yield record_of(dict(zip(NAMES, row, strict=True)))


def frame_of_records(records: Iterable[Record]) -> DataFrame:
    """The rows of records."""
    return frame_of(Columns.of(records))
