"""Families as files: a directory of tests with a list and an index, or one stream.

Every file is written under a temporary name and renamed when it is complete. The list and the index appear last, so a
directory with an index is complete.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Self, TextIO

from gpudiy.diy.blueprint import Blueprint
from gpudiy.files import whole_file

SUFFIX = ".litmus"
LIST = "@all"
INDEX = "index.jsonl"


def write_stream(blueprints: Iterable[Blueprint], stream: TextIO) -> Iterator[Blueprint]:
    """Write the tests one by one, and yield each after it is written."""
    first = True
    for blueprint in blueprints:
        stream.write(blueprint.text() if first else f"\n{blueprint.text()}")
        first = False
        yield blueprint


def write_index(blueprints: Iterable[Blueprint], file: Path) -> Iterator[Blueprint]:
    """Yield the tests and write an index of them; the file appears after the last test."""
    with whole_file(file) as part, part.open("w", encoding="utf-8") as index:
        for blueprint in blueprints:
            index.write(index_line(blueprint))
            yield blueprint


class DirectoryWriter:
    """Writes tests into a directory as `NAME.litmus`, and on exit the list `@all` and the index `index.jsonl`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.mark = f".{os.getpid()}.part"
        self.unfinished: list[tuple[Path, Path]] = []

    def __enter__(self) -> Self:
        self.directory.mkdir(parents=True, exist_ok=True)
        self.handle = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY)
        self.list = self._open_part(LIST)
        self.index = self._open_part(INDEX)
        return self

    def write(self, blueprint: Blueprint) -> None:
        name = f"{blueprint.name}{SUFFIX}"
        data = blueprint.text().encode()
        file = os.open(self.mark, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666, dir_fd=self.handle)
        try:
            while data:
                data = data[os.write(file, data) :]
        finally:
            os.close(file)
        os.rename(self.mark, name, src_dir_fd=self.handle, dst_dir_fd=self.handle)
        self.list.write(f"{name}\n")
        self.index.write(index_line(blueprint))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.list.close()
        self.index.close()
        (self.directory / self.mark).unlink(missing_ok=True)
        os.close(self.handle)
        for part, whole in self.unfinished:
            if kind is None:
                part.replace(whole)
            else:
                part.unlink(missing_ok=True)

    def _open_part(self, name: str) -> IO[str]:
        part = self.directory / f".{name}{self.mark}"
        self.unfinished.append((part, self.directory / name))
        return part.open("w", encoding="utf-8")


def index_line(blueprint: Blueprint) -> str:
    """One line of JSON; no character of the names needs escaping."""
    edges = '", "'.join(blueprint.edges)
    return (
        f'{{"name": "{blueprint.name}", "cycle": "{blueprint.cycle}", "edges": ["{edges}"], '
        f'"scope_tree": "{blueprint.placed.text}", "memory_map": "{blueprint.memory_map_text()}", '
        f'"content_hash": "{blueprint.content_hash()}"}}\n'
    )
