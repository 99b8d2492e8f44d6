"""A kit that is whole, put in its place: a folder, in which an older kit may be, or a .zip."""

from __future__ import annotations

import io
import os
import time
import zipfile
from fnmatch import fnmatch
from pathlib import Path

from gpudiy.files import write_whole

SUMS = "SHA256SUMS"
WRITTEN = ("log*.jsonl", "compiled-*")  # what the programs of a kit write beside it
EXECUTABLE = "run.py"
SOURCE_DATE = "SOURCE_DATE_EPOCH"  # in the environment: the date of the files in a .zip, for two exports that agree


def list_files(folder: Path) -> list[Path]:
    """The files of a kit but its sums."""
    return sorted(path for path in folder.iterdir() if path.is_file() and path.name != SUMS)


def replace_kit(output: Path, folder: Path) -> None:
    """Put a kit that is whole in the place of an older one, of which the files go that its sums name.

    A log of the older kit stays: it may be the only copy of what a GPU has said.
    """
    for name in _list_own_files(output) - {path.name for path in folder.iterdir()}:
        (output / name).unlink(missing_ok=True)
    for path in [*list_files(folder), folder / SUMS]:
        write_whole(output / path.name, path.read_bytes())
        if path.name == EXECUTABLE:
            _let_execute(output / path.name)


def _list_own_files(folder: Path) -> set[str]:
    """The names of the files of a kit, without what its programs wrote later."""
    sums = folder / SUMS
    lines = sums.read_text(encoding="utf-8").splitlines() if sums.exists() else []
    names = {Path(line.partition("  ")[2]).name for line in lines} - {""}
    return {name for name in names if not any(fnmatch(name, pattern) for pattern in WRITTEN)}


def _let_execute(path: Path) -> None:
    """Whoever may read it may execute it."""
    mode = path.stat().st_mode
    path.chmod(mode | (mode & 0o444) >> 2)


def pack_folder(folder: Path) -> bytes:
    """A kit as a .zip that unpacks to one folder."""
    packed, date = io.BytesIO(), _find_date()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in [*list_files(folder), folder / SUMS]:
            entry = zipfile.ZipInfo(f"{folder.name}/{path.name}", date)
            entry.external_attr = (0o100755 if path.name == EXECUTABLE else 0o100644) << 16
            archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _find_date() -> tuple[int, int, int, int, int, int]:
    """The time now, as clocks show it here, or that of the environment, in UTC."""
    fixed = os.environ.get(SOURCE_DATE, "")
    found = time.gmtime(int(fixed)) if fixed.isdecimal() else time.localtime()
    return max(1980, found.tm_year), found.tm_mon, found.tm_mday, found.tm_hour, found.tm_min, found.tm_sec
