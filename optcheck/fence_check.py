"""Checks that the fences of a thread are still between the same accesses."""

from __future__ import annotations

from collections.abc import Iterator

from gpudiy.litmus.instruction import Barrier, Immediate
from optcheck.finding import Deviation, Finding
from optcheck.linked_thread import LinkedThread
from optcheck.mapping import barrier_number, fence_word

INVALIDATE = "CCTL.IVALL"
ESCORT = "MEMBAR.ALL.CTA"


class FenceCheck:
    """Compares the fences in each gap between accesses with those of the test."""

    def __init__(self, thread: LinkedThread) -> None:
        self.thread = thread

    def deviations(self) -> Iterator[Deviation]:
        found = self._found_fences()
        count = len(self.thread.specification.accesses)
        for gap in range(count + 1):
            expected = self._expected_fences(gap)
            open_end = gap == 0 or (gap == count and not self.thread.linker.stored)
            has = [word for _, words in found.get(gap, ()) for word in words]
            if _same_fences(expected, has, open_end):
                continue
            lines = [index for index, _ in found.get(gap, ())]
            place = f"before access {gap}" if gap < count else "after the last access"
            why = f"{place}: expected {_join_words(expected)}, found {_join_words(has)}"
            ptx = [fence.index for fence in self.thread.specification.fences if fence.after == gap]
            ptx += [access.index for access in self.thread.specification.accesses if access.position in (gap - 1, gap)]
            yield self.thread.deviation(Finding.FENCE_CHANGED, why, lines, sorted(ptx))
        yield from self._check_barrier_numbers(found)

    def _expected_fences(self, gap: int) -> list[str]:
        accesses = self.thread.specification.accesses
        words: list[str] = []
        if gap > 0:
            words += self.thread.mapping.after(accesses[gap - 1])
        for fence in self.thread.specification.fences:
            if fence.after == gap:
                words += self.thread.mapping.fences(fence.fence)
        if gap < len(accesses):
            words += self.thread.mapping.before(accesses[gap].access)
        return words

    def _found_fences(self) -> dict[int, list[tuple[int, tuple[str, ...]]]]:
        """The fences of the thread in the SASS, by the number of accesses before them."""
        linked = [link.index for link in self.thread.links.values()]
        found: dict[int, list[tuple[int, tuple[str, ...]]]] = {}
        candidates = self.thread.region
        if linked:
            candidates = [
                *self._instructions_before(
                    min(linked, key=lambda one: sum(self.thread.graph.precedes(o, one) for o in linked))
                ),
                *candidates,
            ]
        for index in candidates:
            if self.thread.instructions[index].is_fence and not self.thread.is_excluded(index):
                words = fence_word(self.thread.instructions[index])
                if words:
                    gap = sum(self.thread.graph.precedes(one, index) for one in linked)
                    found.setdefault(gap, []).append((index, words))
        return found

    def _instructions_before(self, first: int) -> list[int]:
        """The instructions before the first access, back to another access or to a join of paths."""
        found: list[int] = []
        block = self.thread.graph.block_of[first]
        index = first
        while True:
            while index > self.thread.graph.starts[block]:
                index -= 1
                if self.thread.instructions[index].touch is not None and not self.thread.is_excluded(index):
                    return found
                found.insert(0, index)
            before = self.thread.graph.predecessors[block]
            if len(before) != 1 or (before[0], block) in self.thread.graph.back:
                return found
            block = before[0]
            index = self.thread.graph.ends[block]

    def _check_barrier_numbers(self, found: dict[int, list[tuple[int, tuple[str, ...]]]]) -> Iterator[Deviation]:
        for fence in self.thread.specification.fences:
            if not isinstance(fence.fence, Barrier) or not isinstance(fence.fence.identifier, Immediate):
                continue
            numbers = {
                barrier_number(self.thread.instructions[index])
                for index, words in found.get(fence.after, ())
                if words[0].startswith("BAR")
            }
            if numbers and None not in numbers and fence.fence.identifier.value not in numbers:
                yield self.thread.deviation(
                    Finding.FENCE_CHANGED, "the number of the barrier changed", [], [fence.index]
                )


def _same_fences(expected: list[str], has: list[str], open_end: bool) -> bool:
    """Whether the fences are the same; repeated or additional invalidations do not matter."""
    if INVALIDATE in expected and INVALIDATE not in has:
        return False
    one = sorted(word for word in expected if word != INVALIDATE)
    other = sorted(word for word in _without_escorts(expected, has) if word != INVALIDATE)
    if not open_end:
        return one == other
    return all(other.count(word) >= one.count(word) for word in one)


def _without_escorts(expected: list[str], has: list[str]) -> list[str]:
    """From sm_90 on, linkable code has a CTA fence before each wider fence; it has no effect, so drop it."""
    kept = list(has)
    for at in reversed(range(len(has) - 1)):
        wider = has[at + 1].startswith("MEMBAR.") and not has[at + 1].endswith(".CTA")
        if has[at] == ESCORT and wider and kept.count(ESCORT) > expected.count(ESCORT):
            del kept[at]
    return kept


def _join_words(words: list[str]) -> str:
    return ", ".join(words) if words else "no fence"
