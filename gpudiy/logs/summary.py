"""Counts of logs by chip; Parquet is read without building records, so that a million of them are quick."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpudiy.logs.chips import memory_of_text
from gpudiy.logs.evidence import set_apart
from gpudiy.logs.log import LogError, LogProblem
from gpudiy.logs.memory_place import MemoryPlace, name_with_memory
from gpudiy.logs.parquet import read_parquet_table
from gpudiy.logs.reading import Paths, read_each, read_file
from gpudiy.logs.record import EVIDENCE, UNCHANGED
from gpudiy.logs.sources import is_parquet

if TYPE_CHECKING:
    import pyarrow
    from pandas import DataFrame, Series

DOUBT = ("meetings", "no_evidence")
OPTIONS = "options"  # they name the memory in which locations lay; a log need not have them
NEEDED = ("test", "chip", "condition", "iterations", "positive", "negative", "ending", "optcheck")


@dataclass(frozen=True, slots=True)
class ChipSummary:
    """The counts of all records of a chip; `apart` counts those that are not evidence."""

    chip: str
    records: int
    tests: int
    observed: int  # tests whose weak outcome was seen
    iterations: int
    sightings: int
    apart: int


def summarise(paths: Paths, problems: list[LogProblem] | None = None) -> list[ChipSummary]:
    """One line per chip and memory, in the order of their names; what is damaged is added to `problems`."""
    import pandas

    wrong: list[LogProblem] = [] if problems is None else problems
    parts = [part for _, part in read_each(paths, wrong, lambda path: _read_needed(path, wrong)) if part is not None]
    if not parts:
        raise LogError("these logs contain no complete record")
    frame = pandas.concat(parts, ignore_index=True) if len(parts) > 1 else parts[0]
    universal = frame["condition"].astype("category")
    broken = universal.map({name: str(name).startswith("forall") for name in universal.cat.categories}).astype(bool)
    frame["sightings"] = frame["positive"].where(~broken, frame["negative"])
    sound = frame["sound"]
    chips = _name_chips(frame)
    evidence = frame[sound]
    by_test = evidence.groupby([chips[sound], evidence["test"]], observed=True)["sightings"].sum()
    tests = by_test.groupby(level=0).size()
    observed = (by_test > 0).groupby(level=0).sum()
    totals = evidence.groupby(chips[sound], observed=True)[["iterations", "sightings"]].sum()
    records, whole = chips.value_counts(), chips[sound].value_counts()
    return [
        ChipSummary(
            chip,
            int(records[chip]),
            int(tests.get(chip, 0)),
            int(observed.get(chip, 0)),
            int(totals["iterations"].get(chip, 0)),
            int(totals["sightings"].get(chip, 0)),
            int(records[chip] - whole.get(chip, 0)),
        )
        for chip in sorted(records.index)
    ]


def _read_needed(path: str, problems: list[LogProblem]) -> DataFrame:
    """The columns of a file that a summary needs, and whether each record is evidence."""
    import pandas

    if is_parquet(path):
        from gpudiy.logs.columns import NAMES

        table = read_parquet_table(path, tuple(name for name in NAMES if name not in (*NEEDED, *DOUBT, OPTIONS)))
        missing = [name for name in NEEDED if name not in table.column_names]
        if missing:
            raise LogError(f"this Parquet file has no column `{missing[0]}`", path=path)
        if not _has_counters(table):
            frame: DataFrame = table.to_pandas()
            frame["sound"] = (
                frame["ending"].astype(str).isin([str(ending) for ending in EVIDENCE])
                & frame["optcheck"].astype(str).isin(("", UNCHANGED))
                & (frame["iterations"] > 0)
            )
            return frame
    columns, wrong = read_file(path)
    problems += wrong
    why = set_apart(columns)
    sound = [place not in why for place in range(len(columns))]
    return pandas.DataFrame({**{name: columns[name] for name in (*NEEDED, OPTIONS)}, "sound": sound})


def _name_chips(frame: DataFrame) -> Series[str]:
    """The chips of all records, each with the memory of its locations if that is not its own."""
    import pandas

    chips = frame["chip"].astype(str)
    if OPTIONS not in frame:
        return chips
    options = frame[OPTIONS].astype("category")
    memories = {text: memory_of_text(str(text)) for text in options.cat.categories}
    if set(memories.values()) <= {MemoryPlace.DEVICE}:
        return chips
    places = [memories.get(text, MemoryPlace.DEVICE) for text in options]
    return pandas.Series(list(map(name_with_memory, chips, places)), index=frame.index)


def _has_counters(table: pyarrow.Table) -> bool:
    """Whether the counters of some record must be looked at to know if it is evidence."""
    known = [table.column(name) for name in DOUBT if name in table.column_names]
    return any(any(value not in (None, "") for value in column.unique().to_pylist()) for column in known)
