"""Compares the accesses and fences on a path with a run of a thread of the test."""

from __future__ import annotations

from dataclasses import dataclass

from gpudiy.litmus.access import Space
from gpudiy.litmus.instruction import Atomic, Load
from optcheck.expected_function import Disproved, ExpectedThread, Words
from optcheck.fence_form import Fences, Ordering, expected_fences, fence_text
from optcheck.finding import Finding
from optcheck.frame import SAMPLES, read_symbol
from optcheck.instruction_form import find_form_difference
from optcheck.mapping import SassMapping
from optcheck.path_steps import SassAccess, SassFence
from optcheck.reference import DueAccess, DueFence, LoopBack, NotDefined, ReferenceRun
from optcheck.sass import WORD
from optcheck.specification import DependencyKind, ExpectedAccess
from optcheck.term import Samples, Term, mentions_unknown


@dataclass(frozen=True, slots=True)
class _Gap:
    """The fences between two accesses: those of the thread, and the instructions on the path."""

    earlier: ExpectedAccess | None
    due: tuple[Ordering, ...]
    later: ExpectedAccess | None
    found: Fences


class ThreadProof:
    """A run of the thread, which must make each access of the path, and no other."""

    samples: Samples

    def __init__(self, mapping: SassMapping, special: tuple[int, ...], samples: Samples) -> None:
        self.mapping = mapping
        self.special = special
        self.samples = samples
        self.mask = list(range(SAMPLES))  # the samples that take this path
        self.fences: tuple[SassFence, ...] = ()  # since the last access
        self.gaps: dict[int, _Gap] = {}  # by the number of accesses before them
        self.last_access: int | None = None
        self.due: DueAccess | LoopBack | None = None
        self.done = True
        self.code: ExpectedThread | None = None
        self.run: ReferenceRun | None = None
        self.read: dict[int, tuple[Term, ...]] = {}  # what accesses read, by position
        self.origins: dict[Term, frozenset[Term]] = {}  # for what a loop carries: the symbols in its value before

    def _decide(self, words: Words, from_loads: bool) -> bool:
        """Whether a condition of the thread holds on this path: what the path decided so far must say so."""
        chosen = {words[place] for place in self.mask}
        if len(chosen) == 1 and (not from_loads or len(set(words)) == 2):
            return chosen == {1}
        raise Disproved(
            Finding.DEPENDENCY_BROKEN, "a branch of the test is not decided where it was", (), (self._index(),)
        )

    def _index(self) -> int:
        return 0 if self.run is None else max(self.run.index - 1, 0)

    def _go_on(self) -> DueAccess | LoopBack | None:
        """The next access that is due; the fences before it must be those on the path."""
        if self.run is None:
            self._check_fences([], None)
            return None
        due: list[DueFence] = []
        try:
            step = self.run.due(self._decide)
            while isinstance(step, DueFence):
                due.append(step)
                step = self.run.due(self._decide)
        except NotDefined as error:
            raise Disproved(Finding.UNVERIFIABLE, str(error)) from None
        self._check_fences(due, step)
        if step is None:
            self.done = True
        return step

    def _check_fences(self, due: list[DueFence], step: DueAccess | LoopBack | None) -> None:
        """Compare the fences since the last access with those that are due before the next step."""
        accesses = () if self.code is None else self.code.specification.accesses
        before = step if isinstance(step, DueAccess) else None
        earlier = None if self.last_access is None else accesses[self.last_access]
        later = None if before is None else accesses[before.position]
        expected = expected_fences(self.mapping, earlier, [*self._start(before), *(one.fence for one in due)], later)
        found = tuple(fence_text(one.instruction) for one in self.fences)
        if not self._are_expected(found, expected, step):
            said = " or ".join(sorted(", ".join(one) or "no fence" for one in expected))
            place = "after the last access" if before is None else f"before access {before.position}"
            why = f"{place}: expected {said}, found {', '.join(found) or 'no fence'}"
            lines = tuple(one.index for one in self.fences)
            raise Disproved(Finding.FENCE_CHANGED, why, lines, tuple(one.index for one in due))
        if self.run is not None and self.run.heads:
            made = self.run.accesses - (before is not None)
            self.gaps = {**self.gaps, made: _Gap(earlier, tuple(one.fence for one in due), later, found)}
        self.fences = ()

    def _start(self, step: DueAccess | None) -> list[Ordering]:
        """The barrier before the first instruction of the thread, if nothing was done yet."""
        made = 0 if self.run is None else self.run.accesses - (step is not None)
        return [self.code.start] if self.code is not None and self.code.start is not None and made == 0 else []

    def _are_expected(self, found: Fences, expected: set[Fences], step: DueAccess | LoopBack | None) -> bool:
        return found in expected

    def splits_fences(self, made: int, found_before: int, due_before: int) -> bool:
        """Whether a place among the fences after `made` accesses is the same in the SASS and in the thread."""
        gap, mapping = self.gaps[made], self.mapping
        before = expected_fences(mapping, gap.earlier, gap.due[:due_before], None)
        after = expected_fences(mapping, None, gap.due[due_before:], gap.later)
        return gap.found[:found_before] in before and gap.found[found_before:] in after

    def done_with_accesses(self) -> bool:
        """Whether the thread has no access left; its fences are compared then."""
        if self.done:
            return True
        if self.due is None:
            self.due = self._go_on()
        return self.due is None

    def match_access(self, step: SassAccess, address: Words) -> tuple[Term, ...]:
        """Compare an access with the one that is due; returns what it reads."""
        if self.done_with_accesses():
            raise Disproved(Finding.CHANGED, "an access is added to those of the test", (step.index,))
        due, self.due = self.due, None
        if isinstance(due, LoopBack) or due is None:
            raise Disproved(Finding.CHANGED, "a loop of the test is not a loop", (step.index,))
        assert isinstance(due, DueAccess) and self.code is not None and self.run is not None
        expected = self.code.specification.accesses[due.position]
        lines, ptx = (step.index,), (due.index,)
        self._compare_address(step, due, expected, address)
        different = find_form_difference(expected, step.instruction, self.mapping)
        if different:
            raise Disproved(Finding.CHANGED, different, lines, ptx)
        self._compare_data(step, due, expected)
        self._check_dependencies(step, due)
        self.last_access = due.position
        self.code.found.accesses[due.position] = step.index
        if not isinstance(due.instruction, (Load, Atomic)):
            return ()
        self.read = {**self.read, due.position: self._give_result(due, expected)}
        return self.read[due.position]

    def _compare_address(self, step: SassAccess, due: DueAccess, expected: ExpectedAccess, address: Words) -> None:
        due_address = [word & WORD for word in due.address] if expected.space is Space.SHARED else due.address
        if not self.same(address, due_address):
            why = f"access {due.position} has another address"
            raise Disproved(judge_difference(step.address), why, (step.index,), (due.index,))

    def _compare_data(self, step: SassAccess, due: DueAccess, expected: ExpectedAccess) -> None:
        bits = expected.access.type.bits
        if len(step.data) != len(due.data):
            raise Disproved(Finding.CHANGED, "an operand is missing", (step.index,), (due.index,))
        for terms, words in zip(step.data, due.data, strict=True):
            if 32 * len(terms) < bits:
                raise Disproved(Finding.CHANGED, "an operand has fewer bits", (step.index,), (due.index,))
            found = [self.samples.values(term) for term in terms]
            stored = found[0] if bits <= 32 else [low | high << 32 for low, high in zip(*found, strict=True)]
            mask = (1 << bits) - 1
            if not self._holds_value(terms, [word & mask for word in stored], [word & mask for word in words]):
                why = f"access {due.position} has another value"
                raise Disproved(judge_difference(terms), why, (step.index,), (due.index,))

    def _holds_value(self, terms: tuple[Term, ...], stored: Words, due: Words) -> bool:
        return self.same(stored, due)

    def _check_dependencies(self, step: SassAccess, due: DueAccess) -> None:
        """Address and data must be computed from what they depend on, unless the path leaves them only one value."""
        assert self.code is not None
        for dependency in self.code.specification.dependencies:
            if dependency.target != due.position or dependency.source not in self.read:
                continue
            terms: tuple[Term, ...]
            match dependency.kind:
                case DependencyKind.ADDRESS:
                    terms, values = step.address, [due.address]
                case DependencyKind.DATA:
                    terms, values = tuple(one for words in step.data for one in words), list(due.data)
                case DependencyKind.CONTROL:
                    continue
            needed = frozenset(self.read[dependency.source])
            if any(needed & self._sources_of(term) for term in terms) or all(
                self._is_settled(words) for words in values
            ):
                continue
            between = f"from access {dependency.source} to access {dependency.target}"
            why = f"the {dependency.kind} dependency {between} is gone"
            first = self.code.specification.accesses[dependency.source].index
            raise Disproved(Finding.DEPENDENCY_BROKEN, why, (step.index,), (first, due.index))

    def _sources_of(self, term: Term) -> frozenset[Term]:
        """The symbols in a term, and those in the values that a loop began with."""
        return term.symbols.union(*(self.origins[one] for one in term.symbols if one in self.origins))

    def _is_settled(self, words: Words) -> bool:
        """Whether a value that could be another is known on this path."""
        return len({words[place] for place in self.mask}) == 1 < len(set(words))

    def _give_result(self, due: DueAccess, expected: ExpectedAccess) -> tuple[Term, ...]:
        assert self.run is not None
        type = expected.access.type
        words = range(2 if type.bits == 64 else 1)
        terms = tuple(read_symbol(self.run.accesses, type.bits, type[0] == "s", word, self.special) for word in words)
        values = [self.samples.values(term) for term in terms]
        if type.bits == 64:
            self.run.give(due, [low | high << 32 for low, high in zip(*values, strict=True)])
        else:
            self.run.give(due, values[0] if type.bits == 32 else [word & 0xFFFF for word in values[0]])
        return terms

    def same(self, one: Words, other: Words) -> bool:
        """Whether two values are equal on all samples that take this path."""
        return one == other or all(one[place] == other[place] for place in self.mask)


def judge_difference(terms: tuple[Term, ...]) -> Finding:
    """What it means that a value is another: nothing, if it went through an instruction that is not understood."""
    return Finding.UNVERIFIABLE if any(mentions_unknown(term) for term in terms) else Finding.CHANGED
