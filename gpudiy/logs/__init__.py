"""The log of runs: its record, readers, writers, statistics, comparison, tables, report.

`read(paths)` gives one DataFrame of all records, with the columns of `SCHEMA`; `outcomes(frame)` the histograms.
Everything is imported from its module when it is first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpudiy.logs.columns import SCHEMA, Columns
    from gpudiy.logs.frame import DamagedLog, frame_of_records, outcomes, read, records_of
    from gpudiy.logs.problem import LogError, LogProblem
    from gpudiy.logs.reading import Log, load
    from gpudiy.logs.record import Record
    from gpudiy.logs.writing import LogFormat, write_log

_MODULES = {
    "columns": ("SCHEMA", "Columns"),
    "frame": ("DamagedLog", "frame_of_records", "outcomes", "read", "records_of"),
    "problem": ("LogError", "LogProblem"),
    "reading": ("Log", "load"),
    "record": ("Record",),
    "writing": ("LogFormat", "write_log"),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "SCHEMA", "Columns", "DamagedLog", "Log", "LogError", "LogFormat", "LogProblem", "Record", "frame_of_records",
    "load", "outcomes", "read", "records_of", "write_log",
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
