"""The rows of a program: one column per thread, cells separated by `|` or `:`."""

from __future__ import annotations

import re
from functools import lru_cache

from gpudiy.errors import format_count
from gpudiy.litmus.declarations import TextPiece
from gpudiy.litmus.source_text import SourceText

CELL_END = re.compile(r"(?<!:):(?!:)")
LABEL = re.compile(r"\s*[A-Za-z_$][\w$]*:(?!:)")  # the first word of its cell with the colon right after it


def semicolon_rows(source: SourceText, start: int, end: int) -> list[TextPiece]:
    """Rows that end in `;`, wherever the lines break."""
    text = source.text
    rows = []
    while (stop := text.find(";", start, end)) >= 0:
        rows.append(TextPiece(text[start:stop], start))
        start = stop + 1
    if text[start:end].strip():
        raise source.error("expected `;` at the end of the row", start + len(text[start:end].rstrip()))
    return rows


def line_rows(source: SourceText, start: int, end: int) -> list[TextPiece]:
    """One row per line; blank lines are skipped."""
    rows = []
    for line in source.text[start:end].split("\n"):
        row = line.rstrip(" \t;")
        if row:
            rows.append(TextPiece(row, start))
        start += len(line) + 1
    return rows


def read_columns(
    source: SourceText, rows: list[TextPiece], separator: str, numbers: list[int]
) -> list[list[TextPiece]]:
    """The cells of every thread, without the empty ones; column i belongs to thread numbers[i]."""
    columns: list[list[TextPiece]] = [[] for _ in numbers]
    for text, offset in rows:
        count, cells = _cells(text, separator)
        if count != len(numbers):
            start = offset + len(text) - len(text.lstrip())
            has = f"this row has {format_count(count, 'cell')}, the test has {format_count(len(numbers), 'thread')}"
            raise source.error(has, start)
        for column, cell, inside in cells:
            columns[numbers[column]].append(TextPiece(cell, offset + inside))
    return columns


@lru_cache(1 << 16)
def _cells(row: str, separator: str) -> tuple[int, tuple[tuple[int, str, int], ...]]:
    """The number of cells of a row, and (column, text, offset) of those that are not empty."""
    cells = row.split("|") if separator == "|" else _split_at_colons(row)
    found = []
    offset = 0
    for column, cell in enumerate(cells):
        text = cell.strip()
        if text:
            found.append((column, text, offset + cell.index(text)))
        offset += len(cell) + 1
    return len(cells), tuple(found)


def _split_at_colons(row: str) -> list[str]:
    cells, start = [], 0
    while True:
        label = LABEL.match(row, start)
        found = CELL_END.search(row, label.end() if label else start)
        if found is None:
            cells.append(row[start:])
            return cells
        cells.append(row[start : found.start()])
        start = found.end()
