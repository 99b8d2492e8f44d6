"""One thread of a test and one copy of it in the SASS, linked: what all checks of a thread look at."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from optcheck.finding import Deviation, Finding
from optcheck.linking import AccessLinker, Anchor, Link
from optcheck.mapping import SassMapping
from optcheck.specification import ThreadSpecification
from optcheck.values import Values

Shown = Callable[[int], str]  # from the index of an instruction of the thread to its text


class LinkedThread:
    """`links` are the instructions of the accesses that were found, by position."""

    def __init__(
        self,
        values: Values,
        specification: ThreadSpecification,
        cluster: tuple[Anchor, ...],
        earlier: list[tuple[Anchor, ...]],
        mapping: SassMapping,
        shown: Shown,
    ) -> None:
        self.values = values
        self.graph = values.graph
        self.function = values.graph.function
        self.instructions = values.instructions
        self.specification = specification
        self.cluster = cluster
        self.mapping = mapping
        self.shown = shown
        self.linker = AccessLinker(values, cluster, earlier)
        self.links: dict[int, Link] = {}

    def deviation(self, finding: Finding, why: str, sass: list[int], ptx: list[int]) -> Deviation:
        """Something that is not as the test says, with the instructions of SASS and PTX it is about."""
        return Deviation(
            finding,
            f"P{self.specification.thread}: {why}",
            tuple(self.function.shown(index) for index in sass),
            tuple(self.shown(index) for index in ptx),
        )

    @cached_property
    def region(self) -> list[int]:
        """The instructions from the first access to the last, or to the specification where its end is known."""
        linked = sorted({link.index for link in self.links.values()})
        if not linked:
            return []
        lasts = [*linked, self.linker.end] if self.linker.stored else linked
        graph, block_of = self.graph, self.graph.block_of
        own = ending = earlier = 0
        for index in linked:
            own |= 1 << block_of[index]
        for index in lasts:
            ending |= 1 << block_of[index]
            earlier |= graph.before[block_of[index]]
        found: list[int] = []
        for block in graph.blocks_in(earlier | ending):
            entered = graph.before[block] & own
            if not entered and not own >> block & 1:
                continue
            start, end = graph.starts[block], graph.ends[block]
            if not entered:
                start = next(index for index in linked if block_of[index] == block)
            if not earlier >> block & 1:
                end = max(index for index in lasts if block_of[index] == block) + 1
            found += range(start, end)
        return found

    def is_wide(self, index: int) -> bool:
        """Whether the addresses of an instruction have 64 bits."""
        return "E" in self.instructions[index].modifiers

    def excluded(self, index: int) -> bool:
        """Whether an instruction runs only where this thread does not: code of threads that was merged."""
        guard = self.instructions[index].guard
        if guard is None:
            return False
        value = self.values.register(guard.name, index)
        for link in self.links.values():
            own = self.instructions[link.index].guard
            if own is not None and own.negated != guard.negated and self.values.register(own.name, link.index) == value:
                return True
        return False
