"""Follows one thread of the test along every path of a kernel that gpudiy did not write.

What such a kernel does before and after the test, where its locations are and where its constants come from, is not
known. So this is proved: a path that runs one access of the thread, or stores its specification, runs all accesses, in
order, with no other access and exactly the fences of the test between them, under the conditions of the test; two
accesses have the same address if and only if they have the same location; values and addresses depend on what was read
as in the test.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpudiy.litmus.access import Space
from gpudiy.litmus.flow import memory_uses
from gpudiy.litmus.test import Test
from optcheck.expected_function import Disproved, ExpectedThread, Words
from optcheck.fence_form import Fences
from optcheck.finding import Finding
from optcheck.frame import SAMPLES, read_words
from optcheck.linked_thread import LinkedThread
from optcheck.path_state import Watcher
from optcheck.path_steps import (
    PathEnd,
    SassAccess,
    SassDecision,
    SassFence,
    SassLoop,
    SassTable,
    Step,
    is_specification,
)
from optcheck.proof import special_words
from optcheck.reference import DueAccess, LoopBack, ReferenceRun
from optcheck.sass import WORD
from optcheck.specification import ExpectedAccess
from optcheck.term import WIDE, Samples, Term, random_words
from optcheck.thread_proof import ThreadProof


class KernelSamples(Samples):
    """Samples that differ only in what the accesses of the test read."""

    def symbol_words(self, name: tuple[object, ...]) -> Words:
        """The values of a symbol."""
        return read_words(name) if name[0] == "read" else random_words(name, 1) * self.count


@dataclass(frozen=True, slots=True)
class _LoopEntry:
    """What a path had done when it came to the head of a loop."""

    begun: bool
    done: bool
    accesses: int
    fences: int  # since the last access


class KernelPath(ThreadProof, Watcher):
    """Walks along a path; from its first access on, a run of the thread goes along."""

    def __init__(self, thread: LinkedThread, test: Test) -> None:
        number = thread.specification.thread
        special = special_words(test.threads, thread.function.deciding_numbers)
        super().__init__(thread.mapping, special, KernelSamples(SAMPLES))
        self.positions = {link.index: position for position, link in thread.links.items()}
        names = [variable.name for variable in test.memory_map.variables]
        self.code = ExpectedThread(number, test.threads[number], test.registers_of(number), thread.specification, ())
        self.places = {name: random_words(("place", name), 1) * SAMPLES for name in names}
        self.targets = {
            use.position: use.targets for use in memory_uses(test) if use.thread == number
        }  # the locations that an instruction may access
        self.bound: dict[str, int] = {}  # the addresses of the locations, where they were accessed first
        self.heads: dict[int, _LoopEntry] = {}

    def fork(self) -> KernelPath:
        """A copy; what it shares is never changed in place."""
        other = object.__new__(KernelPath)
        other.__dict__.update(self.__dict__)
        other.run = None if self.run is None else self.run.fork()
        return other

    def jump(self, step: SassTable) -> tuple[int, ...]:
        """Which way a table leads is not known: all are followed."""
        return step.targets

    def arrive(self, index: int) -> None:
        """Any thread may come here."""

    def step(self, step: Step) -> None:
        """Raises `Disproved`."""
        match step:
            case SassFence():
                self.fences += (step,)
            case SassDecision():
                if any(symbol.arguments[0] == "read" for symbol in step.condition.symbols):
                    self._restrict(step)

    def _restrict(self, step: SassDecision) -> None:
        """What the accesses read decides how the path goes on."""
        words = self.samples.values(step.condition)
        self.mask = [place for place in self.mask if bool(words[place]) == step.holds]
        if not self.mask:
            raise Disproved(Finding.UNVERIFIABLE, "no sample takes this path", (step.index,))

    def enter(self, step: SassLoop) -> dict[str, Term]:
        """A loop begins."""
        made = 0 if self.run is None else self.run.accesses
        entered = _LoopEntry(self.run is not None, self._has_ended(), made, len(self.fences))
        self.heads = {**self.heads, step.block: entered}
        return {}

    def _has_ended(self) -> bool:
        """Whether the run is known to have no access left, without a look at what the path has not decided yet."""
        return self.run is not None and (self.done or self.last_access == len(self.positions) - 1)

    def access(self, step: SassAccess) -> tuple[Term, ...]:
        """Raises `Disproved`."""
        position = self.positions.get(step.index)
        if position is None:
            self._pass_over(step)
            return ()
        if self.run is None:
            self._begin()
        if not self.done_with_accesses() and isinstance(self.due, DueAccess) and self.due.position != position:
            why = f"access {position} now comes before access {self.due.position}"
            raise Disproved(Finding.REORDERED, why, (step.index,), (self.due.index,))
        if step.instruction.space == "shared":
            address = [(word + step.offset) & WORD for word in self.samples.values(step.address[0])]
        else:
            low, high = (self.samples.values(one) for one in step.address)
            address = [((b << 32 | a) + step.offset) & WIDE for a, b in zip(low, high, strict=True)]
        return self.match_access(step, address)

    def _begin(self) -> None:
        assert self.code is not None
        self.run = ReferenceRun(self.code.thread, self.code.declared, self.places, self.special)
        self.done = False

    def _pass_over(self, step: SassAccess) -> None:
        """An access that is not of this thread: none may be among those of the test."""
        if self.run is None:
            self.fences = ()
            if self.code is not None and is_specification(step, self.code.number):
                raise Disproved(Finding.REMOVED, "a path has a specification but no access", (step.index,))
        elif not self.done_with_accesses():
            raise Disproved(Finding.CHANGED, "other accesses are among those of the test", (step.index,))

    # What is known less well than in a function of gpudiy.

    def _are_expected(self, found: Fences, expected: set[Fences], step: DueAccess | LoopBack | None) -> bool:
        """Before the first access and after the last one, the kernel may have other fences farther away."""
        if self.last_access is None and step is not None:
            return any(found[len(found) - len(one) :] == one for one in expected)
        if step is None:
            return any(found[: len(one)] == one for one in expected)
        return found in expected

    def _compare_address(self, step: SassAccess, due: DueAccess, expected: ExpectedAccess, address: Words) -> None:
        """The address minus what the test adds to its location is the place of that location, and of no other."""
        names = self.targets[due.index]
        (name,) = names if len(names) == 1 else ("",)
        wide = WORD if expected.space is Space.SHARED else WIDE
        pairs = zip(address, due.address, strict=True)
        found = [(one - other + self.places.get(name, [0])[0]) & wide for one, other in pairs]
        bases = {found[place] for place in self.mask}
        others = {place for other, place in self.bound.items() if other != name}
        if not name or len(bases) > 1 or bases & others or not bases <= {self.bound.get(name, found[self.mask[0]])}:
            why = f"access {due.position} has another address, or one that is not understood"
            raise Disproved(Finding.UNVERIFIABLE, why, (step.index,), (due.index,))
        self.bound = {**self.bound, name: bases.pop()}

    def _holds_value(self, terms: tuple[Term, ...], stored: Words, due: Words) -> bool:
        """A constant of the test may be a parameter of the kernel, whose value is not known."""
        differences = {stored[place] - due[place] for place in self.mask}
        known = all(symbol.arguments[0] == "read" for term in terms for symbol in term.symbols)
        return differences == {0} or (not known and len({one & WORD for one in differences}) == 1)

    # The end of a path.

    def end(self, path: PathEnd) -> None:
        """Raises `Disproved`."""
        if self.run is None:
            return
        head = None if path.back_to is None else self.heads.get(path.back_to)
        if head is not None and head.begun and not head.done and not self.done_with_accesses():
            self._check_loop(path, head)
        elif not self.done_with_accesses():
            raise Disproved(Finding.REMOVED, "the path ends before all accesses", (path.index,), (self._index(),))

    def _check_loop(self, path: PathEnd, head: _LoopEntry) -> None:
        """A loop among the accesses must be one of the test."""
        assert self.run is not None
        label = self.run.heads.get(self.due.label) if isinstance(self.due, LoopBack) else None
        if label is None or label.accesses != head.accesses:
            raise Disproved(Finding.CHANGED, "a loop of the test has other accesses", (path.index,))
        if not self.splits_fences(head.accesses, head.fences, label.fences):
            raise Disproved(Finding.FENCE_CHANGED, "a loop of the test has other fences", (path.index,))
