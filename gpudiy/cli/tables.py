"""Print plain tables in aligned columns."""

from __future__ import annotations

from collections.abc import Collection, Sequence

GAP = "  "


def print_columns(
    rows: Sequence[Sequence[str]], *, right: Collection[int] = (), widths: Sequence[int] = (), indent: str = ""
) -> None:
    """Print rows in aligned columns of at least `widths`; the columns `right` are flush right."""
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for index, width in enumerate(widths):
        wide[index] = max(wide[index], width)
    for row in rows:
        cells = [
            cell.rjust(width) if index in right else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, wide, strict=True))
        ]
        print((indent + GAP.join(cells)).rstrip())
