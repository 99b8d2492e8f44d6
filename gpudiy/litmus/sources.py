"""The sources of tests, the same in every verb: a file, a directory, `@list` or `-`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from gpudiy.litmus.draft import SourcedTest
from gpudiy.litmus.errors import LitmusError
from gpudiy.litmus.reader import decode, read_each_with_places, read_tests
from gpudiy.litmus.test import Test

SUFFIX = ".litmus"
STANDARD_INPUT = "-"
LARGEST_FILE = 1 << 28  # bytes


def find_sources(paths: Iterable[str]) -> Iterator[str]:
    """The files of the paths, in a stable order; raises `LitmusError` for a path that does not exist."""
    for path in paths:
        yield from _expand_path(path, ())


def load_tests(source: str) -> Iterator[Test]:
    """The tests of one file or of standard input; raises `LitmusError` for the first problem."""
    yield from read_tests(*_read_text(source))


def load_each(source: str) -> Iterator[Test | LitmusError]:
    """Every test of one file or of standard input, or its error."""
    for found in load_each_with_places(source):
        yield found if isinstance(found, LitmusError) else found.test


def load_each_with_places(source: str) -> Iterator[SourcedTest | LitmusError]:
    """Like `load_each`, with the source of each test, to report later problems with their position."""
    try:
        text, path = _read_text(source)
    except LitmusError as error:
        yield error
        return
    yield from read_each_with_places(text, path)


def _read_text(source: str) -> tuple[str, str]:
    """The text of a source and the name that messages give it."""
    if source != STANDARD_INPUT:
        return decode(_read_bytes(source), source), source
    if sys.stdin is None:
        raise LitmusError("standard input is closed", path="<stdin>")
    return decode(_read_limited(sys.stdin.buffer, "<stdin>"), "<stdin>"), "<stdin>"


def _expand_path(path: str, lists: tuple[Path, ...]) -> Iterator[str]:
    if path == STANDARD_INPUT:
        yield path
    elif not path:
        raise LitmusError("an empty path names nothing")
    elif not _exists(path):
        raise LitmusError("no such file or directory", path=path)
    elif Path(path).is_dir():
        found = sorted(str(file) for file in Path(path).rglob(f"*{SUFFIX}") if not file.is_dir())
        if not found:
            raise LitmusError(f"there is no {SUFFIX} file in this directory", path=path)
        yield from found
    elif path.startswith("@") and not Path(path).exists():
        yield from _read_list(Path(path[1:]), lists)
    elif Path(path).name.startswith("@"):
        yield from _read_list(Path(path), lists)
    else:
        yield path


def _exists(path: str) -> bool:
    """Whether the file, the directory or the list after `@` exists."""
    try:
        return Path(path).exists() or (path.startswith("@") and Path(path[1:]).exists())
    except OSError as error:  # a name too long for the file system, for one
        raise LitmusError(f"cannot be read: {error.strerror}", path=path) from None


def _read_list(file: Path, lists: tuple[Path, ...]) -> Iterator[str]:
    """The paths in a list file, relative to it; blank lines and lines that start with # are skipped."""
    if file.resolve() in lists:
        raise LitmusError("this list names itself", path=str(file))
    text = decode(_read_bytes(str(file)), str(file))
    for number, line in enumerate(text.splitlines(), 1):
        entry = line.strip()
        if not entry or entry.startswith("#"):
            continue
        target = str(file.parent / entry)
        if entry.startswith("@") and not Path(target).exists():
            target = f"@{file.parent / entry[1:]}"
        try:
            yield from _expand_path(target, (*lists, file.resolve()))
        except LitmusError as error:
            if error.line is not None:
                raise
            raise LitmusError(
                f"{error.path}: {error.message}", path=str(file), line=number, column=1, source=line
            ) from None


def _read_bytes(path: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            return _read_limited(file, path)
    except OSError as error:
        raise LitmusError(f"cannot be read: {error.strerror}", path=path) from None


def _read_limited(file: BinaryIO, path: str) -> bytes:
    data = file.read(LARGEST_FILE + 1)
    if len(data) > LARGEST_FILE:
        raise LitmusError(f"larger than {LARGEST_FILE:,} bytes", path=path)
    return data
