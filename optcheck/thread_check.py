"""Checks one thread of a test against one copy of it in the SASS."""

from __future__ import annotations

from collections.abc import Iterator

from optcheck.access_check import AccessCheck
from optcheck.dependency_check import DependencyCheck
from optcheck.finding import Deviation, Finding
from optcheck.linked_thread import LinkedThread
from optcheck.specification import ExpectedAccess


class ThreadCheck:
    """Checks accesses, order, neighbours and dependencies of one copy of a thread; fences are checked on its paths."""

    def __init__(self, thread: LinkedThread) -> None:
        self.thread = thread

    def deviations(self) -> list[Deviation]:
        """All deviations."""
        thread = self.thread
        found = list(AccessCheck(thread).deviations())
        found += self._check_order()
        found += [*self._check_conditions(), *self._check_neighbours()]
        found += DependencyCheck(thread).deviations()
        return found

    def _check_order(self) -> Iterator[Deviation]:
        placed = [access for access in self.thread.specification.accesses if access.position in self.thread.links]
        for place, one in enumerate(placed):
            for other in placed[place + 1 :]:
                first, second = self.thread.links[one.position].index, self.thread.links[other.position].index
                if first == second or self.thread.graph.precedes(first, second):
                    continue
                if self.thread.graph.precedes(second, first):
                    why = f"access {other.position} now comes before access {one.position}"
                    yield self.thread.deviation(Finding.REORDERED, why, [second, first], [one.index, other.index])
                else:
                    why = f"accesses {one.position} and {other.position} are no longer on one path"
                    yield self.thread.deviation(Finding.UNVERIFIABLE, why, [first, second], [one.index, other.index])

    def _check_conditions(self) -> Iterator[Deviation]:
        """Unconditional accesses must all run under the same condition."""
        guards: dict[tuple[int, bool] | None, ExpectedAccess] = {}
        for expected in self.thread.specification.accesses:
            link = self.thread.links.get(expected.position)
            if link is None or expected.conditional:
                continue
            guard = self.thread.instructions[link.index].guard
            key = None if guard is None else (self.thread.values.register(guard.name, link.index), guard.negated)
            guards.setdefault(key, expected)
            block, end = self.thread.graph.block_of[link.index], self.thread.graph.block_of[self.thread.linker.end]
            if not self.thread.graph.dominates(block, end):
                why = f"access {expected.position} is not on every path to its specification"
                yield self.thread.deviation(Finding.UNVERIFIABLE, why, [link.index], [expected.index])
        if len(guards) > 1:
            accesses = list(guards.values())
            why = "accesses that always happen now depend on different predicates"
            yield self.thread.deviation(
                Finding.UNVERIFIABLE,
                why,
                [self.thread.links[one.position].index for one in accesses],
                [one.index for one in accesses],
            )

    def _check_neighbours(self) -> Iterator[Deviation]:
        linked = {link.index for link in self.thread.links.values()}
        anchors = {anchor.index for anchor in self.thread.cluster}
        region = self.thread.region
        foreign = []
        for index in region:
            instruction = self.thread.instructions[index]
            if (
                instruction.touch is not None
                and index not in linked
                and index not in anchors
                and not self.thread.is_excluded(index)
            ):
                foreign.append(index)
            if instruction.opcode in ("CALL", "CAL", "JCAL"):
                yield self.thread.deviation(
                    Finding.UNVERIFIABLE, "a function is called among the accesses", [index], []
                )
        foreign += self._find_repetitions(set(region), linked)
        if foreign:
            why = "other accesses are among those of the test"
            yield self.thread.deviation(
                Finding.CHANGED, why, foreign, [access.index for access in self.thread.specification.accesses]
            )

    def _find_repetitions(self, region: set[int], linked: set[int]) -> list[int]:
        """Accesses before the first one that repeat an access of the test."""
        if not linked:
            return []
        first = min(linked)
        start = self.thread.graph.starts[self.thread.graph.block_of[first]]
        earlier = [
            index
            for index in range(start, first)
            if self.thread.instructions[index].touch is not None and index not in region
        ]
        if not earlier:
            return []
        same = {self._access_key(index) for index in linked}
        return [index for index in earlier if self._access_key(index) in same]

    def _access_key(self, index: int) -> tuple[object, ...]:
        instruction = self.thread.instructions[index]
        address = instruction.address
        if address is None:
            return (index,)
        return (
            instruction.touch,
            address.offset,
            *self.thread.values.address(address, index, self.thread.is_wide(index)),
        )
