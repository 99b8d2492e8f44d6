"""Locks from files and from the library."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpudiy.errors import InputError, near_name
from gpudiy.files import read_text
from gpudiy.locks.lock import Lock, follow_lock
from gpudiy.locks.lock_description import read_description
from gpudiy.locks.lock_program import LockProgram
from gpudiy.locks.names import Pair
from gpudiy.locks.ptx_source import read_ptx
from gpudiy.locks.read_cuda import ARCHITECTURE, read_cuda

LIBRARY = Path(__file__).parent / "library"
CUDA_SUFFIXES = (".cu", ".cuh", ".h", ".hpp", ".cpp", ".c")
SUFFIXES = (*CUDA_SUFFIXES, ".ptx", ".lock")
LARGEST = 1_000_000  # characters of a source


@dataclass(frozen=True, slots=True)
class Reading:
    """How a source is read: which functions make the lock, for which architecture, what a free lock holds."""

    names: Pair = (None, None)
    architecture: str = ARCHITECTURE
    includes: tuple[str, ...] = ()
    initial: tuple[tuple[str, int], ...] = ()


PLAIN = Reading()


def library_names() -> list[str]:
    """The names of the locks of the library."""
    return sorted(file.stem for file in LIBRARY.iterdir() if file.suffix in SUFFIXES)


def library_file(name: str) -> Path:
    """The source of a lock of the library."""
    return next(file for file in LIBRARY.iterdir() if file.stem == name and file.suffix in SUFFIXES)


def load_locks(names: Sequence[str], reading: Reading) -> list[Lock]:
    """The locks of these names or files; `library` is all locks of the library."""
    every = [name for word in names for name in (library_names() if word == "library" else [word])]
    return [load_lock(name, reading) for name in every]


def load_lock(name: str, reading: Reading = PLAIN) -> Lock:
    """A lock of the library by its name, or the lock in a file."""
    if name in library_names():
        file = library_file(name)
        return read_lock(file.read_text(encoding="utf-8"), file.name, reading)
    path = Path(name)
    if path.suffix not in SUFFIXES:
        known = near_name(name, library_names()) or "`gpudiy lock list` names those of the library"
        raise InputError(f"unknown lock {name!r}", hint=f"{known} (or give a file: {', '.join(SUFFIXES)})")
    return read_lock(read_text(path), name, reading)


def read_lock(text: str, path: str, reading: Reading = PLAIN) -> Lock:
    """The lock in a text; the suffix of `path` says what kind of text it is."""
    if not text.strip():
        raise InputError("no lock found: the file is empty", path=path)
    if len(text) > LARGEST:
        raise InputError(f"too large for a lock: more than {LARGEST:,} characters", path=path)
    name = re.sub(r"[^\w.-]", "-", Path(path).stem, flags=re.ASCII)  # it becomes part of the names of tests
    return follow_lock(name, read_program(text, path, reading), _initial(reading.initial))


def read_program(text: str, path: str, reading: Reading = PLAIN) -> LockProgram:
    """The code of the lock in a text."""
    suffix = Path(path).suffix
    if suffix == ".lock":
        return read_description(text, path)
    if suffix == ".ptx":
        return read_ptx(text, path, reading.names)
    return read_cuda(text, path, reading.names, reading.architecture, reading.includes)


def _initial(pairs: Sequence[tuple[str, int]]) -> Mapping[str, int] | None:
    return dict(pairs) or None
