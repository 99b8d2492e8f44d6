"""Deciding by SAT: one formula for all executions of a combination of paths."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import permutations, product
from math import prod
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
from gpudiy.litmus.outcome import Outcome
from gpudiy.models.circuit import FALSE, TRUE, Circuit
from gpudiy.models.combination import Placed, Prepared, Requirement, compute_values
from gpudiy.models.execution import Chosen
from gpudiy.models.model import Model
from gpudiy.models.possible import Domain
from gpudiy.models.problems import OutOfTime, Undecidable
from gpudiy.models.question import StateQuestion
from gpudiy.models.search import Found, relevant_reads
from gpudiy.models.symbolic import SymbolicModel, Symbols

SOLVER = "glucose4"  # it can be interrupted
LARGEST = 20_000  # rows of a table of values; beyond that a formula is no help

Literals = dict[Value, int]  # the values something can have, each with the literal that says it has it


class TooLarge(Exception):
    """Values would need too large a formula."""


class Formula:
    """All executions of one combination of paths: rf, values, orders, co and final values as literals."""

    def __init__(
        self,
        model: Model,
        prepared: Prepared,
        question: StateQuestion,
        domain: Callable[[], Domain],
        deadline: float | None = None,
        readers: Iterable[tuple[int, int]] = (),
    ) -> None:
        self.model = model
        self.prepared = prepared
        self.question = question
        self.domain = domain
        self.deadline = deadline
        self.skeleton = prepared.skeleton
        self.combination = prepared.combination
        self.circuit = Circuit()
        self.symbolic = SymbolicModel(model, prepared.algebra, self.circuit, model.plan.loose)
        self.finals = {term: question.final(self.combination, term) for term in question.registers}
        self.looping = self._looping()
        self.relevant = relevant_reads(prepared, question, self.finals) | self.looping
        self.values: dict[int, Literals] = {}
        self.rf = self._reads_from()
        self._put_in_order(readers)
        self._tie_values()
        self.co = self._coherence()
        self.last = self._final_writes()
        symbolic = self.symbolic
        for slot in model.inputs.values():
            symbolic.slots[slot] = prepared.slots[slot]
        for name, value in (("rf", self.rf), ("co", self.co), ("syncbar", self._encode_releases())):
            if name in model.inputs:
                symbolic.slots[model.inputs[name]] = value
        for order, pairs in prepared.orders:
            symbolic.slots[order] = self._orient_pairs(pairs)
        self.chosen = [model.inputs[name] for name in ("rf", "co", "syncbar") if name in model.inputs]
        self.chosen += [order for order, _ in prepared.orders]
        self.relations = {slot: symbolic.slots[slot] for slot in self.chosen}
        symbolic.run()
        for requirement in self.combination.requirements:
            if requirement.expression is None:
                self._require(requirement)
        for part in [*(part for part, _ in question.register_parts), *question.memory_parts]:
            self.circuit.add((self._expression(part),))

    def executions(self, seen: set[Outcome], without: frozenset[str] = frozenset()) -> Iterator[Found]:
        """One execution for each outcome that was not seen; with a target only one.

        They break no check but, perhaps, those named in `without`.
        """
        question = self.question
        asked: list[Observable] = [
            *question.registers,
            *(term for terms in question.locations.values() for term in terms),
        ]
        shown = {term: self._values(term) for term in asked}
        guards = [guard for name, guard in self.symbolic.guards.items() if name not in without]
        with Solver(SOLVER, bootstrap_with=self.circuit.clauses) as solver:
            for outcome in seen if question.target is None else ():
                values = zip(question.observed, outcome, strict=True)
                solver.add_clause([-shown[term].get(value, FALSE) for term, value in values])
            while self._is_solved(solver, guards):
                true = set(solver.get_model())
                literals = {term: next(item for item in shown[term].items() if item[1] in true) for term in asked}
                yield {term: value for term, (value, _) in literals.items()}, self._list_choices(true)
                if question.target is not None:
                    return
                solver.add_clause([-literals[term][1] for term in question.observed])

    def _is_solved(self, solver: Solver, guards: list[int]) -> bool:
        """Whether there is another execution; gives up when the time is up."""
        if self.deadline is None:
            return bool(solver.solve(assumptions=guards))
        left = self.deadline - time.monotonic()
        if left < 0:
            raise OutOfTime
        timer = Timer(left, solver.interrupt)
        timer.start()
        try:
            answer = solver.solve_limited(assumptions=guards, expect_interrupt=True)
        finally:
            timer.cancel()
            solver.clear_interrupt()
        if answer is None:
            raise OutOfTime
        return bool(answer)

    def _list_choices(self, true: set[int]) -> Chosen:
        def relation(value: int | Symbols) -> int:
            return value if isinstance(value, int) else sum(1 << bit for bit, each in value.items() if each in true)

        values = list(self.combination.values)
        for event, literals in self.values.items():
            values[event] = next(value for value, literal in literals.items() if literal in true)
        rf = relation(self.rf)
        sources = {read: write for write, read in self.prepared.algebra.pairs(rf)}
        compute_values(self.combination, sources, values)
        relations = {slot: relation(value) for slot, value in self.relations.items()}
        return Chosen(tuple(0 if value is None else value for value in values), relations, rf, relation(self.co))

    # values

    def _looping(self) -> set[int]:
        """The reads whose value may depend on itself."""
        terms, sources = self.combination.terms, self.combination.sources
        needs = {
            read: {other for write in writes if write in terms for other in terms[write].reads}
            for read, writes in sources.items()
        }
        found = set()
        for start in needs:
            reached: set[int] = set()
            waiting = list(needs[start])
            while waiting:
                read = waiting.pop()
                if read not in reached:
                    reached.add(read)
                    waiting += needs[read]
            if start in reached:
                found.add(start)
        return found

    def _literals(self, event: int) -> Literals:
        """The values a read or write can have."""
        if event in self.values:
            return self.values[event]
        value = self.combination.values[event]
        if value is not None:
            return {value: TRUE}
        placed = self.combination.terms.get(event)
        if event in self.looping:
            location = self.skeleton.events[event].location
            possible = dict.fromkeys(self.domain()[location])
        elif placed is None:
            possible = {value: None for write in self.combination.sources[event] for value in self._literals(write)}
        else:
            possible = {value: None for _, value in self._rows(placed)}
        literals = self._one_of(len(possible))
        self.values[event] = dict(zip(possible, literals, strict=True))
        return self.values[event]

    def _rows(self, placed: Placed) -> Iterator[tuple[list[int], Value]]:
        """The table of a term: literals of the values of its reads, and its value; without what has no meaning."""
        reads = placed.reads
        choices = [list(self._literals(read).items()) for read in reads]
        if prod(map(len, choices)) > LARGEST:
            raise TooLarge
        values = list(self.combination.values)
        for chosen in product(*choices):
            for read, (value, _) in zip(reads, chosen, strict=True):
                values[read] = value
            try:
                yield [literal for _, literal in chosen], placed.evaluate(values)
            except Undecidable as problem:
                self.combination.problem = str(problem)
                self.circuit.add(-literal for _, literal in chosen)

    def _tie_values(self) -> None:
        """What a read returns is what was written; what is written is computed from what was read."""
        size = self.prepared.algebra.size
        written: set[int] = set()
        for read in self.relevant:
            values = self._literals(read)
            for write in self.combination.sources[read]:
                source = self.rf[write * size + read]
                for value, literal in self._literals(write).items():
                    self.circuit.add((-source, -literal, values.get(value, FALSE)))
                written.add(write)
        for location in self.question.locations:
            written.update(self.combination.writes[location])
        for write in written:
            placed = self.combination.terms.get(write)
            if placed is not None:
                values = self._literals(write)
                for literals, value in list(self._rows(placed)):
                    self.circuit.add((*(-literal for literal in literals), values.get(value, FALSE)))

    def _require(self, requirement: Requirement) -> None:
        """Exclude the values of reads that break a requirement."""
        choices = [list(self._literals(read).items()) for read in requirement.reads]
        if prod(map(len, choices)) > LARGEST:
            raise TooLarge
        values = list(self.combination.values)
        for chosen in product(*choices):
            for read, (value, _) in zip(requirement.reads, chosen, strict=True):
                values[read] = value
            if not self.combination.satisfies(requirement, values):
                self.circuit.add(-literal for _, literal in chosen)

    def _expression(self, expression: Expression) -> int:
        circuit = self.circuit
        match expression:
            case Compare():
                return self._encode_comparison(expression)
            case Not(inner=inner):
                return -self._expression(inner)
            case And(parts=parts):
                return circuit.all(map(self._expression, parts))
            case Or(parts=parts):
                return circuit.any(map(self._expression, parts))
            case Implies(premise=premise, conclusion=conclusion):
                return circuit.either(-self._expression(premise), self._expression(conclusion))

    def _encode_comparison(self, comparison: Compare) -> int:
        terms = [t for t in (comparison.left, comparison.right) if isinstance(t, (FinalRegister, FinalVariable))]
        terms = list(dict.fromkeys(terms))
        ways = []
        for chosen in product(*(self._values(term).items() for term in terms)):
            state = {term: value for term, (value, _) in zip(terms, chosen, strict=True)}
            if holds(comparison, state.__getitem__):
                ways.append(self.circuit.all(literal for _, literal in chosen))
        return self.circuit.any(ways)

    def _values(self, term: Observable) -> Literals:
        """The values a term can have in the end, each with the literal that says so."""
        ways: dict[Value, list[int]] = defaultdict(list)
        if isinstance(term, FinalRegister):
            for literals, value in self._rows(self.question.final(self.combination, term)):
                ways[value].append(self.circuit.all(literals))
        else:
            location = self.question.test.memory_map.location_of(term.name)
            for write, final in self.last[location].items():
                for value, literal in self._literals(write).items():
                    shown = shown_memory(self.question.test, location, value)
                    ways[shown].append(self.circuit.both(final, literal))
        return {value: self.circuit.any(literals) for value, literals in ways.items()}

    def _one_of(self, count: int) -> list[int]:
        if count == 1:
            return [TRUE]
        literals = [self.circuit.variable() for _ in range(count)]
        self.circuit.exactly_one(literals)
        return literals

    # relations

    def _reads_from(self) -> Symbols:
        size = self.prepared.algebra.size
        rf: Symbols = {}
        for read, writes in self.combination.sources.items():
            for write, literal in zip(writes, self._one_of(len(writes)), strict=True):
                rf[write * size + read] = literal
        return rf

    def _put_in_order(self, readers: Iterable[tuple[int, int]]) -> None:
        """Of interchangeable threads that only read, the first does not begin with a later write than the second."""
        size, starts = self.prepared.algebra.size, self.combination.starts
        for one, other in readers:
            for position in self.combination.paths[one].reads[:1]:
                first, second = starts[one] + position, starts[other] + position
                for source, later in product(self.combination.sources[second], self.combination.sources[first]):
                    if later > source:
                        self.circuit.add((-self.rf[later * size + first], -self.rf[source * size + second]))

    def _coherence(self) -> Symbols:
        size = self.prepared.algebra.size
        coherence = self.model.plan.coherence
        certain = self.prepared.co
        ordered = set(self.prepared.co_pairs) if not coherence.every else set()
        co: Symbols = {}
        for initial, *others in self.combination.writes.values():
            for write in others:
                co[initial * size + write] = TRUE
            for index, other in enumerate(others):
                for one in others[:index]:
                    there, back = one * size + other, other * size + one
                    if certain >> there & 1 or certain >> back & 1:
                        co[there], co[back] = (TRUE, FALSE) if certain >> there & 1 else (FALSE, TRUE)
                        continue
                    literal = self.circuit.variable()
                    co[there] = literal
                    co[back] = -literal if (one, other) in ordered else self.circuit.variable()
                    self.circuit.add((-literal, -co[back]))
            for one, other, third in permutations(others, 3):
                if not coherence.total or one < min(other, third):  # in a total order, the rest says the same again
                    self.circuit.add((-co[one * size + other], -co[other * size + third], co[one * size + third]))
        return {bit: literal for bit, literal in co.items() if literal != FALSE}

    def _final_writes(self) -> dict[str, dict[int, int]]:
        """For every location that matters, which write is the last: one that nothing overwrites."""
        size = self.prepared.algebra.size
        finals: dict[str, dict[int, int]] = {}
        for location in self.question.locations:
            writes = self.combination.writes[location]
            finals[location] = dict(zip(writes, self._one_of(len(writes)), strict=True))
            for write, literal in finals[location].items():
                for other in writes:
                    self.circuit.add((-literal, -self.co.get(write * size + other, FALSE)))
        return finals

    def _orient_pairs(self, pairs: list[tuple[int, int]]) -> Symbols:
        size = self.prepared.algebra.size
        order: Symbols = {}
        for one, other in pairs:
            literal = self.circuit.variable()
            order[one * size + other], order[other * size + one] = literal, -literal
        self.symbolic.require_acyclic(order)
        return order

    def _encode_releases(self) -> Symbols:
        """Each barrier that waits is released in one of its ways."""
        ways: dict[int, list[int]] = defaultdict(list)
        for releases in self.prepared.releases:
            for relation, literal in zip(releases, self._one_of(len(releases)), strict=True):
                for bit in self.prepared.algebra.members(relation):
                    ways[bit].append(literal)
        released = {bit: self.circuit.any(literals) for bit, literals in ways.items()}
        self._require_end(released)
        return released

    def _require_end(self, released: Symbols) -> None:
        """No barrier waits, in the end, for itself; see `EventSkeleton.can_end`."""
        a = self.prepared.algebra
        needs: dict[int, list[int]] = defaultdict(list)
        for first, later in a.pairs(self.skeleton.waiting_order):
            needs[first * a.size + later].append(TRUE)
            for other in range(a.size):
                literal = released.get(later * a.size + other)
                if literal is not None:
                    needs[first * a.size + other].append(literal)
        self.symbolic.require_acyclic({bit: self.circuit.any(literals) for bit, literals in needs.items()})
