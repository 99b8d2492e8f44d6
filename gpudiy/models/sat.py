"""Deciding by SAT: one formula for all executions of a set of runs of the same shape."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import product
from threading import Timer

from pysat.solvers import Solver

from gpudiy.litmus.condition import (
    And,
    Compare,
    Expression,
    FinalRegister,
    FinalVariable,
    Implies,
    Not,
    Observable,
    Or,
    Value,
    holds,
)
from gpudiy.litmus.memory_types import shown_memory
from gpudiy.models.circuit import FALSE, TRUE, Circuit
from gpudiy.models.search import Execution, OutOfTime, Prepared, Search
from gpudiy.models.symbolic import SymbolicModel, Symbols
from gpudiy.models.trace import Trace

SOLVER = "glucose4"  # it can be interrupted


def sat_executions(
    search: Search, target: Expression | None = None, without: frozenset[str] = frozenset()
) -> Iterator[Execution]:
    """The same outcomes as the search finds, one execution each, by a solver.

    The executions break no check but, perhaps, those named in `without`.
    """
    groups: list[dict[int, list[Trace]]] = []
    for traces in search.choices(target):
        grouped: dict[int, list[Trace]] = defaultdict(list)
        for shape, trace in traces:
            grouped[shape].append(trace)
        groups.append(grouped)
    for shapes in product(*groups):
        runs = [grouped[shape] for grouped, shape in zip(groups, shapes, strict=True)]
        search.check_time()
        prepared = search.prepare(shapes, [traces[0] for traces in runs])
        if prepared is not None:
            yield from _Formula(search, prepared, runs).executions(target, without)


class _Formula:
    """All executions of one skeleton: which run each thread takes, rf, orders, co and final values as literals."""

    def __init__(self, search: Search, prepared: Prepared, runs: list[list[Trace]]) -> None:
        skeleton = prepared.skeleton
        self.search = search
        self.prepared = prepared
        self.skeleton = skeleton
        self.runs = runs
        self.circuit = Circuit()
        self.symbolic = SymbolicModel(search.model, skeleton.algebra, self.circuit)
        self.takes = [self._one_of(len(traces)) for traces in runs]
        self.rf = self._reads_from()
        self.co = self._coherence()
        self.finals = self._final_writes()
        model, symbolic = search.model, self.symbolic
        for name, slot in model.inputs.items():
            symbolic.slots[slot] = skeleton.static(name)
        for name, value in (("rf", self.rf), ("co", self.co), ("syncbar", self._release_barriers())):
            if name in model.inputs:
                symbolic.slots[model.inputs[name]] = value
        for order, pairs in model.orders:
            symbolic.slots[order] = self._orient(prepared.slots[pairs])
        symbolic.run()

    def executions(self, target: Expression | None, without: frozenset[str]) -> Iterator[Execution]:
        wanted = TRUE
        for expression in (target, self.search.filter):
            if expression is not None:
                wanted = self.circuit.both(wanted, self.expression(expression))
        self.circuit.add((wanted,))
        shown = {term: self._final_values(term) for term in self.search.observed}
        with Solver(SOLVER, bootstrap_with=self.circuit.clauses) as solver:
            guards = [guard for name, guard in self.symbolic.guards.items() if name not in without]
            while self._solve(solver, guards):
                execution, literals = self._execution(set(solver.get_model()), shown)
                yield execution
                solver.add_clause([-literal for literal in literals])

    def _solve(self, solver: Solver, guards: list[int]) -> bool:
        """Whether there is another execution; gives up when the time is up."""
        self.search.check_time()
        if self.search.deadline is None:
            return bool(solver.solve(assumptions=guards))
        timer = Timer(max(0.01, self.search.deadline - time.monotonic()), solver.interrupt)
        timer.start()
        try:
            answer = solver.solve_limited(assumptions=guards, expect_interrupt=True)
        finally:
            timer.cancel()
            solver.clear_interrupt()
        if answer is None:
            raise OutOfTime
        return bool(answer)

    def _execution(self, true: set[int], shown: dict[Observable, dict[Value, int]]) -> tuple[Execution, list[int]]:
        outcome: list[Value] = []
        literals = []
        for term in self.search.observed:
            value, literal = next((value, literal) for value, literal in shown[term].items() if literal in true)
            outcome.append(value)
            literals.append(literal)
        rf, co = (
            sum(1 << bit for bit, literal in symbols.items() if literal in true) for symbols in (self.rf, self.co)
        )
        slots = tuple(
            value if isinstance(value, int) else sum(1 << bit for bit, literal in value.items() if literal in true)
            for value in self.symbolic.slots
        )
        values = [self._value_of(event, true) for event in range(self.skeleton.algebra.size)]
        return Execution(self.skeleton, self.skeleton.with_values(values), rf, co, slots, tuple(outcome)), literals

    def _value_of(self, event: int, true: set[int]) -> Value:
        known = self.skeleton.events[event]
        if known.initial:
            return known.value
        place = event - self.skeleton.starts[known.thread]
        runs = zip(self.runs[known.thread], self.takes[known.thread], strict=True)
        return next(trace.events[place].value for trace, take in runs if take in true)

    def expression(self, expression: Expression) -> int:
        circuit = self.circuit
        match expression:
            case Compare():
                return self._compare(expression)
            case Not(inner=inner):
                return -self.expression(inner)
            case And(parts=parts):
                return circuit.all(map(self.expression, parts))
            case Or(parts=parts):
                return circuit.any(map(self.expression, parts))
            case Implies(premise=premise, conclusion=conclusion):
                return circuit.either(-self.expression(premise), self.expression(conclusion))

    def _compare(self, comparison: Compare) -> int:
        terms = [t for t in (comparison.left, comparison.right) if isinstance(t, (FinalRegister, FinalVariable))]
        terms = list(dict.fromkeys(terms))
        ways = []
        for chosen in product(*(self._final_values(term).items() for term in terms)):
            state = {term: value for term, (value, _) in zip(terms, chosen, strict=True)}
            if holds(comparison, state.__getitem__):
                ways.append(self.circuit.all(literal for _, literal in chosen))
        return self.circuit.any(ways)

    def _final_values(self, term: Observable) -> dict[Value, int]:
        """The values a term can have in the end, each with the literal that says so."""
        ways: dict[Value, list[int]] = defaultdict(list)
        if isinstance(term, FinalRegister):
            for trace, take in zip(self.runs[term.thread], self.takes[term.thread], strict=True):
                ways[trace.finals[term.name]].append(take)
        else:
            for write, final in self.finals[self.search.test.memory_map.location_of(term.name)].items():
                location = self.skeleton.events[write].location
                for value, literal in self._event_values(write).items():
                    ways[shown_memory(self.search.test, location, value)].append(self.circuit.both(final, literal))
        return {value: self.circuit.any(literals) for value, literals in ways.items()}

    def _one_of(self, count: int) -> list[int]:
        if count == 1:
            return [TRUE]
        literals = [self.circuit.variable() for _ in range(count)]
        self.circuit.exactly_one(literals)
        return literals

    def _event_values(self, event: int) -> dict[Value, int]:
        """The values a read or write can have, by the runs that give it them."""
        skeleton = self.skeleton
        known = skeleton.events[event]
        if known.initial:
            return {known.value: TRUE}
        place = event - skeleton.starts[known.thread]
        ways: dict[Value, list[int]] = defaultdict(list)
        for trace, take in zip(self.runs[known.thread], self.takes[known.thread], strict=True):
            ways[trace.events[place].value].append(take)
        return {value: self.circuit.any(literals) for value, literals in ways.items()}

    def _reads_from(self) -> Symbols:
        skeleton, size = self.skeleton, self.skeleton.algebra.size
        rf: Symbols = {}
        for read in skeleton.reads:
            own = skeleton.rmw_pairs.get(read)
            writes = [write for write in skeleton.writes[skeleton.events[read].location] if write != own]
            values = self._event_values(read)
            sources = []
            for write in writes:
                source = self.circuit.variable()
                sources.append(source)
                rf[write * size + read] = source
                written = self._event_values(write)
                for value, literal in values.items():
                    self.circuit.add((-source, -literal, written.get(value, FALSE)))
            self.circuit.exactly_one(sources)
        return rf

    def _coherence(self) -> Symbols:
        size = self.skeleton.algebra.size
        partial = self.search.model.partial_co
        co: Symbols = {}
        for initial, *others in self.skeleton.writes.values():
            for write in others:
                co[initial * size + write] = TRUE
            for index, one in enumerate(others):
                for other in others[index + 1 :]:
                    literal = self.circuit.variable()
                    back = self.circuit.variable() if partial else -literal
                    co[one * size + other], co[other * size + one] = literal, back
                    self.circuit.add((-literal, -back))
            for one, other, third in product(others, repeat=3):
                if len({one, other, third}) == 3:
                    self.circuit.add((-co[one * size + other], -co[other * size + third], co[one * size + third]))
        return co

    def _final_writes(self) -> dict[str, dict[int, int]]:
        """For every observed location, which write is the last: one that nothing overwrites."""
        size = self.skeleton.algebra.size
        finals: dict[str, dict[int, int]] = {}
        locate = self.search.test.memory_map.location_of
        for location in {locate(term.name) for term in self.search.observed if isinstance(term, FinalVariable)}:
            writes = self.skeleton.writes[location]
            literals = self._one_of(len(writes))
            finals[location] = dict(zip(writes, literals, strict=True))
            for write, literal in finals[location].items():
                for other in writes:
                    self.circuit.add((-literal, -self.co.get(write * size + other, FALSE)))
        return finals

    def _orient(self, pairs: int) -> Symbols:
        a = self.skeleton.algebra
        both = pairs & ~a.identity
        order: Symbols = {}
        for one, other in a.pairs(both | a.inverse(both)):
            if one < other:
                literal = self.circuit.variable()
                order[one * a.size + other], order[other * a.size + one] = literal, -literal
        self.symbolic.require_acyclic(order)
        return order

    def _release_barriers(self) -> Symbols:
        """Each barrier that waits is released in one of its ways."""
        ways: dict[int, list[int]] = defaultdict(list)
        for releases in self.prepared.releases:
            for relation, literal in zip(releases, self._one_of(len(releases)), strict=True):
                for bit in self.skeleton.algebra.members(relation):
                    ways[bit].append(literal)
        return {bit: self.circuit.any(literals) for bit, literals in ways.items()}
