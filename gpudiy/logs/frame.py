"""Logs as pandas DataFrames, for notebooks: a row a record, and, from its histogram, a row an outcome."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from gpudiy.logs.columns import EMPTY, NAMES, SCHEMA, Columns, record_of
from gpudiy.logs.histogram_text import LINE
from gpudiy.logs.reading import Paths, load
from gpudiy.logs.record import Record

if TYPE_CHECKING:
    from pandas import DataFrame


class DamagedLog(UserWarning):
    """Some of a log could not be read; the rest is there."""


def read(paths: Paths) -> DataFrame:
    """Read logs into one DataFrame, a row a record, with the columns of `gpudiy.logs.SCHEMA`.

    `paths` is a path or several: files, directories, globs; text, JSON Lines, Parquet, CSV, also gzipped. What is
    damaged is left out with a `DamagedLog` warning and listed in `frame.attrs["problems"]`; what is no log at all
    raises `LogError`.
    """
    log = load(paths)
    for problem in log.problems:
        warnings.warn(str(problem), DamagedLog, stacklevel=2)
    frame = frame_of(log.columns)
    frame.attrs["problems"] = [problem.as_json() for problem in log.problems]
    return frame


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
    """A row an outcome: `record` (the index of its row in `frame`), test, chip, incantation, outcome, count, weak."""
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
    """The columns of a DataFrame that has at least `test`; what it lacks is empty."""
    import pandas

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
    return frame_of(Columns.of(records))
