"""Deciding by search: runs of threads, reads-from, orders and coherence, given up as early as a check fails."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations, product

from gpudiy.litmus.condition import (
    And,
    Compare,
    Constant,
    Expression,
    FinalRegister,
    FinalVariable,
    Not,
    Observable,
    Quantifier,
    Value,
    holds,
    observables,
)
from gpudiy.litmus.instruction import Alu, AluOperation, Immediate, Store
from gpudiy.litmus.test import Test
from gpudiy.models.cat_compile import Model, Slots
from gpudiy.models.skeleton import Skeleton
from gpudiy.models.trace import Domain, ThreadRunner, Trace

Outcome = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Execution:
    """A consistent execution: its skeleton and what was chosen."""

    skeleton: Skeleton
    rf: int
    co: int
    slots: tuple[int, ...]
    outcome: Outcome


class Search:
    """All executions of one test under one model."""

    def __init__(self, test: Test, model: Model, unroll: int = 2) -> None:
        self.test = test
        self.model = model
        self.runners = [ThreadRunner(test, number, unroll) for number in range(len(test.threads))]
        self.observed = test.observed
        self.traces = self._traces()
        self._skeletons: dict[tuple[int, ...], tuple[Skeleton, Slots] | None] = {}

    def executions(self, target: Expression | None = None) -> Iterator[Execution]:
        """Consistent executions that end in a state of `target`; for each outcome and way to run, one that shows it."""
        choices = [self._filtered(number, traces, target) for number, traces in enumerate(self.traces)]
        memory = [term for term in self.observed if isinstance(term, FinalVariable)]
        for combination in product(*choices):
            traces = [trace for _, trace in combination]
            if not memory and not self._wanted(target, self._registers(traces)):
                continue
            prepared = self._prepared(tuple(shape for shape, _ in combination), traces)
            if prepared is not None:
                yield from self._consistent(*prepared, traces, target, memory)

    def _consistent(
        self,
        skeleton: Skeleton,
        slots: Slots,
        traces: list[Trace],
        target: Expression | None,
        memory: list[FinalVariable],
    ) -> Iterator[Execution]:
        """Executions of one skeleton; without memory in the outcome the first one is enough."""
        model, a = self.model, skeleton.algebra
        events = [*skeleton.events[: len(skeleton.locations)], *(event for trace in traces for event in trace.events)]
        registers = self._registers(traces)
        seen: set[Outcome] = set()
        for rf in _reads_from(skeleton, events):
            for syncbar in skeleton.barrier_choices() or ():
                slots = list(slots)
                _fill(model, slots, rf=rf, syncbar=syncbar)
                if model.stages[1](a, slots) is not None:
                    continue
                for oriented in _orders(model, skeleton, slots):
                    if model.stages[2](a, oriented) is not None:
                        continue
                    for co in self._coherences(skeleton):
                        _fill(model, oriented, co=co)
                        if model.stages[3](a, oriented) is not None:
                            continue
                        for finals in _finals(skeleton, events, co, memory):
                            state = {**registers, **finals}
                            if not self._wanted(target, state):
                                continue
                            outcome = tuple(state[term] for term in self.observed)
                            if outcome not in seen:
                                seen.add(outcome)
                                yield Execution(skeleton, rf, co, tuple(oriented), outcome)
                        if not memory and seen:
                            return

    def _wanted(self, target: Expression | None, state: dict[Observable, Value]) -> bool:
        if self.test.filter is not None and not holds(self.test.filter, state.__getitem__):
            return False
        return target is None or holds(target, state.__getitem__)

    def _registers(self, traces: list[Trace]) -> dict[Observable, Value]:
        return {
            term: traces[term.thread].finals[term.name] for term in self.observed if isinstance(term, FinalRegister)
        }

    def _filtered(
        self, number: int, traces: list[tuple[int, Trace]], target: Expression | None
    ) -> list[tuple[int, Trace]]:
        """The runs of a thread that can end as the conjuncts about this thread alone ask."""
        wanted = [part for part in _conjuncts(target) if _only_of(part, number)]
        if not wanted:
            return traces
        return [
            (shape, trace)
            for shape, trace in traces
            if all(holds(part, lambda term, trace=trace: trace.finals[term.name]) for part in wanted)  # type: ignore[misc]
        ]

    def _prepared(self, shapes: tuple[int, ...], traces: list[Trace]) -> tuple[Skeleton, Slots] | None:
        """The skeleton of such runs with all that depends on the events alone; None if that already is forbidden."""
        if shapes not in self._skeletons:
            skeleton = Skeleton(self.test, traces)
            slots = [0] * self.model.slots
            for name, slot in self.model.inputs.items():
                slots[slot] = skeleton.static(name)
            forbidden = self.model.stages[0](skeleton.algebra, slots) is not None
            stuck = skeleton.barrier_choices() is None
            self._skeletons[shapes] = None if forbidden or stuck else (skeleton, slots)
        return self._skeletons[shapes]

    def _coherences(self, skeleton: Skeleton) -> Iterator[int]:
        per_location = [
            _location_orders(tuple(writes), skeleton.algebra.size, self.model.partial_co)
            for writes in skeleton.writes.values()
            if len(writes) > 1
        ]
        for chosen in product(*per_location):
            co = 0
            for order in chosen:
                co |= order
            yield co

    def _traces(self) -> list[list[tuple[int, Trace]]]:
        """All runs of all threads, over the values that can get into memory; each with a number for its shape."""
        domain = self._first_domain()
        rounds = 2 + sum(len(thread) for thread in self.test.threads)
        for _ in range(rounds):
            found = [runner.traces(domain) for runner in self.runners]
            grown: dict[str, dict[Value, None]] = {
                location: dict.fromkeys(values) for location, values in domain.items()
            }
            for traces in found:
                for trace in traces:
                    for event in trace.events:
                        if event.kind == "W":
                            grown[event.location][event.value] = None
            following = {location: tuple(values) for location, values in grown.items()}
            if all(len(following[location]) == len(domain[location]) for location in domain):
                break
            domain = following
        shapes: dict[object, int] = {}
        return [[(shapes.setdefault(_shape(trace), len(shapes)), trace) for trace in traces] for traces in found]

    def _first_domain(self) -> Domain:
        """Initial values and, as a good guess, all literals that are stored or moved."""
        literals = dict.fromkeys(
            operand.value
            for thread in self.test.threads
            for instruction in thread
            for operand in (
                (instruction.source,) if isinstance(instruction, Store)
                else instruction.sources if isinstance(instruction, Alu) and instruction.operation is AluOperation.MOV
                else ()
            )
            if isinstance(operand, Immediate)
        )  # fmt: skip
        del literals
        locations = {self.test.memory_map.location_of(name) for name in self.test.memory_map.names}
        return {location: (self.test.initial_value(location),) for location in locations}


def _shape(trace: Trace) -> object:
    """All of a run but the values."""
    events = tuple((id(e.instruction), e.kind, e.variable, e.meeting, e.count) for e in trace.events)
    return events, trace.address, trace.data, trace.control, trace.rmw


def _fill(model: Model, slots: Slots, **chosen: int) -> None:
    for name, value in chosen.items():
        slot = model.inputs.get(name)
        if slot is not None:
            slots[slot] = value


def _reads_from(skeleton: Skeleton, events: list) -> Iterator[int]:  # type: ignore[type-arg]
    """All ways to give every read a write of its value."""
    a = skeleton.algebra
    choices = []
    for read in skeleton.reads:
        own = skeleton.rmw_pairs.get(read)
        location, value = events[read].location, events[read].value
        writes = [w for w in skeleton.writes[location] if w != own and events[w].value == value]
        if not writes:
            return
        choices.append([a.pair(write, read) for write in writes])
    for chosen in product(*choices):
        rf = 0
        for pair in chosen:
            rf |= pair
        yield rf


def _orders(model: Model, skeleton: Skeleton, slots: Slots) -> Iterator[Slots]:
    """The slots with every order chosen: each pair one way, without cycles."""
    a = skeleton.algebra
    orientations = []
    for _, pairs in model.orders:
        both = slots[pairs] & ~a.identity
        edges = [(one, other) for one, other in a.pairs(both | a.inverse(both)) if one < other]
        ways = []
        for flips in product((False, True), repeat=len(edges)):
            order = a.relation(
                (other, one) if flip else (one, other) for flip, (one, other) in zip(flips, edges, strict=True)
            )
            closed = a.closure(order)
            if not closed & a.identity:
                ways.append(order)
        orientations.append(ways)
    for chosen in product(*orientations):
        filled = list(slots)
        for (slot, _), order in zip(model.orders, chosen, strict=True):
            filled[slot] = order
        yield filled


@lru_cache(1 << 12)
def _location_orders(writes: tuple[int, ...], size: int, partial: bool) -> tuple[int, ...]:
    """All strict orders of the writes of a location in which the first, the initial one, comes first."""
    initial, *others = writes

    def pair(one: int, other: int) -> int:
        return 1 << (one * size + other)

    first = 0
    for write in others:
        first |= pair(initial, write)
    if not partial:
        orders = []
        for permutation in permutations(others):
            order = first
            for index, one in enumerate(permutation):
                for other in permutation[index + 1 :]:
                    order |= pair(one, other)
            orders.append(order)
        return tuple(orders)
    from gpudiy.models.algebra import algebra

    a = algebra(size)
    edges = [(one, other) for index, one in enumerate(others) for other in others[index + 1 :]]
    found = set()
    for ways in product((0, 1, 2), repeat=len(edges)):
        order = 0
        for way, (one, other) in zip(ways, edges, strict=True):
            order |= 0 if way == 0 else pair(one, other) if way == 1 else pair(other, one)
        if a.closure(order) == order:
            found.add(first | order)
    return tuple(sorted(found, key=lambda order: (order.bit_count(), order)))


def _finals(
    skeleton: Skeleton, events: list, co: int, memory: list[FinalVariable]
) -> Iterator[dict[Observable, Value]]:  # type: ignore[type-arg]
    """The values that the observed variables can have in the end: those of writes that nothing overwrote."""
    a = skeleton.algebra
    choices = []
    for term in memory:
        location = skeleton.test.memory_map.location_of(term.name)
        last = [write for write in skeleton.writes[location] if not a.successors(co, write)]
        choices.append([(write, events[write].value) for write in last])
    for chosen in product(*choices):
        yield {term: value for term, (_, value) in zip(memory, chosen, strict=True)}


def _conjuncts(expression: Expression | None) -> list[Expression]:
    if isinstance(expression, And):
        return [part for inner in expression.parts for part in _conjuncts(inner)]
    return [] if expression is None else [expression]


def _only_of(expression: Expression, number: int) -> bool:
    terms = observables(expression)
    return bool(terms) and all(isinstance(term, FinalRegister) and term.thread == number for term in terms)


def target_of(test: Test) -> Expression:
    """The states a verdict is about: those of the condition or, for forall, those that break it."""
    expression = test.condition.expression
    return Not(expression) if test.condition.quantifier is Quantifier.FORALL else expression


def reachable(test: Test, model: Model, unroll: int = 2) -> bool:
    return next(Search(test, model, unroll).executions(target_of(test)), None) is not None


__all__ = ["Compare", "Constant", "Execution", "Search", "reachable", "target_of"]
