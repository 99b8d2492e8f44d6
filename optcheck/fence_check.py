"""Whether the fences of a thread are still between the accesses they were between."""

from __future__ import annotations

from collections.abc import Iterator

from gpudiy.litmus.instruction import Barrier, Immediate
from optcheck.finding import Deviation, Finding
from optcheck.linked_thread import LinkedThread
from optcheck.mapping import barrier_number, fence_word

INVALIDATE = "CCTL.IVALL"
ESCORT = "MEMBAR.ALL.CTA"


class FenceCheck:
    """Compares the fences in each gap between accesses with what the test has there."""

    def __init__(self, thread: LinkedThread) -> None:
        self.thread = thread

    def deviations(self) -> Iterator[Deviation]:
        found = self._found_fences()
        count = len(self.thread.specification.accesses)
        for gap in range(count + 1):
            wanted = self._expected_fences(gap)
            open_end = gap == 0 or (gap == count and not self.thread.linker.stored)
            has = [word for _, words in found.get(gap, ()) for word in words]
            if _same_fences(wanted, has, open_end):
                continue
            lines = [index for index, _ in found.get(gap, ())]
            place = f"before access {gap}" if gap < count else "behind the last access"
            why = f"{place} there must be {_listed(wanted)}, and there is {_listed(has)}"
            ptx = [fence.index for fence in self.thread.specification.fences if fence.after == gap]
            ptx += [access.index for access in self.thread.specification.accesses if access.position in (gap - 1, gap)]
            yield self.thread.deviation(Finding.FENCE_CHANGED, why, lines, sorted(ptx))
        yield from self._barrier_numbers(found)

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
                *self._run_up(min(linked, key=lambda one: sum(self.thread.graph.precedes(o, one) for o in linked))),
                *candidates,
            ]
        for index in candidates:
            if self.thread.instructions[index].is_fence and not self.thread.excluded(index):
                words = fence_word(self.thread.instructions[index])
                if words:
                    gap = sum(self.thread.graph.precedes(one, index) for one in linked)
                    found.setdefault(gap, []).append((index, words))
        return found

    def _run_up(self, first: int) -> list[int]:
        """The instructions before the first access, back to another access or to where paths join."""
        found: list[int] = []
        block = self.thread.graph.block_of[first]
        index = first
        while True:
            while index > self.thread.graph.starts[block]:
                index -= 1
                if self.thread.instructions[index].touch is not None and not self.thread.excluded(index):
                    return found
                found.insert(0, index)
            before = self.thread.graph.predecessors[block]
            if len(before) != 1 or (before[0], block) in self.thread.graph.back:
                return found
            block = before[0]
            index = self.thread.graph.ends[block]

    def _barrier_numbers(self, found: dict[int, list[tuple[int, tuple[str, ...]]]]) -> Iterator[Deviation]:
        for fence in self.thread.specification.fences:
            if not isinstance(fence.fence, Barrier) or not isinstance(fence.fence.identifier, Immediate):
                continue
            numbers = {
                barrier_number(self.thread.instructions[index])
                for index, words in found.get(fence.after, ())
                if words[0].startswith("BAR")
            }
            if numbers and None not in numbers and fence.fence.identifier.value not in numbers:
                yield self.thread.deviation(Finding.FENCE_CHANGED, "the barrier has another number", [], [fence.index])


def _same_fences(wanted: list[str], has: list[str], open_end: bool) -> bool:
    """Invalidations count once, however many there are; more of them than needed do no harm."""
    if INVALIDATE in wanted and INVALIDATE not in has:
        return False
    one = sorted(word for word in wanted if word != INVALIDATE)
    other = sorted(word for word in _without_escorts(wanted, has) if word != INVALIDATE)
    if not open_end:
        return one == other
    return all(other.count(word) >= one.count(word) for word in one)


def _without_escorts(wanted: list[str], has: list[str]) -> list[str]:
    """From sm_90 on, code that will be linked has a fence of the CTA before each wider one: it adds nothing to it."""
    kept = list(has)
    for at in reversed(range(len(has) - 1)):
        wider = has[at + 1].startswith("MEMBAR.") and not has[at + 1].endswith(".CTA")
        if has[at] == ESCORT and wider and kept.count(ESCORT) > wanted.count(ESCORT):
            del kept[at]
    return kept


def _listed(words: list[str]) -> str:
    return ", ".join(words) if words else "no fence"
