"""One thread of a test and one copy of it in the SASS, linked: the input of all checks of a thread."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from optcheck.finding import Deviation, Finding
from optcheck.linking import AccessLinker, Anchor, Link
from optcheck.mapping import SassMapping
from optcheck.specification import ThreadSpecification
from optcheck.values import Values

Describe = Callable[[int], str]  # from the index of an instruction of the thread to its text


class LinkedThread:
    """One copy of a thread in the SASS; `links` are the instructions of its accesses, by position."""

    def __init__(
        self,
        values: Values,
        specification: ThreadSpecification,
        cluster: tuple[Anchor, ...],
        earlier: list[tuple[Anchor, ...]],
        mapping: SassMapping,
        describe: Describe,
    ) -> None:
        self.values = values
        self.graph = values.graph
        self.function = values.graph.function
        self.instructions = values.instructions
        self.specification = specification
        self.cluster = cluster
        self.mapping = mapping
        self.describe = describe
        self.linker = AccessLinker(values, cluster, earlier)
        self.links: dict[int, Link] = {}

    def deviation(self, finding: Finding, why: str, sass: list[int], ptx: list[int]) -> Deviation:
        """A deviation of this thread, from the indexes of the instructions of SASS and PTX that it concerns."""
        return Deviation(
            finding,
            f"P{self.specification.thread}: {why}",
            tuple(self.function.show_instruction(index) for index in sass),
            tuple(self.describe(index) for index in ptx),
        )

    @cached_property
    def region(self) -> list[int]:
        """The instructions from the first access to the last, or to the specification if that is stored."""
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

    def is_excluded(self, index: int) -> bool:
        """Whether an instruction runs only if this thread does not: its predicate is the opposite."""
        guard = self.instructions[index].guard
        if guard is None:
            return False
        value = self.values.register(guard.name, index)
        for link in self.links.values():
            own = self.instructions[link.index].guard
            if own is not None and own.negated != guard.negated and self.values.register(own.name, link.index) == value:
                return True
        return False
