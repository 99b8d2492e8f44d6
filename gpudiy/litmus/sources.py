"""Where tests come from: a file, a directory, `@list` or `-`, the same in every verb."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from gpudiy.litmus.errors import LitmusError
from gpudiy.litmus.reader import decode, read_tests
from gpudiy.litmus.test import Test

SUFFIX = ".litmus"
STANDARD_INPUT = "-"
LARGEST_FILE = 1 << 28  # bytes
HELP = "a file, a directory (its *.litmus at any depth), @LIST (a file that lists such paths), or - for standard input"


def find_sources(paths: Iterable[str]) -> Iterator[str]:
    """The files that the paths stand for, in a stable order; raises `LitmusError` for a path that is not there."""
    for path in paths:
        yield from _expanded(path, ())


def load_tests(source: str) -> Iterator[Test]:
    """The tests of one file or of standard input; raises `LitmusError` at the first fault."""
    data = sys.stdin.buffer.read() if source == STANDARD_INPUT else _bytes(source)
    path = "<stdin>" if source == STANDARD_INPUT else source
    yield from read_tests(decode(data, path), path)


def _expanded(path: str, lists: tuple[Path, ...]) -> Iterator[str]:
    if path == STANDARD_INPUT:
        yield path
    elif Path(path).is_dir():
        found = sorted(str(file) for file in Path(path).rglob(f"*{SUFFIX}"))
        if not found:
            raise LitmusError(f"there is no {SUFFIX} file in this directory", path=path)
        yield from found
    elif Path(path).name.startswith("@") and Path(path).exists():
        yield from _listed(Path(path), lists)
    elif path.startswith("@"):
        yield from _listed(Path(path[1:]), lists)
    elif Path(path).exists():
        yield path
    else:
        raise LitmusError("no such file or directory", path=path)


def _listed(file: Path, lists: tuple[Path, ...]) -> Iterator[str]:
    """The paths in a list file, relative to it; blank lines and lines that start with # do not count."""
    if file.resolve() in lists:
        raise LitmusError("this list names itself", path=str(file))
    text = decode(_bytes(str(file)), str(file))
    for number, line in enumerate(text.splitlines(), 1):
        entry = line.strip()
        if not entry or entry.startswith("#"):
            continue
        target = str(file.parent / entry)
        if entry.startswith("@") and not Path(target).exists():
            target = f"@{file.parent / entry[1:]}"
        try:
            yield from _expanded(target, (*lists, file.resolve()))
        except LitmusError as error:
            if error.line is not None:
                raise
            raise LitmusError(
                f"{error.path}: {error.message}", path=str(file), line=number, column=1, source=line
            ) from None


def _bytes(path: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise LitmusError(f"cannot be read: {error.strerror}", path=path) from None
    if len(data) > LARGEST_FILE:
        raise LitmusError(f"larger than {LARGEST_FILE:,} bytes", path=path)
    return data
