"""gpudiy finds out what the memory models of GPUs really are.

One function for each arrow of the pipeline; what they give shows itself in a notebook:

    test = gpudiy.read("mp.litmus")                        a Test
    tests = gpudiy.generate(family="classic")              a list of Tests
    verdicts = gpudiy.model(tests, models="sc,ptx-6.0")    a DataFrame, one row per verdict
    gpudiy.build(tests, arch="sm_90", output="built")      a DataFrame of what was compiled, and what optcheck found
    gpudiy.export(tests, arch="sm_90", output="kit.zip")   a kit for a machine with a GPU and without gpudiy
    records = gpudiy.run(tests, device="sim:kepler")       a DataFrame, one row per record
    gpudiy.compare(records), gpudiy.conform(records, "ptx-6.0"), gpudiy.table(records), gpudiy.report(records)
    gpudiy.check_lock("he-yu-spinlock")                    a LockReport: right, wrong or unknown

Where a function takes tests it takes one or many, as such or as paths; where it takes logs it takes paths or records.
Options have the names and defaults of the command line. Errors are of one family, `GpudiyError`. Everything is imported
when it is first used, so that `import gpudiy` costs nothing.
"""

from __future__ import annotations

from gpudiy.lazy import lazy_names
from gpudiy.version import __version__

TYPE_CHECKING = False  # type checkers know it by its name; to import it from typing takes longer than all the rest

if TYPE_CHECKING:
    from gpudiy.devices.doctor.examination import examine_machine
    from gpudiy.devices.run import run
    from gpudiy.diy.generate import generate
    from gpudiy.errors import DeviceFailure, GpudiyError, InputError, MissingTool, UnwritableOutput, UsageError
    from gpudiy.harness.build_folder import build
    from gpudiy.kits.export import export
    from gpudiy.kits.importing import import_log
    from gpudiy.litmus.loading import read, read_all
    from gpudiy.litmus.test import Test
    from gpudiy.locks.report import Judgement, LockReport, check_lock
    from gpudiy.logs.comparison import ChipComparison, compare
    from gpudiy.logs.conformance import Conformance, conform
    from gpudiy.logs.frame import read_log
    from gpudiy.logs.html_report.report import HtmlReport, report
    from gpudiy.logs.record import Record
    from gpudiy.logs.tables.kinds import table
    from gpudiy.logs.tables.table import Tables
    from gpudiy.logs.writing import write_log
    from gpudiy.models.execution import Execution
    from gpudiy.models.progress.verdict import decide_progress
    from gpudiy.models.races import find_race
    from gpudiy.models.verdict import Verdict
    from gpudiy.models.verdict_frame import model

_MODULES = {
    "devices.doctor.examination": ("examine_machine",),
    "devices.run": ("run",),
    "diy.generate": ("generate",),
    "errors": ("DeviceFailure", "GpudiyError", "InputError", "MissingTool", "UnwritableOutput", "UsageError"),
    "harness.build_folder": ("build",),
    "kits.export": ("export",),
    "kits.importing": ("import_log",),
    "litmus.loading": ("read", "read_all"),
    "litmus.test": ("Test",),
    "locks.report": ("Judgement", "LockReport", "check_lock"),
    "logs.comparison": ("ChipComparison", "compare"),
    "logs.conformance": ("Conformance", "conform"),
    "logs.frame": ("read_log",),
    "logs.html_report.report": ("HtmlReport", "report"),
    "logs.record": ("Record",),
    "logs.tables.kinds": ("table",),
    "logs.tables.table": ("Tables",),
    "logs.writing": ("write_log",),
    "models.execution": ("Execution",),
    "models.progress.verdict": ("decide_progress",),
    "models.races": ("find_race",),
    "models.verdict": ("Verdict",),
    "models.verdict_frame": ("model",),
}

__all__ = [
    "ChipComparison", "Conformance", "DeviceFailure", "Execution", "GpudiyError", "HtmlReport", "InputError",
    "Judgement", "LockReport", "MissingTool", "Record", "Tables", "Test", "UnwritableOutput", "UsageError", "Verdict",
    "__version__", "build", "check_lock", "compare", "conform", "decide_progress", "examine_machine", "export",
    "find_race", "generate", "import_log", "model", "read", "read_all", "read_log", "report", "run", "table",
    "write_log",
]  # fmt: skip

if not TYPE_CHECKING:  # a type checker must find misspelt names
    __getattr__ = lazy_names(__name__, _MODULES)


def __dir__() -> list[str]:
    return sorted(__all__)
