"""Plain tables: text in aligned columns."""

from __future__ import annotations

from collections.abc import Collection, Sequence

GAP = "  "


def align_columns(
    rows: Sequence[Sequence[str]], *, right: Collection[int] = (), widths: Sequence[int] = (), indent: str = ""
) -> str:
    """Rows in aligned columns of at least `widths`, one line each; the columns `right` are flush right."""
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for index, width in enumerate(widths):
        wide[index] = max(wide[index], width)
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if index in right else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, wide, strict=True))
        ]
        lines.append((indent + GAP.join(cells)).rstrip())
    return "\n".join(lines)
