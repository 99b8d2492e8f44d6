"""`BuildCache`: compiled tests, so that they are not compiled again.

There is one folder per architecture and toolchain. In it a cubin is named by the hash of its bytes, and beside it is a
list of the tests inside, one line of JSON per test. The list is written last, and each file appears whole, so every
listed test exists. A cubin whose bytes do not match its name is removed together with its list.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from gpudiy.files import write_whole
from gpudiy.harness.built import BuiltTest, print_built, read_built


def default_folder() -> Path:
    """The folder of the cache: `$XDG_CACHE_HOME/gpudiy` or `~/.cache/gpudiy`."""
    named = os.environ.get("XDG_CACHE_HOME")
    return (Path(named) if named else Path.home() / ".cache") / "gpudiy"


def cubin_name(cubin: bytes) -> str:
    """The file name of a cubin: the hash of its bytes, which shows whether they were changed."""
    return f"{sha256(cubin).hexdigest()[:32]}.cubin"


class BuildCache:
    """The tests and cubins of one folder; `tests` by their text."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tests: dict[str, BuiltTest] = {}
        self._whole: dict[str, bool] = {}
        for index in sorted(folder.glob("*.jsonl")):
            self.tests |= {built.litmus: built for built in _read(index)}

    def find(self, litmus: str) -> BuiltTest | None:
        """The built test with this text; None if it must be built."""
        built = self.tests.get(litmus)
        if built is None or (built.file and not self._is_whole(built.file)):
            return None
        return built

    def store(self, cubin: bytes, tests: Iterable[BuiltTest]) -> list[BuiltTest]:
        """Keep a cubin and its tests; tests without code are kept too, so that they are not tried again."""
        name = cubin_name(cubin)
        kept = [replace(built, file=name) if built.runnable else built for built in tests]
        if cubin:
            write_whole(self.folder / name, cubin)
        lines = print_built(kept)
        listed = Path(name).stem if cubin else sha256(lines.encode()).hexdigest()[:32]
        write_whole(self.folder / f"{listed}.jsonl", lines)
        self._whole[name] = True
        self.tests |= {built.litmus: built for built in kept}
        return kept

    def _is_whole(self, name: str) -> bool:
        if name not in self._whole:
            path = self.folder / name
            try:
                self._whole[name] = cubin_name(path.read_bytes()) == name
            except OSError:
                self._whole[name] = False
            if not self._whole[name]:
                path.with_suffix(".jsonl").unlink(missing_ok=True)
                path.unlink(missing_ok=True)
        return self._whole[name]


def _read(index: Path) -> list[BuiltTest]:
    """The tests of a list; none if the list cannot be read."""
    try:
        return [read_built(line) for line in index.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError, TypeError, KeyError):
        return []
