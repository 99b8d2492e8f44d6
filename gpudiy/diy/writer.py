"""Families as files: a directory of tests with a list and an index, or one stream.

The list and the index appear last, so a directory with an index is complete.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO

from gpudiy.diy.blueprint import Blueprint
from gpudiy.files import open_whole, whole_files

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
    with open_whole(file) as index:
        for blueprint in blueprints:
            index.write(index_line(blueprint))
            yield blueprint


def write_directory(blueprints: Iterable[Blueprint], directory: Path) -> Iterator[Blueprint]:
    """Write the tests as `NAME.litmus` and yield each; then write the list `@all` and the index `index.jsonl`."""
    index, names = open_whole(directory / INDEX), open_whole(directory / LIST)
    with whole_files(directory) as write, index as index_file, names as list_file:
        for blueprint in blueprints:
            name = f"{blueprint.name}{SUFFIX}"
            write(name, blueprint.text())
            list_file.write(f"{name}\n")
            index_file.write(index_line(blueprint))
            yield blueprint


def index_line(blueprint: Blueprint) -> str:
    """One line of JSON; no character of the names needs escaping."""
    edges = '", "'.join(blueprint.edges)
    return (
        f'{{"name": "{blueprint.name}", "cycle": "{blueprint.cycle}", "edges": ["{edges}"], '
        f'"scope_tree": "{blueprint.placed.text}", "memory_map": "{blueprint.memory_map_text()}", '
        f'"content_hash": "{blueprint.content_hash()}"}}\n'
    )
