"""Tables as text: HTML, LaTeX, Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path

from gpudiy.errors import InputError
from gpudiy.logs.tables.heat import colour, css, step_of
from gpudiy.logs.tables.table import Cell, Table
from gpudiy.logs.tables.terminal import plain_text

TEMPLATES = Path(__file__).parent / "templates"
LONG = 40  # rows from which on a LaTeX table may break over pages
LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_", "%": r"\%",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "\u2013": "--", "…": r"\ldots{}",
}  # fmt: skip
PREAMBLE = r"""\documentclass{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage[margin=15mm,landscape]{geometry}
\usepackage{booktabs,longtable}
\usepackage[table]{xcolor}
\begin{document}
"""


class TableFormat(StrEnum):
    """The formats in which tables are printed."""

    TEXT = "text"
    HTML = "html"
    LATEX = "latex"
    MARKDOWN = "markdown"
    CSV = "csv"
    JSON = "json"


SUFFIXES = {
    ".html": TableFormat.HTML, ".htm": TableFormat.HTML, ".tex": TableFormat.LATEX, ".md": TableFormat.MARKDOWN,
    ".csv": TableFormat.CSV, ".json": TableFormat.JSON, ".jsonl": TableFormat.JSON, ".txt": TableFormat.TEXT,
}  # fmt: skip


def format_of(path: str | None) -> TableFormat:
    """The format that the suffix of a file asks for, and text without a file; raises `InputError`."""
    if path is None:
        return TableFormat.TEXT
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(
            f"{path}: a table cannot be printed as {suffix or 'a file without suffix'}",
            hint=f"suffixes: {' '.join(SUFFIXES)}; or say --format",
        )
    return SUFFIXES[suffix]


def tables_text(tables: Sequence[Table], form: TableFormat, heat: bool = True, document: bool = False) -> str:
    """The tables in a format; `document` makes LaTeX that compiles as it is."""
    match form:
        case TableFormat.TEXT:
            return plain_text(tables)
        case TableFormat.HTML:
            return html_text(tables, heat)
        case TableFormat.LATEX:
            return latex_text(tables, heat, document)
        case TableFormat.MARKDOWN:
            return markdown_text(tables)
        case TableFormat.CSV:
            return csv_text(tables)
        case TableFormat.JSON:
            return json_text(tables)


def html_text(tables: Sequence[Table], heat: bool = True) -> str:
    """One page in one file."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    page = environment.get_template("table.html")
    return page.render(tables=tables, heat=heat, css=css(), step_of=step_of)


def latex_text(tables: Sequence[Table], heat: bool = True, document: bool = False) -> str:
    """Tables to be read with \\input; as a whole document they compile as they are."""
    colours = " \\usepackage[table]{xcolor}" if heat else ""
    needs = f"% \\usepackage[T1]{{fontenc}} \\usepackage{{booktabs,longtable}}{colours}\n"
    body = "\n\\bigskip\n\n".join(_latex_table(table, heat) for table in tables)
    return f"{PREAMBLE}{body}\\end{{document}}\n" if document else needs + body


def markdown_text(tables: Sequence[Table]) -> str:
    """The tables in Markdown; each has its title where there are several."""
    return "\n".join(_markdown_table(table, len(tables) > 1) for table in tables)


def csv_text(tables: Sequence[Table]) -> str:
    """Plain numbers; a table with groups has them before its column names, as `chip: column`."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for index, table in enumerate(tables):
        if index:
            writer.writerow([])
        if len(tables) > 1:
            writer.writerow([table.title])
        writer.writerow([*table.corner, *_full_columns(table)])
        for row in table.rows:
            writer.writerow([*row.labels, *(cell.text for cell in row.cells)])
    return out.getvalue()


def json_text(tables: Sequence[Table]) -> str:
    """A line for each row: its labels, and for each column that has a record what was seen there."""
    lines = []
    for table in tables:
        columns = _full_columns(table)
        for row in table.rows:
            cells = {
                column: {
                    "text": cell.text,
                    "number": _round(cell.number),
                    "verdict": cell.sighting,
                    "counts": cell.title,
                }
                for column, cell in zip(columns, row.cells, strict=True)
                if cell.text
            }
            line = {"table": table.title, **dict(zip(table.corner, row.labels, strict=True)), "cells": cells}
            lines.append(json.dumps(line, ensure_ascii=False))
    return "".join(f"{line}\n" for line in lines)


def _round(number: float | None) -> float | None:
    return None if number is None else round(number, 6)


def latex(text: str) -> str:
    """Text as LaTeX prints it; what T1 fonts do not have becomes a question mark."""
    return "".join(LATEX.get(c, c if c == " " or (c.isprintable() and ord(c) < 0x180) else "?") for c in text)


def _latex_table(table: Table, heat: bool) -> str:
    count = len(table.corner) + len(table.columns)
    columns = "l" * len(table.corner) + "r" * len(table.columns)
    head = [r"\toprule"]
    if table.groups:
        words = [""] * len(table.corner)
        head.append(_line([*words, *(rf"\multicolumn{{{span}}}{{c}}{{{latex(name)}}}" for name, span in table.groups)]))
        place = len(table.corner) + 1
        for _, span in table.groups:
            head.append(rf"\cmidrule(lr){{{place}-{place + span - 1}}}")
            place += span
    head += [_line(latex(word) for word in (*table.corner, *table.columns)), r"\midrule"]
    body = [
        _line([*(latex(label) for label in row.labels), *(_latex_cell(cell, heat) for cell in row.cells)])
        for row in table.rows
    ]
    title = rf"\multicolumn{{{count}}}{{l}}{{\textbf{{{latex(table.title)}}}}}\\"
    long = len(table.rows) > LONG
    name = "longtable" if long else "tabular"
    notes = "\n".join(rf"\par\noindent{{\footnotesize {latex(note)}}}" for note in table.notes)
    lines = [rf"\begin{{{name}}}{{{columns}}}", title, *head, *([r"\endhead"] if long else []), *body, r"\bottomrule"]
    return "\n".join([*lines, rf"\end{{{name}}}", notes, ""])


def _latex_cell(cell: Cell, heat: bool) -> str:
    text = rf"\textbf{{{latex(cell.text)}}}" if cell.weak else latex(cell.text)
    if not heat or not cell.heat:
        return text
    background, ink = colour(step_of(cell.heat))
    shown = text if ink != "#ffffff" else rf"\textcolor{{white}}{{{text}}}"
    return rf"\cellcolor[HTML]{{{background[1:].upper()}}}{shown}"


def _line(words: Iterable[str]) -> str:
    """A row; a bracket or star at its start would belong to the end of the row before."""
    text = " & ".join(words)
    return ("{}" if text.startswith(("[", "*")) else "") + text + r" \\"


def _markdown_table(table: Table, titled: bool) -> str:
    heads = [*table.corner, *_full_columns(table)]
    ruler = ["---"] * len(table.corner) + ["---:"] * len(table.columns)
    lines = [f"**{_markdown(table.title)}**", ""] if titled else []
    lines += [_bars(map(_markdown, heads)), _bars(ruler)]
    for row in table.rows:
        cells = [f"**{_markdown(cell.text)}**" if cell.weak else _markdown(cell.text) for cell in row.cells]
        lines.append(_bars([*map(_markdown, row.labels), *cells]))
    return "\n".join([*lines, "", *(f"{_markdown(note)}  " for note in table.notes), ""])


def _bars(words: Iterable[str]) -> str:
    return "| " + " | ".join(words) + " |"


def _markdown(text: str) -> str:
    text = " ".join(text.split())
    for character in "\\`*_[]<>|":
        text = text.replace(character, "\\" + character)
    return text


def _full_columns(table: Table) -> list[str]:
    """The columns with the group each belongs to."""
    groups = [name for name, span in table.groups for _ in range(span)] or [""] * len(table.columns)
    return [f"{group}: {column}" if group else column for group, column in zip(groups, table.columns, strict=True)]
