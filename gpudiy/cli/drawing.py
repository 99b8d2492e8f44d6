"""A test as a picture in text: columns, a drawn scope tree, what memory holds, what is asked."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from rich.text import Text

from gpudiy.litmus.condition import AddressOf
from gpudiy.litmus.condition_text import expression_text
from gpudiy.litmus.content import content_hash
from gpudiy.litmus.instruction_text import instruction_text, number_text
from gpudiy.litmus.memory_map import MappedVariable
from gpudiy.litmus.scope_tree import Placement
from gpudiy.litmus.shape import shape_hash
from gpudiy.litmus.test import Test
from gpudiy.litmus.traits import traits_of

LEVELS = ("device", "kernel", "cluster", "cta", "warp")
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
    """The scope tree with a branch a line; clusters of one CTA are not drawn."""
    levels = [level for level in (4, 3, 2, 1, 0) if level != 2 or test.scope_tree.has_clusters]
    threads = list(enumerate(test.scope_tree.placements))
    if any(placement.device for placement in test.scope_tree.placements):
        yield Text("system")
        yield from _branches(threads, levels, "")
    else:
        yield Text(LEVELS[0])
        yield from _branches(threads, levels[1:], "")


def _branches(threads: list[tuple[int, Placement]], levels: list[int], indent: str) -> Iterator[Text]:
    level, *inner = levels
    groups: dict[int, list[tuple[int, Placement]]] = {}
    for thread in threads:
        groups.setdefault(thread[1][level], []).append(thread)
    for index, group in enumerate(groups.values()):
        last = index == len(groups) - 1
        line = Text.assemble((indent + ("└─ " if last else "├─ "), "dim"), LEVELS[4 - level])
        if not inner:
            line.append("  ").append(" ".join(f"P{number}" for number, _ in group), style="bold")
        yield line
        if inner:
            yield from _branches(group, inner, indent + ("   " if last else "│  "))


def _facts(test: Test, hashes: bool) -> Iterator[Text]:
    yield _fact("memory", ", ".join(_variable(test, variable) for variable in test.memory_map.variables) or "none")
    for number in range(len(test.threads)):
        held = [
            f"{declaration.name} = "
            + (
                f"&{declaration.initial.variable}"
                if isinstance(declaration.initial, AddressOf)
                else number_text(declaration.initial)
            )
            for declaration in test.registers_of(number)
            if declaration.initial != 0
        ]
        if held:
            yield _fact(f"P{number}", ", ".join(held))
    if test.filter is not None:
        yield _fact("filter", expression_text(test.filter))
    yield _fact(test.condition.quantifier, expression_text(test.condition.expression), "bold")
    if hashes:
        yield _fact("content", content_hash(test))
        yield _fact("shape", shape_hash(test))


def _variable(test: Test, variable: MappedVariable) -> str:
    if variable.aliases is not None:
        return f"{variable.name} ({variable.proxy} alias of {variable.aliases})"
    value = test.initial_value(variable.name)
    start = f"&{value.variable}" if isinstance(value, AddressOf) else number_text(value)
    return f"{variable.name} = {start} ({variable.space})"


def _fact(word: str, text: str, style: str = "") -> Text:
    return Text.assemble((f"{word:<9}", "dim"), (text, style))
