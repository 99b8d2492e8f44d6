"""Proves that a thread looks at the clock just before its accesses and just after them, and sleeps only before."""

from __future__ import annotations

from dataclasses import dataclass

from optcheck.expected_function import Disproved, ExpectedFunction, Words
from optcheck.finding import Finding
from optcheck.frame import BEGIN, END_TIME, FrameSamples
from optcheck.path_steps import SassAccess, SassClock, SassSleep
from optcheck.sass import NameOperand
from optcheck.term import Term, symbol
from optcheck.thread_proof import ThreadProof

TIMES = (BEGIN, END_TIME)


@dataclass(frozen=True, slots=True)
class HeadCounts:
    """What a path had done when it reached the head of a loop."""

    accesses: int
    fences: int  # since the last access
    memory: int
    decisions: int
    votes: int


class TimedProof(ThreadProof):
    """A run of the thread between two looks at the clock."""

    samples: FrameSamples

    def __init__(self, function: ExpectedFunction) -> None:
        super().__init__(function.mapping, function.special, function.values.samples)
        self.function = function
        self.values = function.values
        self.loop: int | None = None  # that over the instances
        self.heads: dict[int, HeadCounts] = {}
        self.anchors: frozenset[int] = frozenset()  # the specification results that were stored
        self.rows: frozenset[int] = frozenset()  # the results that were stored
        self.questioned = False  # the word was read that asks whether the specification is to be stored again
        self.times: dict[str, Term] = {}  # what the clock said

    def sleep(self, step: SassSleep) -> bool:
        """Raises `Disproved` unless the thread may sleep here."""
        if not self.values.frame.sleeps or self.times or not self._is_before_test():
            raise Disproved(Finding.CHANGED, "a thread sleeps where it should not", (step.index,))
        return True

    def read_clock(self, step: SassClock) -> Term:
        """What the clock says; raises `Disproved` unless it is read just before the accesses or just after them."""
        named, clock = step.instruction.operands[-1], self.values.frame.clock
        known = isinstance(named, NameOperand) and named.text == clock != ""
        if not known or self.run is None or len(self.times) == len(TIMES):
            raise Disproved(Finding.CHANGED, "another clock is read", (step.index,))
        due = self._is_after_test() if self.times else self._is_before_test()
        if not due:
            raise Disproved(Finding.CHANGED, "the clock is read among the accesses of the test", (step.index,))
        name = TIMES[len(self.times)]
        self.times = {**self.times, name: symbol("clock", name)}
        return self.times[name]

    def _is_before_test(self) -> bool:
        """Whether the thread has done nothing in this instance: no access, no fence, no loop."""
        began = self.run is not None and (self.run.accesses > 0 or self.due is not None)
        return self.loop is not None and not began and not self.fences and len(self.heads) == 1

    def _is_after_test(self) -> bool:
        """Whether the thread made all its accesses, and nothing else since then."""
        return self.done_with_accesses() and not self.anchors and not self.rows and not self.questioned

    def expect_result(self, name: str, step: SassAccess) -> Words:
        """What must be stored as a result: a time, or what a register of the test holds at the end."""
        assert self.run is not None
        if name not in TIMES:
            return self.run.final(name)
        if name not in self.times:
            raise Disproved(Finding.CHANGED, "a time is stored that was not read", (step.index,))
        return self.samples.values(self.times[name])
