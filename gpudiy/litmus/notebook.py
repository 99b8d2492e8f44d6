"""A test as HTML, for notebooks: its program as a table, its scope tree, its initial state and its condition.

It has only the colour of the text, so that it is readable on light and on dark pages.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import zip_longest

from gpudiy.litmus.condition_text import expression_text
from gpudiy.litmus.description import start_facts, tree_lines
from gpudiy.litmus.instruction_text import instruction_text
from gpudiy.litmus.test import Test

MONOSPACE = "font-family:ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;font-size:13px;line-height:1.45"
PLAIN_PRE = f"{MONOSPACE};white-space:pre;overflow-x:auto;margin:4px 0;padding:0;background:transparent;color:inherit"
PLAIN_TABLE = "border-collapse:collapse;border:none;margin:0"
CELL = "text-align:left;white-space:pre;padding:1px 14px 1px 0;border:none;background:transparent;color:inherit"
PARTS = "display:flex;flex-wrap:wrap;align-items:flex-start;gap:8px 48px;margin:8px 0"
HEAD = f"{CELL};font-weight:600;border-bottom:1px solid currentColor"


def html_of_test(test: Test) -> str:
    """The test as an HTML fragment."""
    notes = "".join(f'<div style="opacity:.75">{escape(note)}</div>' for note in (test.cycle, test.doc.strip()) if note)
    return (
        f'<div style="{MONOSPACE};color:inherit">'
        f'<div style="font-weight:600">{escape(test.name)}</div>{notes}'
        f'<div style="{PARTS}">{_program(test)}{_tree(test)}</div>'
        f"{_facts(test)}</div>"
    )


def pre_html(text: str) -> str:
    """Preformatted text."""
    return f'<pre style="{PLAIN_PRE}">{escape(text)}</pre>'


def _program(test: Test) -> str:
    heads = "".join(f'<th style="{HEAD}">P{number}</th>' for number in range(len(test.threads)))
    columns = [[instruction_text(instruction) for instruction in thread] for thread in test.threads]
    rows = "".join(_row(row) for row in zip_longest(*columns, fillvalue=""))
    return f'<table style="{PLAIN_TABLE}"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'


def _row(texts: tuple[str, ...]) -> str:
    cells = "".join(f'<td style="{CELL}">{escape(text)}</td>' for text in texts)
    return f'<tr style="background:transparent">{cells}</tr>'


def _tree(test: Test) -> str:
    lines = (f"{branch}{level}  {threads}".rstrip() for branch, level, threads in tree_lines(test))
    return pre_html("\n".join(lines))


def _facts(test: Test) -> str:
    rows = "".join(_row(fact) for fact in _all_facts(test))
    return f'<table style="{PLAIN_TABLE}"><tbody>{rows}</tbody></table>'


def _all_facts(test: Test) -> Iterator[tuple[str, str]]:
    yield from start_facts(test)
    yield str(test.condition.quantifier), expression_text(test.condition.expression)
