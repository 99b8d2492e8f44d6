"""Where logs come from: files, directories, globs, gzip, standard input; and what format a file has."""

from __future__ import annotations

import glob
import sys
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from gpudiy.logs.log import LogError, LogProblem

SUFFIXES = (".log", ".txt", ".jsonl", ".parquet", ".csv")
STANDARD_INPUT = "-"
BLOCK = 1 << 22  # bytes read at a time
LONGEST_LINE = 1 << 25  # bytes: no record of a test comes near it
GZIP = b"\x1f\x8b"
PARQUET = b"PAR1"


def find_logs(paths: Iterable[str | Path]) -> Iterator[str]:
    """The files that the paths name, in a stable order; raises `LogError` for a path that names nothing."""
    for given in paths:
        path = str(given)
        if path == STANDARD_INPUT:
            yield path
        elif not path:
            raise LogError("an empty path names nothing")
        elif Path(path).is_dir():
            yield from _in_directory(path)
        elif _exists(path):
            yield path
        elif glob.has_magic(path):
            found = sorted(entry for entry in glob.iglob(path, recursive=True) if not Path(entry).is_dir())  # noqa: PTH207
            if not found:
                raise LogError("no file fits this pattern", path=path)
            yield from found
        else:
            raise LogError("no such file or directory", path=path)


def is_parquet(path: str) -> bool:
    """Whether a file begins with the mark of the Parquet format."""
    if path == STANDARD_INPUT:
        return False
    with _open_file(path) as file:
        return file.read(len(PARQUET)) == PARQUET


def load_text(path: str) -> tuple[str, list[LogProblem]]:
    """The text of a file, unpacked; a damaged archive gives what could be unpacked, and the problem."""
    problems: list[LogProblem] = []
    name = "<stdin>" if path == STANDARD_INPUT else path
    with _open_file(path) as file:
        try:
            data = _join_blocks(_unpack(file, name, problems), name)
        except OSError as error:
            raise LogError(f"cannot be read: {error.strerror or error}", path=name) from None
    return _decode(data), problems


def _in_directory(path: str) -> Iterator[str]:
    names = (*SUFFIXES, *(f"{suffix}.gz" for suffix in SUFFIXES))
    found = sorted(str(file) for file in Path(path).rglob("*") if file.name.endswith(names) and file.is_file())
    if not found:
        raise LogError(f"there is no log ({', '.join(SUFFIXES)}) in this directory", path=path)
    yield from found


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except OSError as error:
        raise LogError(f"cannot be read: {error.strerror}", path=path) from None


def _open_file(path: str) -> BinaryIO:
    if path == STANDARD_INPUT:
        if sys.stdin is None:
            raise LogError("standard input is closed", path="<stdin>")
        return sys.stdin.buffer
    try:
        return Path(path).open("rb")
    except OSError as error:
        raise LogError(f"cannot be read: {error.strerror}", path=path) from None


def _unpack(file: BinaryIO, path: str, problems: list[LogProblem]) -> Iterator[bytes]:
    first = file.read(BLOCK)
    if not first.startswith(GZIP):
        while first:
            yield first
            first = file.read(BLOCK)
        return
    unpack = zlib.decompressobj(wbits=31)
    read = lines = 0
    while first:
        try:
            data = unpack.decompress(first, BLOCK)
        except zlib.error as error:
            problems.append(LogProblem(path, lines + 1, f"the gzip data is damaged near byte {read:,}: {error}"))
            return
        lines += data.count(b"\n")
        yield data
        rest = unpack.unused_data if unpack.eof else unpack.unconsumed_tail
        read += len(first) - len(rest)
        first = rest or file.read(BLOCK)
        if unpack.eof and first:  # an archive may be several, one after another
            if not first.startswith(GZIP):
                problems.append(LogProblem(path, lines + 1, f"what follows byte {read:,} is not gzip: it is left out"))
                return
            unpack = zlib.decompressobj(wbits=31)
    if not unpack.eof:
        problems.append(LogProblem(path, lines + 1, f"the gzip data ends in the middle, after byte {read:,}"))


def _join_blocks(blocks: Iterator[bytes], path: str) -> bytes:
    """All blocks joined; a line without end is refused before it fills the memory."""
    parts: list[bytes] = []
    since = 0  # bytes since the last line end
    lines = 0
    for block in blocks:
        end = block.rfind(b"\n")
        since = since + len(block) if end < 0 else len(block) - end - 1
        lines += block.count(b"\n")
        if since > LONGEST_LINE:
            raise LogError(f"a line of more than {LONGEST_LINE:,} bytes: this is not a log", path=path, line=lines + 1)
        parts.append(block)
    return b"".join(parts)


def _decode(data: bytes) -> str:
    text = data.decode("utf-8-sig", errors="replace")
    return text.replace("\r\n", "\n") if "\r" in text else text
