"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from gpudiy.litmus.errors import LitmusError


def write_whole(path: Path, text: str) -> None:
    """Write a file under a temporary name beside its place, then put it there in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")  # known before the file exists: an interrupt finds it
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):  # told of the file that was asked for
            error.filename, error.filename2 = str(path), None
        raise


def expect_writable(path: str | Path, folder: bool = False) -> None:
    """Raise `LitmusError` for a place where no such file, or folder, can be, before hours of work are done for it."""
    place = Path(path)
    if place.exists() and place.is_dir() != folder:
        what = "a file, and a directory is wanted" if folder else "a directory"
        raise LitmusError(f"cannot be written: this is {what}", path=str(path))
    above = next(parent for parent in (place, *place.absolute().parents) if parent.is_dir())
    if not os.access(above, os.W_OK | os.X_OK):
        raise LitmusError("cannot be written: Permission denied", path=str(path))
    blocked = next((parent for parent in place.absolute().parents if parent.exists() and not parent.is_dir()), None)
    if blocked is not None:
        raise LitmusError(f"cannot be written: {blocked} is not a directory", path=str(path))
