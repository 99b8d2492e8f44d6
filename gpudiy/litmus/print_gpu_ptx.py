"""Tests in the GPU_PTX formats."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import zip_longest

from gpudiy.litmus.condition import AddressOf, Quantifier, Value
from gpudiy.litmus.condition_text import expression_text, term_text
from gpudiy.litmus.instruction_text import instruction_text, number_text
from gpudiy.litmus.memory_map import MappedVariable
from gpudiy.litmus.scope_tree import Placement, ScopeTree
from gpudiy.litmus.test import Test

BARE = re.compile(r"(?:\d+:)?[A-Za-z_$%]")  # a condition that starts so cannot be taken for anything else


def canonical_text(test: Test) -> str:
    """The test as gpu-diy prints it."""
    columns = [[f"P{number}"] + [instruction_text(i) for i in thread] for number, thread in enumerate(test.threads)]
    sections = [
        "\n".join((f"GPU_PTX {test.name}", *quoted_texts(test))),
        "\n".join(_declarations(test)),
        "\n".join(rows_text(columns, " : ", "")),
        scope_tree_text(test.scope_tree),
        ", ".join(map(_map_entry_text, test.memory_map.variables)),
        *_asides(test),
        _condition(test, "" if test.filter is None else "exists ", " "),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def herd_text(test: Test) -> str:
    """The test as the original gpu-litmus and the 2015 herd read it."""
    columns = [[f"P{number}"] + [instruction_text(i) for i in thread] for number, thread in enumerate(test.threads)]
    tree = scope_tree_text(test.scope_tree).removeprefix("(system ")
    if tree != scope_tree_text(test.scope_tree):
        tree = tree[:-1]
    sections = [
        "\n".join(
            (
                f"GPU_PTX {test.name}",
                *quoted_texts(test),
                "{",
                *_declarations(test),
                "}",
                *rows_text(columns, " | ", " ;"),
            )
        ),
        f"scopeTree\n{tree}",
        ", ".join(map(_map_entry_text, test.memory_map.variables)),
        *_asides(test),
        _condition(test, "exists\n", "\n"),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def quoted_texts(test: Test) -> Iterator[str]:
    """The cycle and the doc, in quotes; an empty cycle keeps a doc that reads like one from being taken for it.

    A cycle in quotes that does not look like one would be read as a doc string, so it gets a `Cycle=` line.
    """
    from gpudiy.litmus.read_gpu_ptx import looks_like_cycle  # the reader's rule decides

    plain = looks_like_cycle(test.cycle)
    if plain:
        yield _quote(test.cycle)
    elif looks_like_cycle(test.doc):
        yield _quote("")
    if test.doc:
        yield _quote(test.doc)
    if test.cycle and not plain:
        yield f"Cycle={test.cycle}"


@lru_cache(1 << 12)
def scope_tree_text(tree: ScopeTree) -> str:
    """The tree as an S-expression, with every level but the cluster; that one where some cluster has two CTAs.

    The host has no levels.
    """
    threads = list(enumerate(tree.placements))
    levels = [("device", 4), ("kernel", 3), ("cluster", 2), ("cta", 1), ("warp", 0)]
    if not tree.has_clusters:
        levels.remove(("cluster", 2))
    text = " ".join(_nodes(threads, levels, tree.host))
    several = any(placement.device for placement in tree.placements)
    return f"(system {text})" if several else text


def _nodes(
    threads: list[tuple[int, Placement]], levels: list[tuple[str, int]], host: int | None = None
) -> Iterator[str]:
    """The groups of the first level; `host` is the one among them that is the host."""
    if not levels:
        yield from (f"P{number}" for number, _ in threads)
        return
    (word, level), *inner = levels
    groups: dict[int, list[tuple[int, Placement]]] = {}
    for thread in threads:
        groups.setdefault(thread[1][level], []).append(thread)
    for number, group in groups.items():
        if number == host:
            yield f"(host {' '.join(_nodes(group, []))})"
        else:
            yield f"({word} {' '.join(_nodes(group, inner))})"


def _declarations(test: Test) -> Iterator[str]:
    for declaration in test.registers:
        initial = "" if declaration.initial == 0 else f" = {value_text(declaration.initial)}"
        yield f"{declaration.thread}:.reg .{declaration.type} {declaration.name}{initial};"
    for entry in test.init:
        yield f"{entry.variable} = {value_text(entry.value, address='&')};"


def value_text(value: Value, address: str = "") -> str:
    """An initial value; `address` is written before the name of a variable."""
    return f"{address}{value.variable}" if isinstance(value, AddressOf) else number_text(value)


def _map_entry_text(variable: MappedVariable) -> str:
    if variable.aliases is None:
        return f"{variable.name}: {variable.space}"
    return f"{variable.name}: {variable.proxy} aliases {variable.aliases}"


def rows_text(columns: list[list[str]], separator: str, end: str) -> Iterator[str]:
    """Aligned rows of a program; without an `end` the last column is not padded."""
    widths = [max(map(len, column)) for column in columns]
    if not end:
        widths[-1] = 0
    for row in zip_longest(*columns, fillvalue=""):
        cells = separator.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield f" {cells}{end}" if end else cells.rstrip(" ")


def _asides(test: Test) -> Iterator[str]:
    if test.locations:
        yield "locations [" + " ".join(f"{term_text(term)};" for term in test.locations) + "]"
    if test.filter is not None:
        yield f"filter ({expression_text(test.filter)})"


def _condition(test: Test, exists: str, gap: str) -> str:
    text = expression_text(test.condition.expression)
    if test.condition.quantifier is Quantifier.EXISTS:
        return text if not exists and BARE.match(text) else f"{exists or 'exists '}({text})"
    return f"{test.condition.quantifier}{gap}({text})"


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
