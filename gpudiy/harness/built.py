"""The folder that `gpudiy build` leaves: cubins, and an index that tells which test is where."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from gpudiy.files import write_whole
from gpudiy.harness.cache import Entry

INDEX = "index.jsonl"


@dataclass(frozen=True, slots=True)
class Built:
    """A test in a built folder; without a `file` it was refused, or cannot be run, as `reason` says.

    A device loads the cubin `file` and launches its kernel `run` with the number of the test.
    """

    test: str
    hash: str
    arch: str
    file: str | None
    kernel: str
    number: int
    function: str
    constants: tuple[int, ...]
    optcheck: str
    optcheck_text: str
    reason: str = ""
    stress: str = ""  # what is wrong with the stress of the harness, if something is


def handed_on(entry: Entry, keep_optimised: bool) -> Built:
    """What the index says of a test; one that optcheck does not find unchanged is refused unless told otherwise."""
    reason = entry.obstacle or ("" if keep_optimised else entry.refusal)
    return Built(
        entry.test,
        entry.hash,
        entry.architecture,
        None if reason else f"{entry.object}.cubin",
        "run",
        entry.number,
        entry.play,
        entry.constants,
        entry.verdict,
        entry.explanation,
        reason,
        entry.stress,
    )


def write_index(folder: Path, entries: Iterable[Built]) -> None:
    """Appears whole; the order is that of names, so that two builds of the same tests agree."""
    ordered = sorted(entries, key=lambda built: (built.test, built.arch, built.hash))
    lines = "".join(json.dumps({name: getattr(built, name) for name in Built.__slots__}) + "\n" for built in ordered)
    write_whole(folder / INDEX, lines)


def read_index(folder: Path) -> Iterator[Built]:
    """The tests of a built folder; raises ValueError with the line that cannot be read."""
    path = folder / INDEX
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            fields = json.loads(line)
            yield Built(**{**fields, "constants": tuple(fields["constants"])})
        except (ValueError, TypeError, KeyError):
            raise ValueError(f"{path}:{number}:1: error: this line is not one that `gpudiy build` writes") from None
