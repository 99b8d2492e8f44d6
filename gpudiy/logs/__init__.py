"""The log of runs: its record, readers, writers, statistics, comparison, tables, report.

`read_log(paths)` gives one DataFrame of all records, with the columns of `SCHEMA`; `outcomes(frame)` its histograms;
`write_log`, `compare`, `conform`, `table` and `report` take such a frame, or paths, or records.
Everything is imported from its module when it is first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudiy.lazy import lazy_names

if TYPE_CHECKING:
    from gpudiy.logs.columns import SCHEMA, Columns
    from gpudiy.logs.comparison import ChipComparison, compare
    from gpudiy.logs.conformance import Conformance, conform
    from gpudiy.logs.frame import DamagedLog, frame_of_records, outcomes, read_log, records_of
    from gpudiy.logs.html_report.report import HtmlReport, report
    from gpudiy.logs.log import Log, LogError, LogProblem
    from gpudiy.logs.reading import load_log
    from gpudiy.logs.record import Record
    from gpudiy.logs.tables.kinds import TableKind, table
    from gpudiy.logs.tables.table import Table
    from gpudiy.logs.writing import LogFormat, write_log

_MODULES = {
    "columns": ("SCHEMA", "Columns"),
    "comparison": ("ChipComparison", "compare"),
    "conformance": ("Conformance", "conform"),
    "frame": ("DamagedLog", "frame_of_records", "outcomes", "read_log", "records_of"),
    "html_report.report": ("HtmlReport", "report"),
    "log": ("Log", "LogError", "LogProblem"),
    "reading": ("load_log",),
    "record": ("Record",),
    "tables.kinds": ("TableKind", "table"),
    "tables.table": ("Table",),
    "writing": ("LogFormat", "write_log"),
}

__all__ = [
    "SCHEMA", "ChipComparison", "Columns", "Conformance", "DamagedLog", "HtmlReport", "Log", "LogError", "LogFormat",
    "LogProblem", "Record", "Table", "TableKind", "compare", "conform", "frame_of_records", "load_log", "outcomes",
    "read_log", "records_of", "report", "table", "write_log",
]  # fmt: skip

if not TYPE_CHECKING:  # a type checker must find misspelt names
    __getattr__ = lazy_names(__name__, _MODULES)


def __dir__() -> list[str]:
    return sorted(__all__)
