"""Tables on a terminal, with colours, and as plain text."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from typing import TYPE_CHECKING, TextIO

from gpudiy.logs.tables.heat import colour, step_of
from gpudiy.logs.tables.table import Cell, Table

if TYPE_CHECKING:
    from rich.table import Table as RichTable
    from rich.text import Text

WIDE = 100_000  # columns of an output that is not a terminal: nothing is folded there


def plain_text(tables: Sequence[Table]) -> str:
    """The tables as plain text, without colours."""
    out = StringIO()
    print_tables(tables, out, heat=False)
    return out.getvalue()


def print_tables(tables: Sequence[Table], stream: TextIO, heat: bool = True) -> None:
    """Print tables on a terminal, or as plain text whose lines end where their text ends."""
    from rich.console import Console

    terminal = stream.isatty()
    console = Console(file=stream if terminal else StringIO(), width=None if terminal else WIDE, highlight=False)
    for index, table in enumerate(tables):
        if index:
            console.print()
        console.print(table.title, style="bold", markup=False)
        console.print(_draw_table(table, heat))
        for note in table.notes:
            console.print(note, style="dim", markup=False)
    if isinstance(console.file, StringIO):
        stream.writelines(f"{line.rstrip()}\n" for line in console.file.getvalue().splitlines())


def _draw_table(table: Table, heat: bool) -> RichTable:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable(box=SIMPLE_HEAD, pad_edge=False)
    for word in table.corner:
        drawn.add_column(Text(f"\n{word}" if table.groups else word), justify="left", no_wrap=True)
    firsts = [name if not place else "" for name, span in table.groups for place in range(span)]
    for index, column in enumerate(table.columns):
        drawn.add_column(Text(f"{firsts[index]}\n{column}" if firsts else column), justify="right", no_wrap=True)
    for row in table.rows:
        drawn.add_row(*(Text(label) for label in row.labels), *(_draw_cell(cell, heat) for cell in row.cells))
    return drawn


def _draw_cell(cell: Cell, heat: bool) -> Text:
    from rich.text import Text

    if not cell.text:
        return Text("")
    if not cell.weak:
        return Text(cell.text, style="dim")
    background, ink = colour(step_of(cell.heat))
    return Text(cell.text, style=f"bold {ink} on {background}" if heat else "bold")
