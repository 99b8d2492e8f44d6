"""Read locks from files and from the library."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gpudiy.arguments import name_of
from gpudiy.errors import InputError, near_name
from gpudiy.files import read_text
from gpudiy.locks.lock import Lock, follow_lock
from gpudiy.locks.lock_description import read_description
from gpudiy.locks.lock_program import LockProgram
from gpudiy.locks.names import Pair
from gpudiy.locks.placement import WidestPlacement
from gpudiy.locks.ptx_source import read_ptx
from gpudiy.locks.read_cuda import ARCHITECTURE, read_cuda

LIBRARY = Path(__file__).parent / "library"
CUDA_SUFFIXES = (".cu", ".cuh", ".h", ".hpp", ".cpp", ".c")
SUFFIXES = (*CUDA_SUFFIXES, ".ptx", ".lock")
LARGEST = 1_000_000  # characters of a source


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read a source: the names of its functions, the architecture, the initial values of a free lock."""

    names: Pair = (None, None)
    architecture: str = ARCHITECTURE
    includes: tuple[str, ...] = ()
    initial: tuple[tuple[str, int], ...] = ()
    placement: WidestPlacement | None = None  # how far apart the threads are; None: as the space of the lock allows


PLAIN = Reading()


def library_names() -> list[str]:
    """The names of the locks of the library."""
    return sorted(file.stem for file in LIBRARY.iterdir() if file.suffix in SUFFIXES)


def library_file(name: str) -> Path:
    """The source file of a lock of the library."""
    return next(file for file in LIBRARY.iterdir() if file.stem == name and file.suffix in SUFFIXES)


def load_locks(names: Sequence[str], reading: Reading) -> list[Lock]:
    """Load locks by name or file; the name `library` means all locks of the library."""
    every = [name for word in names for name in (library_names() if word == "library" else [word])]
    return [load_lock(name, reading) for name in every]


def load_lock(lock: Lock | str | Path, reading: Reading = PLAIN) -> Lock:
    """Load a lock of the library by its name, or from a file; a `Lock` stays as it is."""
    if isinstance(lock, Lock):
        return lock
    name = name_of(lock, "lock")
    if name in library_names():
        file = library_file(name)
        return read_lock(file.read_text(encoding="utf-8"), file.name, reading)
    path = Path(name)
    if path.suffix not in SUFFIXES and path.exists():
        raise InputError(f"a lock is read from a file in one of these: {', '.join(SUFFIXES)}", path=name)
    if path.suffix not in SUFFIXES:
        known = near_name(name, library_names()) or "`gpudiy lock list` lists the locks of the library"
        raise InputError(f"unknown lock {name!r}", hint=f"{known} (or name a file: {', '.join(SUFFIXES)})")
    return read_lock(read_text(path), name, reading)


def read_lock(text: str, path: str, reading: Reading = PLAIN) -> Lock:
    """Read a lock from a text; the suffix of `path` names the language."""
    if not text.strip():
        raise InputError("no lock found: the file is empty", path=path)
    if len(text) > LARGEST:
        raise InputError(f"this file is too large for a lock: it has more than {LARGEST:,} characters", path=path)
    name = re.sub(r"[^\w.-]", "-", Path(path).stem, flags=re.ASCII)  # it becomes part of the names of tests
    return follow_lock(name, read_program(text, path, reading), dict(reading.initial) or None, reading.placement)


def read_program(text: str, path: str, reading: Reading = PLAIN) -> LockProgram:
    """Read the code of a lock from a text."""
    suffix = Path(path).suffix
    if suffix == ".lock":
        return read_description(text, path)
    if suffix == ".ptx":
        return read_ptx(text, path, reading.names)
    return read_cuda(text, path, reading.names, reading.architecture, reading.includes)
