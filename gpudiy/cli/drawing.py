"""Draw a test as text: threads in columns, scope tree, initial memory, condition."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from rich.text import Text

from gpudiy.litmus.condition_text import expression_text
from gpudiy.litmus.content import content_hash
from gpudiy.litmus.description import start_facts, tree_lines
from gpudiy.litmus.instruction_text import instruction_text
from gpudiy.litmus.shape import shape_hash
from gpudiy.litmus.test import Test
from gpudiy.litmus.traits import traits_of

GAP = "  │  "


def draw_test(test: Test, hashes: bool = False) -> Text:
    """The whole drawing, without a newline at the end."""
    blocks = [_title(test), _program(test), Text("\n").join(_tree(test)), Text("\n").join(_facts(test, hashes))]
    return Text("\n\n").join(blocks)


def _title(test: Test) -> Text:
    title = Text(test.name, style="bold")
    for text in (test.cycle, test.doc.strip()):
        if text:
            title.append("\n").append(text, style="italic dim")
    return title


def _program(test: Test) -> Text:
    columns = [
        [(f"P{number}", "bold"), *((instruction_text(i), traits_of(i).colour) for i in thread)]
        for number, thread in enumerate(test.threads)
    ]
    widths = [max(len(text) for text, _ in column) for column in columns]
    lines = []
    for row in zip_longest(*columns, fillvalue=("", "")):
        cells = [Text(text.ljust(width), style=style) for (text, style), width in zip(row, widths, strict=True)]
        line = Text.assemble((GAP, "dim")).join(cells)
        line.rstrip()
        lines.append(line)
    lines.insert(1, Text("──┼──".join("─" * width for width in widths), style="dim"))
    return Text("\n").join(lines)


def _tree(test: Test) -> Iterator[Text]:
    for branch, level, threads in tree_lines(test):
        line = Text.assemble((branch, "dim"), level)
        if threads:
            line.append("  ").append(threads, style="bold")
        yield line


def _facts(test: Test, hashes: bool) -> Iterator[Text]:
    for word, text in start_facts(test):
        yield _fact(word, text)
    yield _fact(test.condition.quantifier, expression_text(test.condition.expression), "bold")
    if hashes:
        yield _fact("content", content_hash(test))
        yield _fact("shape", shape_hash(test))


def _fact(word: str, text: str, style: str = "") -> Text:
    return Text.assemble((f"{word:<9}", "dim"), (text, style))
