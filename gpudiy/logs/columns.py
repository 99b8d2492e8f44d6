"""Records as columns: what every reader fills and every writer and comparison reads, one list per column.

Columns are what makes large logs quick: a reader appends plain values, no object is built for a record until
somebody asks for it, and a DataFrame or a Parquet file is these lists and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

from gpudiy.logs.histogram import print_histogram, read_histogram
from gpudiy.logs.record import Ending, LaunchSums, Liveness, Record, incantation_label

Pairs = tuple[tuple[str, str], ...]
LIVENESS = tuple(entry.name for entry in fields(Liveness))
LAUNCH_SUMS = tuple(entry.name for entry in fields(LaunchSums))


@dataclass(frozen=True, slots=True)
class Column:
    """`kind` is text, category (text that repeats), integer, optional (an integer or nothing), real or flag."""

    name: str
    kind: str
    what: str

    @property
    def empty(self) -> Any:
        return {"integer": 0, "optional": None, "real": 0.0, "flag": False}.get(self.kind, "")


SCHEMA = (
    Column("test", "text", "name of the test"),
    Column("hash", "text", "hash of the meaning of the test, where the log gives it"),
    Column("chip", "category", "the chip, as it calls itself"),
    Column("device", "category", "where the run was: `cuda:0`, `opencl:…`, `sim:kepler`"),
    Column("architecture", "category", "`sm_35`, `Kepler`, …"),
    Column("simulated", "flag", "whether the device is simulated"),
    Column("incantation", "category", "which of stress, bank, sync, random were on; `none`; empty when not known"),
    Column("iterations", "integer", "how many iterations were done"),
    Column("positive", "integer", "iterations whose outcome satisfies the expression of the condition"),
    Column("negative", "integer", "the other iterations"),
    Column("ending", "category", "finished, stopped; everything else is not evidence"),
    Column("optcheck", "category", "finding of optcheck: unchanged, optimised, error, …; empty: not checked"),
    Column("seed", "optional", "seed of the run"),
    Column("seconds", "real", "how long the run took"),
    Column("started", "text", "when the run started, ISO 8601"),
    Column("condition", "text", "as printed: `exists (0:r2=0 /\\ 1:r2=0)`"),
    Column("histogram", "text", "one line per outcome: count, `:>` or for a weak one `*>`, outcome"),
    Column("text", "text", "the test itself"),
    Column("assembler", "text", "what was made from the test, as the log prints it"),
    Column("optcheck_text", "text", "what optcheck printed"),
    Column("driver", "category", "driver of the device"),
    Column("toolkit", "category", "compiler and its version"),
    Column("options", "category", "incantation and compiler options, a JSON object"),
    Column("device_info", "category", "what else the device said of itself, a JSON object"),
    Column("meetings", "optional", "meetings of all threads of an instance that came about"),
    Column("timeouts", "optional", "meetings that a thread gave up"),
    Column("overlaps", "optional", "iterations whose threads ran at the same time, measured by clocks where `timed`"),
    Column("stress_accesses", "optional", "accesses made by stressing threads"),
    Column("discarded", "optional", "instances thrown away, and counted nowhere, since a loop of theirs did not end"),
    Column("timed", "optional", "iterations for which clocks were read"),
    Column("inversions", "optional", "of these, iterations whose threads began in another order than their numbers"),
    Column("skew", "optional", "sum of the distances between the first accesses of threads, in ticks of the clock"),
    Column("warmed", "optional", "reads that brought lines of the test into a cache before the test"),
    Column("near", "optional", "iterations whose locations shared a line of 128 bytes with other instances or rounds"),
    Column("launches", "optional", "launches of kernels that count"),
    Column("iterations_squared", "optional", "sum over launches: iterations * iterations"),
    Column("sightings_squared", "optional", "sum over launches: sightings * sightings"),
    Column("products", "optional", "sum over launches: iterations * sightings"),
    Column("sighted", "optional", "launches with at least one sighting"),
    Column("no_evidence", "text", "why the run is no evidence, though it ended well and its binary is the test"),
    Column("reason", "text", "in words, where the ending needs them"),
    Column("tool", "category", "what made the record, with its version"),
    Column("source", "category", "where published counts come from"),
    Column("notes", "text", "lines of the log that the reader does not know"),
    Column("file", "category", "the log the record was read from"),
    Column("line", "integer", "the line of that log; 0 where it has no lines"),
)
NAMES = tuple(column.name for column in SCHEMA)
EMPTY = {column.name: column.empty for column in SCHEMA} | {"ending": str(Ending.FINISHED)}
PLAIN = tuple(
    name
    for name in NAMES
    if name
    not in (*LIVENESS, *LAUNCH_SUMS, "incantation", "histogram", "options", "device_info", "ending", "file", "line")
)


class Columns:
    """Records column by column; `lists[name][i]` belongs to record i."""

    __slots__ = ("lists",)

    def __init__(self, lists: dict[str, list[Any]] | None = None) -> None:
        self.lists: dict[str, list[Any]] = {name: [] for name in NAMES} if lists is None else lists

    @staticmethod
    def of(records: Iterable[Record]) -> Columns:
        columns = Columns()
        columns.extend_rows([row_of(record) for record in records])
        return columns

    def __len__(self) -> int:
        return len(self.lists["test"])

    def __getitem__(self, name: str) -> list[Any]:
        return self.lists[name]

    def append(self, record: Record, file: str = "", line: int = 0) -> None:
        self.extend_rows([{**row_of(record), "file": file, "line": line}])

    def extend_rows(self, rows: list[dict[str, Any]]) -> None:
        """Add rows; a column that a row does not have is empty."""
        said: set[str] = set().union(*rows)
        for name, entries in self.lists.items():
            empty = EMPTY[name]
            entries += [row.get(name, empty) for row in rows] if name in said else [empty] * len(rows)

    def extend(self, other: Columns) -> None:
        for name, entries in self.lists.items():
            entries += other.lists[name]

    def take(self, places: Iterable[int]) -> Columns:
        chosen = list(places)
        return Columns({name: [entries[place] for place in chosen] for name, entries in self.lists.items()})

    def record(self, place: int) -> Record:
        return record_of({name: entries[place] for name, entries in self.lists.items()})

    def records(self) -> Iterator[Record]:
        for place in range(len(self)):
            yield self.record(place)


def row_of(record: Record) -> dict[str, Any]:
    """The fields of a record by column, without empty ones."""
    row = {name: value for name in PLAIN if (value := getattr(record, name)) != EMPTY[name]}
    if record.histogram:
        row["histogram"] = print_histogram(record.histogram)
    if record.options:
        row["options"] = pairs_text(record.options)
        row["incantation"] = incantation_label(record.options)
    if record.device_info:
        row["device_info"] = pairs_text(record.device_info)
    if record.liveness is not None:
        row |= {name: getattr(record.liveness, name) for name in LIVENESS}
    if record.launch_sums is not None:
        row |= {name: getattr(record.launch_sums, name) for name in LAUNCH_SUMS}
    row["ending"] = str(record.ending)
    return row


def record_of(row: Mapping[str, Any]) -> Record:
    """The record of a row; a column that the row does not have is empty."""
    plain = {name: row[name] for name in PLAIN if name in row}
    if plain.get("seed") is not None:
        plain["seed"] = int(plain["seed"])
    alive = {name: int(row[name]) for name in LIVENESS if row.get(name) is not None}
    sums = {name: int(row[name]) for name in LAUNCH_SUMS if row.get(name) is not None}
    return Record(
        **plain,
        histogram=read_histogram(row.get("histogram", "")),
        options=read_pairs(row.get("options", "")),
        device_info=read_pairs(row.get("device_info", "")),
        ending=Ending(row.get("ending", Ending.FINISHED)),
        liveness=Liveness(**alive) if alive else None,
        launch_sums=LaunchSums(**sums) if len(sums) == len(LAUNCH_SUMS) else None,
    )


def pairs_text(pairs: Iterable[tuple[str, str]]) -> str:
    """Pairs as a JSON object, in their order; a name may occur twice."""
    return "{" + ", ".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in pairs) + "}"


@lru_cache(maxsize=4096)
def read_pairs(text: str) -> Pairs:
    """Read names with their values, as a column keeps them in JSON; the order is kept."""
    return json.loads(text, object_pairs_hook=lambda found: tuple((str(k), str(v)) for k, v in found)) if text else ()
