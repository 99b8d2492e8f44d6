"""Deciding by search: reads-from read by read, then orders and coherence pair by pair.

What a read returns follows from what it reads from. Whatever is chosen is checked as soon as something can be said
about it: what paths, filter and target ask of values when the values are known, and the checks of the model that can
only fail more often when more is chosen (see `search_plan`) wherever much is still open.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from itertools import product

from gpudiy.litmus.condition import FinalRegister, Value
from gpudiy.litmus.outcome import FinalState, Outcome
from gpudiy.models.combination import Placed, Prepared, Requirement
from gpudiy.models.execution import Chosen
from gpudiy.models.model import Model, Slots, Stage
from gpudiy.models.possible import Domain
from gpudiy.models.problems import Undecidable
from gpudiy.models.question import StateQuestion

OPEN = 16  # ways to go on, from which on it pays to look at the checks before all is chosen
FAR_OPEN = 16  # ways to read, from which on it pays to find out what a read says about coherence
UNORDERED = 3  # pairs of writes, from which on it pays to look at the checks before all are ordered

Found = tuple[FinalState, Chosen]
Pending = list[
    tuple[FinalState, list[int], Outcome | None]
]  # states to find, last writes, outcome if all are asked for


class Expensive(Exception):
    """A search took more checks than it may take without finding anything."""


class Search:
    """The search for executions of one combination of paths.

    `seen` are outcomes that need not be found again. After `budget` checks that led to nothing, if there is one,
    `Expensive` is raised. `readers` are pairs of interchangeable threads that only read: what the first reads from is
    not after what the second reads from.
    """

    def __init__(
        self,
        model: Model,
        prepared: Prepared,
        question: StateQuestion,
        seen: set[Outcome],
        domain: Callable[[], Domain],
        check_time: Callable[[], None],
        budget: int | None = None,
        readers: list[tuple[int, int]] | None = None,
    ) -> None:
        self.model = model
        self.plan = model.plan
        self.prepared = prepared
        self.question = question
        self.seen = seen
        self.domain = domain
        self.check_time = check_time
        self.budget = budget
        self.checks = 0
        self.algebra = prepared.algebra
        combination = self.combination = prepared.combination
        self.values = combination.values
        self.finals = {term: question.final(combination, term) for term in question.registers}
        self.rf = 0
        self.source: dict[int, int] = {}  # what each read reads from
        self.co = prepared.co  # the pairs that coherence certainly has, with this reads-from
        self.requirements_of: dict[int, list[Requirement]] = {}
        for requirement in combination.requirements:
            for read in requirement.reads:
                self.requirements_of.setdefault(read, []).append(requirement)
        self.dependents: dict[int, list[int]] = {}  # the writes whose value depends on a read
        for write, placed in combination.terms.items():
            for read in placed.reads:
                self.dependents.setdefault(read, []).append(write)
        relevant = relevant_reads(prepared, question, self.finals)
        sources = combination.sources
        self.order = sorted(sources, key=lambda read: (read not in relevant, len(sources[read])))
        self.relevant = len(relevant)
        self.ways = [1] * (len(self.order) + 1)  # in which the reads from each place on can be chosen
        for index in range(len(self.order) - 1, -1, -1):
            self.ways[index] = self.ways[index + 1] * len(sources[self.order[index]])
        inputs = model.inputs
        self.choices = [inputs[name] for name in ("rf", "syncbar", "co") if name in inputs]
        self.choices += [slot for slot, _ in prepared.orders]
        self.orderings = 1 << min(10, len(prepared.co_pairs))
        self.pairs_of: dict[int, list[tuple[int, int]]] = {}
        for pair in prepared.co_pairs:
            for write in pair:
                self.pairs_of.setdefault(write, []).append(pair)
        self.rivals: dict[int, list[list[tuple[int, int]]]] = {}  # pairs of reads of interchangeable threads
        for one, other in readers or ():
            starts, reads = combination.starts, combination.paths[one].reads
            pairs = [(starts[one] + read, starts[other] + read) for read in reads]
            for pair in pairs:
                for read in pair:
                    self.rivals.setdefault(read, []).append(pairs)

    def executions(self) -> Iterator[Found]:
        """One execution for each final state that was not seen; with a target only one."""
        for _ in self._choose_sources(0, self.relevant):
            registers: FinalState = {term: placed.evaluate(self.values) for term, placed in self.finals.items()}
            pending = self._list_pending(registers)
            if pending and self.relevant == len(self.order):
                yield from self._choose_orders(pending)
            elif pending:
                with closing(self._choose_sources(self.relevant, len(self.order))) as others:
                    for _ in others:
                        yield from self._choose_orders(pending)
                        if not pending:
                            break

    def _list_pending(self, registers: FinalState) -> Pending:
        """The final states there may be that were not seen, with the last writes of the locations that matter."""
        written: dict[str, dict[int, Value]] = {}
        for location in self.question.locations:
            initial, *others = self.combination.writes[location]
            written[location] = {write: self.values[write] for write in others or [initial]}  # type: ignore[misc]
        states = self.question.states(registers, written)
        if self.question.target is not None:
            return [(state, last, None) for state, last in states]
        named = [(state, last, self.question.outcome(state)) for state, last in states]
        return [item for item in named if item[2] not in self.seen]

    def _count_check(self) -> None:
        self.checks += 1
        if self.budget is not None and self.checks > self.budget:
            raise Expensive

    # what is read

    def _choose_sources(self, index: int, end: int) -> Generator[None]:
        """Choose what the reads from `index` to `end` read from, in every way that may lead to an execution."""
        if index == end:
            yield from self._solve_cycles(end)
            return
        self.check_time()
        read = self.order[index]
        before, certain = self.rf, self.co
        for write in self.combination.sources[read]:
            trail: list[int] = []
            self.rf = before | self.algebra.pair(write, read)
            self.source[read] = write
            value = self.values[write]
            try:
                if (
                    (read not in self.rivals or self._in_order(read))
                    and (value is None or self._learn(read, value, trail))
                    and (self.ways[index + 1] * self.orderings < OPEN or self._may_hold(read, self.ways[index + 1]))
                ):
                    yield from self._choose_sources(index + 1, end)
            finally:
                self.rf, self.co = before, certain
                del self.source[read]
                for event in trail:
                    self.values[event] = None

    def _in_order(self, read: int) -> bool:
        """Whether interchangeable threads read from writes in the order of their numbers, as far as it is known."""
        for pairs in self.rivals[read]:
            for one, other in pairs:
                first, second = self.source.get(one), self.source.get(other)
                if first is None or second is None or first < second:
                    break
                if first > second:
                    return False
        return True

    def _learn(self, read: int, value: Value, trail: list[int]) -> bool:
        """A read returns this value: compute what follows; whether all that is required can still be true."""
        values, combination = self.values, self.combination
        waiting = [(read, value)]
        while waiting:
            read, value = waiting.pop()
            if values[read] is not None:
                if values[read] != value:
                    return False
                continue
            values[read] = value
            trail.append(read)
            for requirement in self.requirements_of.get(read, ()):
                known = all(values[other] is not None for other in requirement.reads)
                if known and not combination.satisfies(requirement, values):
                    return False
            for write in self.dependents.get(read, ()):
                placed = combination.terms[write]
                if values[write] is None and all(values[other] is not None for other in placed.reads):
                    try:
                        written = values[write] = placed.evaluate(values)
                    except Undecidable as problem:
                        combination.problem = str(problem)
                        return False
                    trail.append(write)
                    waiting += [(reader, written) for reader, source in self.source.items() if source == write]
        return True

    def _solve_cycles(self, end: int) -> Iterator[None]:
        """Give values to reads that return what was computed from themselves: all that agree with each other."""
        unknown = next((read for read in self.order[:end] if self.values[read] is None), None)
        if unknown is None:
            yield
            return
        if not self._may_hold(unknown, 1):
            return
        events, domain = self.prepared.skeleton.events, self.domain()
        for value in domain[events[unknown].location]:
            trail: list[int] = []
            try:
                if self._learn(unknown, value, trail) and all(
                    self.values[event] in domain[events[event].location] for event in trail if event in self.source
                ):
                    yield from self._solve_cycles(end)
            finally:
                for event in trail:
                    self.values[event] = None

    def _may_hold(self, read: int, ways: int) -> bool:
        """Whether no check fails for certain with what is chosen so far, last for this read.

        Where much is still open, what the read says about coherence is found out, too.
        """
        a, early, slot = self.algebra, self.plan.early, self.model.inputs.get("co")
        self._count_check()
        v = self._slots()
        if early[Stage.READS](a, v) is not None or early[Stage.ORDERS](a, v) is not None:
            return False
        co = self._with_least(v, self.co) if self.plan.least_grows else self.co
        if co is None:
            return False
        if slot is None:
            return early[Stage.COHERENCE](a, v) is None
        v[slot] = co
        if early[Stage.COHERENCE](a, v) is not None:
            return False
        if ways < FAR_OPEN or self.plan.coherence.every:
            return True
        for one, other in self._pairs_about(read):
            if a.relates(co, one, other) or a.relates(co, other, one):
                continue
            possible = []
            for ordered in (a.add_ordered(co, one, other), a.add_ordered(co, other, one)):
                self._count_check()
                v[slot] = ordered
                if early[Stage.COHERENCE](a, v) is None:
                    possible.append(ordered)
            if not possible:
                return False
            if len(possible) == 1:
                (co,) = possible
        self.co = co
        return True

    def _pairs_about(self, read: int) -> list[tuple[int, int]]:
        """The pairs of writes that may be ordered because of a read: those of its source and of its own write."""
        own = self.combination.rmw.get(read)
        return [*self.pairs_of.get(self.source[read], ()), *(() if own is None else self.pairs_of.get(own, ()))]

    def _slots(self, meeting: int = 0) -> Slots:
        slots = list(self.prepared.slots)
        inputs = self.model.inputs
        if "rf" in inputs:
            slots[inputs["rf"]] = self.rf
        if "syncbar" in inputs:
            slots[inputs["syncbar"]] = meeting
        return slots

    # orders and coherence

    def _choose_orders(self, pending: Pending) -> Iterator[Found]:
        """Executions with this reads-from, at most one for each pending state; what is found is taken off."""
        stages = self.plan.stages
        for chosen in product(*self.prepared.releases):
            meeting = 0
            for release in chosen:
                meeting |= release
            if not self.prepared.skeleton.can_end(meeting):
                continue
            slots = self._slots(meeting)
            self._count_check()
            if stages[Stage.READS](self.algebra, slots) is not None:
                continue
            for ordered in self._orient(slots, 0):
                co = self._with_least(ordered, self.co)
                if co is not None:
                    yield from self._find_coherence(ordered, co, pending)
                if not pending:
                    return

    def _orient(self, slots: Slots, number: int) -> Iterator[Slots]:
        """The slots with every order chosen, as far as the checks allow."""
        if number == len(self.prepared.orders):
            if self.plan.stages[Stage.ORDERS](self.algebra, slots) is None:
                yield slots
            return
        slot, pairs = self.prepared.orders[number]
        for order in self.algebra.orientations(pairs):
            self.check_time()
            following = list(slots)
            following[slot] = order
            yield from self._orient(following, number + 1)

    def _find_coherence(self, slots: Slots, co: int, pending: Pending) -> Iterator[Found]:
        for item in list(pending):
            state, last, outcome = item
            if outcome in self.seen:
                pending.remove(item)
                continue
            after = 0  # the pairs that begin with a last write
            for write in last:
                after |= self.algebra.row << (write * self.algebra.size)
            started = self._with_last(co, last)
            found = None if started & after else self._order_writes(slots, started, after, 0)
            if found is not None:
                pending.remove(item)
                yield state, self._list_choices(found)
                self.checks = 0
                if self.question.target is not None:
                    pending.clear()
                    return

    def _with_least(self, slots: Slots, co: int) -> int | None:
        """Coherence with the pairs it must have; None if that is no order."""
        required = 0
        for slot in self.plan.coherence.least:
            required |= slots[slot]
        if not required & ~co:
            return co
        if required & ~self.prepared.comparable:
            return None
        closed = self.algebra.closure(co | required)
        return None if closed & self.algebra.identity else closed

    def _with_last(self, co: int, last: list[int]) -> int:
        """Coherence in which these writes come after all that they are ordered with."""
        if last and not self.plan.coherence.every:
            for one, other in self.prepared.co_pairs:
                if one in last:
                    co = self.algebra.add_ordered(co, other, one)
                elif other in last:
                    co = self.algebra.add_ordered(co, one, other)
        return co

    def _order_writes(self, slots: Slots, co: int, apart: int, index: int) -> tuple[Slots, int] | None:
        """The first coherence with these pairs, and without those in `apart`, that no check forbids."""
        pairs, a, slot = self.prepared.co_pairs, self.algebra, self.model.inputs.get("co")
        while index < len(pairs) and (a.relates(co, *pairs[index]) or a.relates(co, *pairs[index][::-1])):
            index += 1
        self._count_check()
        following = list(slots)
        if slot is not None:
            following[slot] = co
        if index == len(pairs) or slot is None:
            return None if self.plan.stages[Stage.COHERENCE](a, following) is not None else (following, co)
        self.check_time()
        if len(pairs) - index >= UNORDERED and self.plan.early_coherence(a, following) is not None:
            return None
        one, other = pairs[index]
        for ordered in (a.add_ordered(co, one, other), a.add_ordered(co, other, one)):
            if not ordered & apart:
                found = self._order_writes(slots, ordered, apart, index + 1)
                if found is not None:
                    return found
        if self.plan.coherence.every:
            return self._order_writes(slots, co, apart | a.pair(one, other) | a.pair(other, one), index + 1)
        return None

    def _list_choices(self, found: tuple[Slots, int]) -> Chosen:
        slots, co = found
        values = tuple([0 if value is None else value for value in self.values])
        return Chosen(values, {slot: slots[slot] for slot in self.choices}, self.rf, co)


def relevant_reads(prepared: Prepared, question: StateQuestion, finals: dict[FinalRegister, Placed]) -> set[int]:
    """The reads that a final state or a requirement depends on; other reads only have to read from something."""
    combination = prepared.combination
    waiting = [read for requirement in combination.requirements for read in requirement.reads]
    waiting += [read for placed in finals.values() for read in placed.reads]
    for location in question.locations:
        for write in combination.writes[location]:
            waiting += combination.terms[write].reads if write in combination.terms else ()
    relevant: set[int] = set()
    while waiting:
        read = waiting.pop()
        if read not in relevant:
            relevant.add(read)
            for write in combination.sources[read]:
                waiting += combination.terms[write].reads if write in combination.terms else ()
    return relevant
