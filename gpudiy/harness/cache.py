"""`Cache`: what has been compiled stays compiled.

A folder an architecture and toolchain; in it a cubin is named by the hash of its bytes, and beside it stands a list of
the tests inside, a line of JSON each. The list is written last, both in one step each: what is listed is whole. A cubin
whose bytes no longer fit its name is thrown away with its list.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path

from gpudiy.files import write_whole

UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Entry:
    """A test that was built: where its code is, what the host must know to run it, and optcheck's verdict on it."""

    source: str  # the hash of the text it was read from
    test: str
    hash: str
    architecture: str
    object: str = ""  # the hash of the cubin
    play: str = ""
    number: int = 0  # of the test in the module
    constants: tuple[int, ...] = ()
    verdict: str = ""
    explanation: str = ""
    obstacle: str = ""  # why there is no code for it
    stress: str = ""  # what is wrong with the stress of the harness around it

    @property
    def refusal(self) -> str:
        """Why the binary is not the test that was asked for, if it is not."""
        if self.obstacle:
            return ""
        if self.verdict != UNCHANGED:
            return f"optcheck: {self.verdict}"
        return f"stress: {self.stress}" if self.stress else ""


def default_folder() -> Path:
    named = os.environ.get("XDG_CACHE_HOME")
    return (Path(named) if named else Path.home() / ".cache") / "gpudiy"


class Cache:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.entries: dict[str, Entry] = {}
        self._whole: dict[str, bool] = {}
        for index in sorted(folder.glob("*.jsonl")):
            for entry in _read(index):
                self.entries[entry.source] = entry

    def find(self, source: str) -> Entry | None:
        """What is known of the test with this text; None if it must be built."""
        entry = self.entries.get(source)
        if entry is None or (entry.object and not self._is_whole(entry.object)):
            return None
        return entry

    def object_path(self, name: str) -> Path:
        return self.folder / f"{name}.cubin"

    def store(self, cubin: bytes, entries: Iterable[Entry]) -> list[Entry]:
        """Keep a cubin and its tests; tests without code are kept too, so that they are not tried again."""
        name = sha256(cubin).hexdigest()[:32]
        kept = [entry if entry.obstacle else replace(entry, object=name) for entry in entries]
        self.folder.mkdir(parents=True, exist_ok=True)
        if cubin:
            write_whole(self.object_path(name), cubin)
        lines = "".join(json.dumps(asdict(entry)) + "\n" for entry in kept)
        listed = name if cubin else sha256(lines.encode()).hexdigest()[:32]
        write_whole(self.folder / f"{listed}.jsonl", lines)
        self._whole[name] = True
        self.entries |= {entry.source: entry for entry in kept}
        return kept

    def _is_whole(self, name: str) -> bool:
        if name not in self._whole:
            path = self.object_path(name)
            try:
                self._whole[name] = sha256(path.read_bytes()).hexdigest()[:32] == name
            except OSError:
                self._whole[name] = False
            if not self._whole[name]:
                path.with_suffix(".jsonl").unlink(missing_ok=True)
                path.unlink(missing_ok=True)
        return self._whole[name]


def _read(index: Path) -> list[Entry]:
    """The tests of a list; one that cannot be read counts as not there."""
    try:
        lines = index.read_text(encoding="utf-8").splitlines()
        found = [Entry(**json.loads(line)) for line in lines]
    except (OSError, ValueError, TypeError):
        return []
    return [replace(entry, constants=tuple(entry.constants)) for entry in found]
