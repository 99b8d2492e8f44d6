"""Records as JSON Lines: one object per line, with the names of `Record`, without what is empty."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, fields
from typing import Any

from gpudiy.logs.columns import LAUNCH_SUMS, LIVENESS, Columns, row_of
from gpudiy.logs.decision import decide_sighting
from gpudiy.logs.histogram import find_fault
from gpudiy.logs.log import LogProblem
from gpudiy.logs.record import Ending, LaunchSums, Liveness, OutcomeCount, Record

KNOWN = {entry.name: entry.type for entry in fields(Record)}
MOST = 10**18
PAIRS = ("options", "device_info")
COUNTS = ("iterations", "positive", "negative")
TEXTS = tuple(name for name, type in KNOWN.items() if type == "str")
SIGHTING, SIGHTING_REASON = "sighting", "sighting_reason"  # said of a record, not fields of it: readers pass them over


def print_sighting_line(record: Record) -> str:
    """One record with its sighting, and why it is no evidence, for readers that do not decide it themselves."""
    decision = decide_sighting(record)
    said = {SIGHTING: str(decision.sighting)} | ({SIGHTING_REASON: decision.explanation} if decision.kind else {})
    return json.dumps(_json_of(record) | said, ensure_ascii=False) + "\n"


def print_json_line(record: Record) -> str:
    """One record, with the end of its line."""
    return json.dumps(_json_of(record), ensure_ascii=False) + "\n"


def _json_of(record: Record) -> dict[str, Any]:
    line: dict[str, Any] = {}
    for name in KNOWN:
        value = getattr(record, name)
        if name in COUNTS or not (value is None or value is False or value in ("", ())):
            line[name] = value
    line["ending"] = str(record.ending)
    if record.histogram:
        line["histogram"] = [
            {"outcome": entry.outcome, "count": entry.count} | ({"weak": True} if entry.weak else {})
            for entry in record.histogram
        ]
    for name in PAIRS:
        if name in line:
            line[name] = _pairs(line[name])
    if record.liveness is not None:
        line["liveness"] = {name: count for name, count in asdict(record.liveness).items() if count is not None}
    if record.launch_sums is not None:
        line["launch_sums"] = asdict(record.launch_sums)
    return line


def looks_like_records(text: str) -> bool:
    """Whether JSON lines can be records: those of an index (of a family, of a build) have other names and no counts."""
    if '"iterations"' in text:
        return True
    try:
        found = json.loads(text.lstrip().partition("\n")[0])
    except (ValueError, RecursionError):
        return True  # damaged: every line is reported
    return not isinstance(found, dict) or found.keys() <= KNOWN.keys()


def read_json_lines(text: str, path: str) -> tuple[Columns, list[LogProblem]]:
    """The records of a file, and the problems of lines that are not records."""
    rows: list[dict[str, Any]] = []
    problems = []
    seen: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            record = record_of_json(json.loads(line))
        except (ValueError, RecursionError) as error:
            problems.append(LogProblem(path, number, _wrong(error), line[:200]))
            continue
        if line in seen:
            message = f"this record occurs twice: first on line {seen[line]}"
            problems.append(LogProblem(path, number, message, line[:200], record.test))
            continue
        seen[line] = number
        rows.append({**row_of(record), "file": path, "line": number})
    columns = Columns()
    columns.extend_rows(rows)
    return columns, problems


def record_of_json(found: object) -> Record:
    """The record of an object; raises `ValueError` for an object that is not a record."""
    if not isinstance(found, dict):
        raise ValueError("a record is an object")
    unknown = [name for name in found if name not in (*KNOWN, SIGHTING, SIGHTING_REASON)]
    values = {name: _value(name, value) for name, value in found.items() if name in KNOWN}
    if not values.get("test"):
        raise ValueError("a record names its test")
    if unknown:
        kept = "\n".join(f"{name}: {json.dumps(found[name])}" for name in unknown)
        values["notes"] = "\n".join(filter(None, (values.get("notes", ""), kept)))
    record = Record(**values)
    if fault := find_fault(record):
        raise ValueError(fault)
    return record


def _value(name: str, value: Any) -> Any:
    if name in TEXTS:
        return _expect_type(name, value, str)
    if name in COUNTS:
        return _count(name, value)
    if name == "histogram":
        return tuple(_outcome(entry) for entry in _expect_type(name, value, list))
    if name in PAIRS:
        pairs = value.items() if isinstance(value, dict) else _expect_type(name, value, list)
        return tuple((str(key), str(entry)) for key, entry in pairs)
    if name == "ending":
        return Ending(_expect_type(name, value, str))
    if name == "liveness":
        given = _expect_type(name, value, dict)
        return Liveness(**{key: _count(key, given[key]) for key in LIVENESS if key in given})
    if name == "launch_sums":
        given = _expect_type(name, value, dict)
        return LaunchSums(**{key: _count(key, given.get(key)) for key in LAUNCH_SUMS})
    if name == "seed":
        if not -(1 << 63) <= _expect_type(name, value, int) < 1 << 63:
            raise ValueError(f"seed is {value}, and has no more than 64 bits")
        return value
    if name == "seconds":
        return float(_expect_type(name, value, (int, float)))
    return _expect_type(name, value, bool)


def _outcome(entry: Any) -> OutcomeCount:
    given = _expect_type("histogram", entry, dict)
    outcome = _expect_type("outcome", given.get("outcome"), str)
    return OutcomeCount(outcome, _count("count", given.get("count")), given.get("weak") is True)


def _count(name: str, value: Any) -> int:
    number: int = _expect_type(name, value, int)
    if number < 0:
        raise ValueError(f"{name} is {number}: a count is never below 0")
    if number > MOST:
        raise ValueError(f"{name} is {number}, more than any run can count")
    return number


def _expect_type(name: str, value: Any, expected: Any) -> Any:
    if not isinstance(value, expected) or (isinstance(value, bool) and expected is not bool):
        raise ValueError(f"{name} must not be {json.dumps(value)[:40]}")
    return value


def _pairs(pairs: Iterable[tuple[str, str]]) -> object:
    """An object, or a list of pairs if a name occurs twice."""
    listed = list(pairs)
    unique = dict(listed)
    return unique if len(unique) == len(listed) else listed


def _wrong(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"this is not JSON: {error.msg} at column {error.colno}; the line may be cut"
    return str(error) or "this is not a record"
