"""Logs of every known format, read into one `Log`."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from gpudiy.errors import UsageError
from gpudiy.logs.columns import Columns
from gpudiy.logs.counts_csv import looks_like_counts, read_counts
from gpudiy.logs.json_lines import looks_like_records, read_json_lines
from gpudiy.logs.log import Log, LogError, LogProblem
from gpudiy.logs.parquet import read_parquet
from gpudiy.logs.sources import STANDARD_INPUT, find_logs, is_parquet, load_text
from gpudiy.logs.text_reader import looks_like_text_log, read_text

KIT_HEAD = '{"kit":'  # how the log of a kit begins
Paths = str | Path | Iterable[str | Path]
Result = TypeVar("Result")


def load_log(paths: Paths, without: tuple[str, ...] = ()) -> Log:
    """Read logs: files, directories, globs, `-`. Raises `LogError` for what is not a log at all; damaged records are
    left out and listed among the problems. The columns `without` may stay empty: the caller does not need them."""
    columns = Columns()
    problems: list[LogProblem] = []
    files: list[str] = []
    for file, found in read_each(paths, problems, lambda path: read_file(path, without)):
        files.append(file)
        if found is not None:
            columns.extend(found[0])
            problems += found[1]
    return Log(columns, tuple(problems), tuple(files))


def read_each(
    paths: Paths, problems: list[LogProblem], read: Callable[[str], Result]
) -> Iterator[tuple[str, Result | None]]:
    """Each file that the paths name, and what `read` makes of it.

    A file that was named must be a log. One that was only found, in a directory or by a pattern, need not be: it gives
    None and is added to the problems.
    """
    if not isinstance(paths, (Path, Iterable)):
        raise UsageError(f"expected paths of logs, not {type(paths).__name__}")
    given: Sequence[str | Path] = [paths] if isinstance(paths, (str, Path)) else list(paths)
    named = {str(path) for path in given}
    for file in list(find_logs(given)):
        try:
            found = read(file)
        except LogError as error:
            if file in named:
                raise
            problems.append(LogProblem(file, error.line or 0, f"{error.message}: it is left out"))
            yield file, None
        else:
            yield file, found


def read_file(path: str, without: tuple[str, ...] = ()) -> tuple[Columns, list[LogProblem]]:
    """The records of one file, and its problems."""
    if path.endswith(".litmus"):
        raise LogError("this is a test, not a log", path=path, hint="`gpudiy run` runs tests and writes a log")
    if is_parquet(path):
        return read_parquet(path, without), []
    text, problems = load_text(path)
    name = "<stdin>" if path == STANDARD_INPUT else path
    if not text.strip():
        if problems:
            return Columns(), problems
        raise LogError("this log is empty", path=name)
    columns, wrong = _read(text, name)
    return columns, problems + wrong


def _read(text: str, path: str) -> tuple[Columns, list[LogProblem]]:
    if text.startswith(KIT_HEAD):
        hint = f"`gpudiy run --import {path} -o LOG` makes a log of it"
        raise LogError("this is what a kit wrote on the machine with the GPU", path=path, hint=hint)
    if text.lstrip()[0] == "{":
        if not looks_like_records(text):
            raise LogError("this is not a log: its lines are not records", path=path)
        return read_json_lines(text, path)
    header = next(csv.reader(io.StringIO(text[:65536])), [])
    if looks_like_counts(header):
        return read_counts(text, path)
    if looks_like_text_log(text):
        return read_text(text, path)
    raise LogError(
        "this is not a log",
        path=path,
        line=1,
        column=1,
        source=text.split("\n", 1)[0][:1000],
        hint="known are logs of gpu-litmus, litmus7, herd7 and gpudiy, JSON Lines, Parquet, CSV with a column `test`",
    )
