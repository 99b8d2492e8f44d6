"""Deciding by search: runs of threads, reads-from, orders and coherence, given up as early as a check fails."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod

from gpudiy.litmus.condition import And, Expression, FinalRegister, FinalVariable, Observable, Value, holds, observables
from gpudiy.litmus.memory_types import shown_memory, with_shown_constants
from gpudiy.litmus.outcome import Outcome, outcome_text
from gpudiy.litmus.test import Test
from gpudiy.models.choices import CoherenceOrders, Orientations, coherence_orders
from gpudiy.models.domain import PossibleValues
from gpudiy.models.event import Event
from gpudiy.models.model import Model, Slots, Stage
from gpudiy.models.skeleton import EventSkeleton
from gpudiy.models.support import check_supported
from gpudiy.models.trace import ThreadRunner, Trace


class OutOfTime(Exception):
    """The time limit passed before the answer was certain."""


@dataclass(frozen=True, slots=True)
class Execution:
    """An execution of a test: its events with their values, what was chosen, and all that the model made of it."""

    skeleton: EventSkeleton
    events: tuple[Event, ...]
    rf: int
    co: int
    slots: tuple[int, ...]
    outcome: Outcome

    def __repr__(self) -> str:
        test = self.skeleton.test
        return f"<Execution of {test.name}: {len(self.events)} events, {outcome_text(test, self.outcome).rstrip(';')}>"

    def _repr_svg_(self) -> str:
        """What a notebook shows."""
        from gpudiy.models.execution_picture import draw_execution  # it needs the class itself

        return draw_execution(self)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A skeleton, what depends on its events alone, and what there is to choose."""

    skeleton: EventSkeleton
    slots: Slots
    reads: list[tuple[int, list[int]]]  # every read with the writes of its location
    releases: list[list[int]]  # for every barrier that waits, what may release it
    orders: list[Orientations]
    coherences: CoherenceOrders


class Search:
    """All executions of one test under one model."""

    def __init__(self, test: Test, model: Model, unroll: int = 2, deadline: float | None = None) -> None:
        self.test = test
        self.model = model
        self.deadline = deadline
        self.observed = test.observed
        self.filter = None if test.filter is None else with_shown_constants(test, test.filter)
        self.memory = [term for term in self.observed if isinstance(term, FinalVariable)]
        self.finals = [term for term in self.observed if isinstance(term, FinalRegister)]
        self.runners = [ThreadRunner(test, number, unroll) for number in range(len(test.threads))]
        self.outside = False  # whether an event is one that the model was not made for
        self.traces = self._traces()
        self._prepared: dict[tuple[int, ...], Prepared | None] = {}
        self._choices: tuple[Expression | None, list[list[tuple[int, Trace]]]] | None = None

    def executions(self, target: Expression | None = None) -> Iterator[Execution]:
        """Consistent executions that end in a state of `target`, one at least for each outcome that has any."""
        for prepared, traces in self.candidates(target):
            yield from self._consistent(prepared, traces, target)

    def candidates(self, target: Expression | None) -> Iterator[tuple[Prepared, list[Trace]]]:
        """Runs of all threads, as far as they can end in a state of `target`."""
        for combination in product(*self.choices(target)):
            self.check_time()
            traces = [trace for _, trace in combination]
            if self.memory or self.satisfies(target, self.registers(traces)):
                prepared = self.prepare(tuple(shape for shape, _ in combination), traces)
                if prepared is not None:
                    yield prepared, traces

    def choices(self, target: Expression | None) -> list[list[tuple[int, Trace]]]:
        """The runs of every thread that can end as the conjuncts about this thread alone ask."""
        if self._choices is None or self._choices[0] is not target:
            wanted = _by_thread(target)
            filtered = [_filter_traces(traces, wanted.get(number, [])) for number, traces in enumerate(self.traces)]
            self._choices = (target, filtered)
        return self._choices[1]

    def size(self, target: Expression | None) -> tuple[int, int]:
        """About how many runs of all threads a search would look at, and how many orders for each of them."""
        total = 1
        first = []
        for choices in self.choices(target):
            total *= len(choices)
            if not choices:
                return 0, 0
            first.append(max(choices, key=lambda choice: len(choice[1].events)))
        prepared = self.prepare(tuple(shape for shape, _ in first), [trace for _, trace in first])
        if prepared is None:
            return total, 1
        values = [*prepared.skeleton.initial_values, *(value for _, trace in first for value in trace.values)]
        sources = prod(max(1, sum(values[w] == values[read] for w in writes)) for read, writes in prepared.reads)
        orders = prod(choice.number for choice in prepared.orders) * prod(map(len, prepared.releases))
        return total, prepared.coherences.number * orders * sources

    def prepare(self, shapes: tuple[int, ...], traces: list[Trace]) -> Prepared | None:
        """The skeleton of such runs; None if its events alone are forbidden, or a barrier is never released."""
        if shapes not in self._prepared:
            self._prepared[shapes] = self._build_prepared(EventSkeleton(self.test, traces))
        return self._prepared[shapes]

    @property
    def bounded(self) -> bool:
        """Whether runs were left out because a loop went round too often."""
        return any(runner.unfinished for runner in self.runners)

    def check_time(self) -> None:
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise OutOfTime

    def satisfies(self, target: Expression | None, state: dict[Observable, Value]) -> bool:
        if self.filter is not None and not holds(self.filter, state.__getitem__):
            return False
        return target is None or holds(target, state.__getitem__)

    def registers(self, traces: list[Trace]) -> dict[Observable, Value]:
        return {term: traces[term.thread].finals[term.name] for term in self.finals}

    def _build_prepared(self, skeleton: EventSkeleton) -> Prepared | None:
        model, a = self.model, skeleton.algebra
        slots = [0] * model.slots
        for name, slot in model.inputs.items():
            slots[slot] = skeleton.static(name)
        broken = model.stages[Stage.EVENTS](a, slots)
        check_supported(model, skeleton, slots)
        self.outside = self.outside or any(slots[flag.slot] for flag in model.outside)
        releases = skeleton.releases()
        if broken is not None or not all(releases):
            return None
        reads = []
        for read in skeleton.reads:
            own = skeleton.rmw_pairs.get(read)
            reads.append((read, [w for w in skeleton.writes[skeleton.events[read].location] if w != own]))
        orders = [Orientations(slots[pairs], a) for _, pairs in model.orders]
        coherences = coherence_orders(tuple(map(tuple, skeleton.writes.values())), a.size, model.partial_co)
        return Prepared(skeleton, slots, reads, releases, orders, coherences)

    def _consistent(self, prepared: Prepared, traces: list[Trace], target: Expression | None) -> Iterator[Execution]:
        """Executions of one skeleton; without memory in the outcome the first one is enough."""
        skeleton, model = prepared.skeleton, self.model
        a = skeleton.algebra
        inputs = model.inputs
        values = [*skeleton.initial_values, *(value for trace in traces for value in trace.values)]
        registers = self.registers(traces)
        seen: set[Outcome] = set()
        for rf in reads_from(prepared, values):
            for chosen in product(*prepared.releases):
                meeting = 0
                for release in chosen:
                    meeting |= release
                slots = list(prepared.slots)
                _fill(slots, inputs.get("rf"), rf)
                _fill(slots, inputs.get("syncbar"), meeting)
                if model.stages[Stage.READS](a, slots) is not None:
                    continue
                for orders in product(*(choice.orders(self.check_time) for choice in prepared.orders)):
                    ordered = list(slots) if orders else slots
                    for (slot, _), order in zip(model.orders, orders, strict=True):
                        ordered[slot] = order
                    if model.stages[Stage.ORDERS](a, ordered) is not None:
                        continue
                    for co in prepared.coherences.orders(self.check_time):
                        self.check_time()
                        _fill(ordered, inputs.get("co"), co)
                        if model.stages[Stage.COHERENCE](a, ordered) is not None:
                            continue
                        for finals in final_values(prepared.skeleton, values, co, self.memory):
                            state = {**registers, **finals}
                            outcome = tuple(state[term] for term in self.observed)
                            if outcome not in seen and self.satisfies(target, state):
                                seen.add(outcome)
                                events = skeleton.with_values(values)
                                yield Execution(skeleton, events, rf, co, tuple(ordered), outcome)
                        if seen and not self.memory:
                            return

    def _traces(self) -> list[list[tuple[int, Trace]]]:
        """All runs of all threads, over the values that can get into memory; each with a number for its shape."""
        values = PossibleValues(self.test)
        while True:
            self.check_time()
            found = [runner.traces(values.domain, self.check_time) for runner in self.runners]
            written = [traces + runner.unfinished for traces, runner in zip(found, self.runners, strict=True)]
            if not values.grow(written):
                break
        shapes: dict[object, int] = {}
        return [[(shapes.setdefault(trace.shape, len(shapes)), trace) for trace in traces] for traces in found]


def reads_from(prepared: Prepared, values: list[Value]) -> Iterator[int]:
    """All ways to give every read a write of its value."""
    size = prepared.skeleton.algebra.size
    certain = 0
    open_choices = []
    for read, writes in prepared.reads:
        value = values[read]
        pairs = [1 << (write * size + read) for write in writes if values[write] == value]
        if not pairs:
            return
        if len(pairs) == 1:
            certain |= pairs[0]
        else:
            open_choices.append(pairs)
    for chosen in product(*open_choices):
        rf = certain
        for pair in chosen:
            rf |= pair
        yield rf


def final_values(
    skeleton: EventSkeleton, values: list[Value], co: int, memory: list[FinalVariable]
) -> Iterator[dict[Observable, Value]]:
    """What the observed variables can hold in the end: the values of writes that nothing overwrote."""
    a = skeleton.algebra
    locations = {term: skeleton.test.memory_map.location_of(term.name) for term in memory}
    last = {
        location: [
            shown_memory(skeleton.test, location, values[write])
            for write in skeleton.writes[location]
            if not a.successors(co, write)
        ]
        for location in set(locations.values())
    }
    for chosen in product(*last.values()):
        held = dict(zip(last, chosen, strict=True))
        yield {term: held[location] for term, location in locations.items()}


def _fill(slots: Slots, slot: int | None, value: int) -> None:
    if slot is not None:
        slots[slot] = value


def _filter_traces(traces: list[tuple[int, Trace]], wanted: list[Expression]) -> list[tuple[int, Trace]]:
    if not wanted:
        return traces
    return [choice for choice in traces if all(_ends_in(choice[1], part) for part in wanted)]


def _ends_in(trace: Trace, expression: Expression) -> bool:
    def value_of(term: Observable) -> Value:
        return trace.finals[term.name]

    return holds(expression, value_of)


def _by_thread(target: Expression | None) -> dict[int, list[Expression]]:
    """The conjuncts of the target that are about one thread alone."""
    found: dict[int, list[Expression]] = {}
    for part in _conjuncts(target):
        threads = {term.thread if isinstance(term, FinalRegister) else None for term in observables(part)}
        if len(threads) == 1 and (thread := threads.pop()) is not None:
            found.setdefault(thread, []).append(part)
    return found


def _conjuncts(expression: Expression | None) -> list[Expression]:
    if isinstance(expression, And):
        return [part for inner in expression.parts for part in _conjuncts(inner)]
    return [] if expression is None else [expression]
