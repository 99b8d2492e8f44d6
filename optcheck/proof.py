"""Proves that the function of a test does, on all its paths, what the test and its frame say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TypeVar

from gpudiy.litmus.instruction import Immediate, operands_of
from gpudiy.litmus.test import Test, Thread
from optcheck.computation import forget_computations
from optcheck.executed_code import forget_executed_code
from optcheck.execution import SassExecution
from optcheck.expected_function import Disproved, ExpectedFunction, ExpectedThread, NotCarried
from optcheck.finding import Cluster, Finding
from optcheck.frame import THREAD, Frame, frame_samples, frame_values
from optcheck.graph import Graph
from optcheck.loop_body import forget_unknown_words
from optcheck.mapping import SassMapping
from optcheck.path_proof import PathProof, mentions_votes
from optcheck.path_state import Watcher
from optcheck.path_steps import (
    FoundPlaces,
    NotUnderstood,
    PathEnd,
    RestSummary,
    SassAccess,
    SassClock,
    SassDecision,
    SassLoop,
    SassSleep,
    SassTable,
    Step,
)
from optcheck.rest_summary import summarize_path
from optcheck.sass import WORD
from optcheck.specification import Specification
from optcheck.term import Samples, Term, entry, forget_terms

Result = TypeVar("Result")
COMMON = (0, 1, 2, WORD, 1 << 31, 3)


class FunctionProof:
    """The proof of one function."""

    def __init__(
        self, graph: Graph, test: Test, specification: Specification, frame: Frame, mapping: SassMapping
    ) -> None:
        self.graph = graph
        self.mapping = mapping
        if forget_terms():
            forget_computations()
            forget_executed_code()
            forget_unknown_words()
            frame_samples.cache_clear()
            frame_values.cache_clear()
            mentions_votes.cache_clear()
        self.values = frame_values(frame, mapping.shared_window, mapping.shared_mask)
        self.special = special_words(test.threads, graph.function.deciding_numbers)
        self.codes = [
            ExpectedThread(
                number,
                thread,
                test.registers_of(number),
                specification.threads[number],
                frame.results[number],
                frame.start_barriers[number] if frame.start_barriers else None,
            )
            for number, thread in enumerate(test.threads)
        ]

    def find_failure(self) -> Disproved | None:
        """Why the function is not proved to be the test; None if it is."""
        code = None if self.mapping.has_condition_code else self.graph.function.find_condition_code()
        if code is not None:
            return Disproved(Finding.UNVERIFIABLE, "this architecture has no condition code", (code,))
        numbers = [*range(len(self.codes)), len(self.codes), 1000, WORD, 1 << 31]
        asked = Samples(len(numbers), {entry(THREAD): numbers})
        scratch: frozenset[str] = frozenset()
        while True:
            function = ExpectedFunction(
                self.values, self.mapping, self.codes, asked, self.special, self.graph.function, scratch
            )
            try:
                watcher = ThreadProofs(function, list(range(len(numbers))))
                SassExecution(self.graph).run(watcher, known=self.values.constant_words())
            except NotUnderstood as error:
                return Disproved(Finding.UNVERIFIABLE, error.why, (error.index,))
            except NotCarried as error:
                if error.name in scratch:
                    return error
                scratch |= {error.name}
                continue
            except Disproved as error:
                return error
            lost = [code.number for code in self.codes if not code.found.finished]
            return Disproved(Finding.REMOVED, "no path runs this thread", thread=lost[0]) if lost else None

    def clusters(self) -> tuple[Cluster, ...]:
        """Where the specifications and accesses of the threads were found."""
        lines = self.graph.function.lines
        return tuple(
            Cluster(
                code.number,
                tuple(
                    (lines[at], position, lines[code.found.accesses[position]])
                    for position, at in sorted(code.found.specification.items())
                ),
                Finding.UNCHANGED,
            )
            for code in self.codes
            if code.found.specification
        )


class ThreadProofs(Watcher):
    """Watches a path: until the thread is chosen as one, then for each thread that can take it."""

    def __init__(self, function: ExpectedFunction, possible: list[int]) -> None:
        self.function = function
        self.possible = possible  # places among the numbers of threads
        self.before: PathProof | None = PathProof(function)
        self.proofs: list[PathProof] = []
        self.targets: list[int] = []  # where a table leads, for each number of a thread
        self.chosen = False  # the last decision left one thread, or none of the test

    def fork(self) -> ThreadProofs:
        """A copy for another way."""
        other = object.__new__(ThreadProofs)
        other.__dict__.update(self.__dict__)
        other.before = None if self.before is None else self.before.fork()
        other.proofs = [one.fork() for one in self.proofs]
        return other

    @property
    def common(self) -> object | None:
        """What loads depend on besides their addresses, as long as no thread is chosen."""
        return None if self.before is None else self.function.common

    @property
    def loads(self) -> int:
        """How many loads there were so far, as long as no thread is chosen."""
        return 0 if self.before is None else self.before.memory

    def add_loads(self, count: int) -> None:
        """There were loads of the launch that were understood before."""
        assert self.before is not None
        self.before.memory += count

    def summarize(self, registers: Mapping[str, Term]) -> RestSummary | None:
        """All on which the rest of the path depends, but its code, registers and conditions; None if there is more."""
        known = None if self.before is None else summarize_path(self.before, registers)
        if known is None:
            return None
        numbers = self.function.numbers.values(entry(THREAD))
        (thread,) = self._find_threads()
        key = (*known, thread, *[numbers[place] for place in self.possible])
        if thread == len(self.function.threads):
            return RestSummary((*key, None), FoundPlaces(), None)
        code = self.function.threads[thread]
        return RestSummary((*key, id(code.specification), code.declared), code.found, code.specification)

    def jump(self, step: SassTable) -> tuple[int, ...]:
        """The path goes through a table: where that leads each thread is found from the words of the table."""
        low, high = step.place
        numbers = self.function.numbers
        place_of = low.arguments[2] if low.operation == "unknown" and low.arguments[:2] == ("constant", 2) else None
        signs = [WORD if word >> 31 else 0 for word in numbers.values(low)]
        extended = self.function.mapping.has_condition_code or numbers.values(high) == signs
        if not isinstance(place_of, Term) or place_of.symbols != {entry(THREAD)} or not extended or self.before is None:
            raise Disproved(Finding.UNVERIFIABLE, "a jump through a table is not understood", (step.index,))
        words = numbers.values(place_of)
        size = 8 if self.function.mapping.has_condition_code else 16
        targets = self.function.code.jump_targets(step.index, words, size)
        if targets is None:
            why = "a table of jumps is not in the listing: give the binary instead"
            raise Disproved(Finding.UNVERIFIABLE, why, (step.index,))
        self.targets = targets
        followed = dict.fromkeys(targets[place] for place in self.possible)
        if -1 in followed:
            raise Disproved(Finding.CHANGED, "a table of jumps leads out of the code", (step.index,))
        return tuple(followed)

    def arrive(self, index: int) -> None:
        """Only the threads that a table leads here are on this path."""
        self.possible = [place for place in self.possible if self.targets[place] == index]

    def step(self, step: Step) -> None:
        """Raises `Disproved`."""
        if isinstance(step, SassDecision):
            if step.condition.symbols == {entry(THREAD)}:
                words = self.function.numbers.values(step.condition)
                self.possible = [place for place in self.possible if bool(words[place]) == step.holds]
                self.chosen = len(self._find_threads()) == 1
                if self.before is None:
                    self._choose_again()
                return
            self.chosen = False
            self._forbid_thread((step.condition,), step.index)
            if self.before is not None:
                self.before.step(step)
                return
        self._choose()
        self._each(lambda proof: proof.step(step))

    def access(self, step: SassAccess) -> tuple[Term, ...]:
        """Raises `Disproved`."""
        self._forbid_thread((*step.address, *(term for words in step.data for term in words)), step.index)
        if self.before is not None:
            loaded = self.before.load_field(step)
            if loaded is not None:
                return loaded
            self._choose()
        read = self._each(lambda proof: proof.access(step))
        if any(one != read[0] for one in read):
            raise Disproved(Finding.UNVERIFIABLE, "an access may belong to two threads", (step.index,))
        return read[0] if read else ()

    def _forbid_thread(self, terms: tuple[Term, ...], index: int) -> None:
        """The number of the thread only chooses its code: values that contain it are not compared for each thread."""
        wanted = entry(THREAD)
        for term in terms:
            if wanted in term.symbols:
                raise Disproved(Finding.UNVERIFIABLE, "the number of the thread is in a value", (index,))

    def read_clock(self, step: SassClock) -> Term | None:
        """Raises `Disproved`."""
        self._choose()
        said = self._each(lambda proof: proof.read_clock(step))
        return said[0] if said and all(one is said[0] for one in said) else None

    def sleep(self, step: SassSleep) -> bool:
        """Raises `Disproved`."""
        self._choose()
        return all(self._each(lambda proof: proof.sleep(step)))

    def enter(self, step: SassLoop) -> dict[str, Term]:
        """A loop begins; the first one is that over the instances, in which the thread is chosen."""
        if self.before is not None and self.before.loop is None:
            return self.before.enter(step)
        self._choose()
        known = self._each(lambda proof: proof.enter(step))
        return known[0] if known and all(one == known[0] for one in known) else {}

    def end(self, end: PathEnd) -> None:
        """Raises `Disproved`."""
        if self.before is not None and self.before.may_return(end):
            return
        self._choose()
        self._each(lambda proof: proof.end(end))

    def _choose(self) -> None:
        """From here on, follow each thread that can take the path."""
        if self.before is None:
            return
        threads = self.function.threads
        self.proofs = [self.before.choose(threads[one] if one < len(threads) else None) for one in self._find_threads()]
        self.before = None

    def _find_threads(self) -> dict[int, None]:
        """The threads that can take the path; the number after the last one stands for all others."""
        count = len(self.function.threads)
        return dict.fromkeys([min(place, count) for place in self.possible])

    def _choose_again(self) -> None:
        count = len(self.function.threads)
        left = self._find_threads()
        self.proofs = [one for one in self.proofs if (count if one.code is None else one.code.number) in left]

    def _each(self, go: Callable[[PathProof], Result]) -> list[Result]:
        found = []
        for proof in self.proofs:
            try:
                found.append(go(proof))
            except NotCarried:
                raise
            except Disproved as error:
                if proof.code is None or error.thread is not None:
                    raise
                raise replace(error, thread=proof.code.number) from None
        return found


@lru_cache(1 << 12)
def special_words(threads: tuple[Thread, ...], deciding: tuple[int, ...]) -> tuple[int, ...]:
    """Words that may decide something: those that occur in the threads or in the SASS, and their neighbours."""
    special = list(COMMON)
    for word in deciding:
        special += [word, word + 1 & WORD, word - 1 & WORD]
    for instruction in (one for thread in threads for one in thread):
        for operand in operands_of(instruction):
            if isinstance(operand, Immediate):
                special += [operand.value & WORD, operand.value + 1 & WORD, operand.value - 1 & WORD]
    return tuple(dict.fromkeys(special))
