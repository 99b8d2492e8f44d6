"""The parts of a test as text: its scope tree, its initial state, its condition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpudiy.errors import format_count
from gpudiy.litmus.condition_text import expression_text
from gpudiy.litmus.memory_map import MappedVariable
from gpudiy.litmus.print_gpu_ptx import value_text
from gpudiy.litmus.scope_tree import Placement
from gpudiy.litmus.test import Test

LEVELS = ("device", "kernel", "cluster", "cta", "warp")
LONGEST_CONDITION = 80  # characters of a condition in one line


class TreeLine(NamedTuple):
    """One line of a drawn scope tree: the lines that lead to it, its level, and the threads of a warp or the host."""

    branch: str
    level: str
    threads: str = ""


def short_text(test: Test) -> str:
    """The test in one line: `mp-cas: 2 threads, exists 1:r0=1 /\\ 1:r1=0`."""
    condition = f"{test.condition.quantifier} {expression_text(test.condition.expression)}"
    if len(condition) > LONGEST_CONDITION:
        condition = condition[: LONGEST_CONDITION - 1] + "…"
    return f"{test.name}: {format_count(len(test.threads), 'thread')}, {condition}"


def tree_lines(test: Test) -> Iterator[TreeLine]:
    """The scope tree, one line per branch; clusters of one CTA are not drawn."""
    levels = [level for level in (4, 3, 2, 1, 0) if level != 2 or test.scope_tree.has_clusters]
    threads = list(enumerate(test.scope_tree.placements))
    if any(placement.device for placement in test.scope_tree.placements):
        yield TreeLine("", "system")
        yield from _branches(threads, levels, "", test.scope_tree.host)
    else:
        yield TreeLine("", LEVELS[0])
        yield from _branches(threads, levels[1:], "")


def _branches(
    threads: list[tuple[int, Placement]], levels: list[int], indent: str, host: int | None = None
) -> Iterator[TreeLine]:
    """The groups of the first level and what is in them; `host` is the one among them that is the host."""
    level, *inner = levels
    groups: dict[int, list[tuple[int, Placement]]] = {}
    for thread in threads:
        groups.setdefault(thread[1][level], []).append(thread)
    for index, (number, group) in enumerate(groups.items()):
        last = index == len(groups) - 1
        ends = not inner or number == host
        names = " ".join(f"P{thread}" for thread, _ in group) if ends else ""
        word = "host" if number == host else LEVELS[4 - level]
        yield TreeLine(indent + ("└─ " if last else "├─ "), word, names)
        if not ends:
            yield from _branches(group, inner, indent + ("   " if last else "│  "))


def start_facts(test: Test) -> Iterator[tuple[str, str]]:
    """The initial state: memory, and the registers of each thread that are not 0; and the filter."""
    yield "memory", ", ".join(_variable_text(test, variable) for variable in test.memory_map.variables) or "none"
    for number in range(len(test.threads)):
        held = [
            f"{declaration.name} = {value_text(declaration.initial, address='&')}"
            for declaration in test.registers_of(number)
            if declaration.initial != 0
        ]
        if held:
            yield f"P{number}", ", ".join(held)
    if test.filter is not None:
        yield "filter", expression_text(test.filter)


def _variable_text(test: Test, variable: MappedVariable) -> str:
    if variable.aliases is not None:
        return f"{variable.name} ({variable.proxy} alias of {variable.aliases})"
    return f"{variable.name} = {value_text(test.initial_value(variable.name), address='&')} ({variable.space})"
