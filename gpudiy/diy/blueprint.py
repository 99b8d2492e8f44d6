"""Blueprints: generated tests, ready to be printed, hashed or built.

The tests of a family share most of their parts. A blueprint refers to shared parts, and prints and hashes itself
without building the test. Its text and its hash are those of the test it builds.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gpudiy.diy.edge import SPACES
from gpudiy.diy.placement import PlacedThreads
from gpudiy.diy.thread_code import ThreadCode
from gpudiy.litmus.comparison import Comparison

if TYPE_CHECKING:
    from gpudiy.litmus.condition import Expression
    from gpudiy.litmus.test import Test


@dataclass(slots=True)
class FilledThread:
    """The code of one thread with its number and its locations filled in."""

    code: ThreadCode
    number: int
    locations: tuple[str, ...]
    declarations: str = ""
    tokens: str = ""
    results: tuple[str, ...] = ()
    normal_results: tuple[str, ...] = ()
    columns: dict[tuple[int, bool], list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        code, number, locations = self.code, self.number, self.locations
        fills: list[int | str] = []
        for slot in code.slots:
            fills.append(number)
            if slot.address_of is not None:
                fills.append(locations[slot.address_of])
        self.declarations = code.declarations % tuple(fills)
        self.tokens = code.tokens % tuple(locations[place] for place in code.token_places)
        self.results = tuple(f"{number}:{name}={value}" for name, _, value in code.results)
        self.normal_results = tuple(f"(eq #{value} {number}:{normal})" for _, normal, value in code.results)

    def column(self, height: int, last: bool) -> list[str]:
        """The header and the lines as cells of equal width; the last column of a program is not padded."""
        cells = self.columns.get((height, last))
        if cells is None:
            lines = [f"P{self.number}", *self.code.lines]
            width = 0 if last else max(map(len, lines))
            cells = [line.ljust(width) for line in lines] + [" " * width] * (height + 1 - len(lines))
            self.columns[height, last] = cells
        return cells


@dataclass(slots=True)
class Blueprint:
    """A test of a cycle: its threads, the last value of locations written more than once, its tree and its map.

    `spaces` are the letters of the spaces of the locations `names`, in the same order.
    """

    name: str
    edges: tuple[str, ...]
    threads: list[FilledThread]
    names: str
    spaces: str
    final: tuple[tuple[str, int], ...]
    placed: PlacedThreads

    @property
    def cycle(self) -> str:
        return " ".join(self.edges)

    def text(self) -> str:
        """The test as gpu-diy prints it."""
        threads = self.threads
        height = max([len(thread.code.lines) for thread in threads])
        columns = [thread.column(height, False) for thread in threads[:-1]]
        columns.append(threads[-1].column(height, True))
        rows = "\n".join([" : ".join(row).rstrip(" ") for row in zip(*columns, strict=True)])
        declarations = "\n".join([thread.declarations for thread in threads])
        results = [result for thread in threads for result in thread.results]
        results += [f"{name}={value}" for name, value in self.final]
        condition = " /\\ ".join(results)
        return (
            f'GPU_PTX {self.name}\n"{self.cycle}"\n\n{declarations}\n\n{rows}\n\n{self.placed.text}\n\n'
            f"{self.memory_map_text()}\n\n{condition}\n"
        )

    def memory_map_text(self) -> str:
        return ", ".join([f"{name}: {SPACES[space]}" for name, space in zip(self.names, self.spaces, strict=True)])

    def content_hash(self) -> str:
        """The content hash of the test."""
        parts = [thread.tokens for thread in self.threads]
        parts.append(self.placed.content)
        variables = zip(self.names, self.spaces, strict=True)
        parts += sorted([f"{name} {SPACES[space]} - generic 0" for name, space in variables])
        results = [result for thread in self.threads for result in thread.normal_results]
        results += [f"(eq #{value} [{name}])" for name, value in self.final]
        results.sort()
        parts.append(f"exists {results[0]}" if len(results) == 1 else f"exists (and {' '.join(results)})")
        parts.append("locations")
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]

    def test(self) -> Test:
        """Build the test and validate it."""
        from gpudiy.litmus.condition import Condition, Quantifier  # slow to import, and printing does not need it
        from gpudiy.litmus.memory_map import MappedVariable, MemoryMap
        from gpudiy.litmus.test import Test

        threads = self.threads
        variables = zip(self.names, self.spaces, strict=True)
        return Test(
            self.name,
            tuple(thread.code.instructions for thread in threads),
            tuple(
                register for thread in threads for register in thread.code.registers(thread.number, thread.locations)
            ),
            (),
            self.placed.tree,
            MemoryMap(tuple(MappedVariable(name, SPACES[space]) for name, space in variables)),
            Condition(Quantifier.EXISTS, self._expression()),
            cycle=self.cycle,
        )

    def _expression(self) -> Expression:
        from gpudiy.litmus.condition import And, Compare, Constant, FinalRegister, FinalVariable

        parts = [
            Compare(Comparison.EQ, FinalRegister(thread.number, name), Constant(value))
            for thread in self.threads
            for name, _, value in thread.code.results
        ]
        parts += [Compare(Comparison.EQ, FinalVariable(name), Constant(value)) for name, value in self.final]
        return parts[0] if len(parts) == 1 else And(tuple(parts))
