"""What is asked of the final states of a test: all of them, or those of a target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from gpudiy.litmus.condition import (
    And,
    Expression,
    FinalRegister,
    FinalVariable,
    Observable,
    Value,
    holds,
    observables,
)
from gpudiy.litmus.memory_types import shown_memory, with_shown_constants
from gpudiy.litmus.outcome import FinalState, Outcome
from gpudiy.litmus.test import Test
from gpudiy.models.combination import Combination, Placed


class StateQuestion:
    """Which final states are looked for.

    Without a target it is about all outcomes; with one it is enough to find one execution, and only the conjuncts of
    target and filter matter: those about registers restrict what reads return, those about memory which writes are the
    last.
    """

    def __init__(self, test: Test, target: Expression | None, extra: Sequence[FinalRegister] = ()) -> None:
        self.test = test
        self.target = target
        self.observed = test.observed
        self.types = {(d.thread, d.name): d.type for d in test.registers}
        filter = None if test.filter is None else with_shown_constants(test, test.filter)
        self.register_parts: list[tuple[Expression, list[FinalRegister]]] = []
        self.memory_parts: list[Expression] = []
        looked_at: dict[Observable, None] = {} if target is not None else dict.fromkeys((*self.observed, *extra))
        for part in [*conjuncts(target), *conjuncts(filter)]:
            terms = observables(part)
            registers = [term for term in terms if isinstance(term, FinalRegister)]
            if len(registers) == len(terms):
                self.register_parts.append((part, registers))
            else:
                self.memory_parts.append(part)
                looked_at.update(dict.fromkeys(terms))
        self.registers = [term for term in looked_at if isinstance(term, FinalRegister)]
        self.locations: dict[str, list[FinalVariable]] = {}  # that matter, with the variables that show them
        for term in looked_at:
            if isinstance(term, FinalVariable):
                self.locations.setdefault(test.memory_map.location_of(term.name), []).append(term)

    def narrow(self, combination: Combination) -> bool:
        """Require of the values of reads what is asked of registers; whether that is possible at all."""
        for part, terms in self.register_parts:
            combination.require_state(part, {term: self.final(combination, term) for term in terms})
        return combination.narrow()

    def final(self, combination: Combination, term: FinalRegister) -> Placed:
        """What a register shows in the end."""
        path, start = combination.paths[term.thread], combination.starts[term.thread]
        return Placed(path.finals[term.name], start, self.types[term.thread, term.name])

    def states(
        self, registers: FinalState, writes: dict[str, dict[int, Value]]
    ) -> Iterator[tuple[FinalState, list[int]]]:
        """Final states of the locations that matter, each with the last writes; `writes` has the values written."""
        choices = [self._show_writes(location, writes[location]) for location in self.locations]
        for chosen in product(*choices):
            state = dict(registers)
            for _, shown in chosen:
                state |= shown
            if not self.memory_parts or all(holds(part, state.__getitem__) for part in self.memory_parts):
                yield state, [write for write, _ in chosen]

    def _show_writes(self, location: str, writes: dict[int, Value]) -> list[tuple[int, FinalState]]:
        """What the variables of a location show after each write to it."""
        terms: list[Observable] = [*self.locations[location]]
        return [(write, dict.fromkeys(terms, shown_memory(self.test, location, v))) for write, v in writes.items()]

    def outcome(self, state: FinalState) -> Outcome:
        return tuple(map(state.__getitem__, self.observed))


def conjuncts(expression: Expression | None) -> list[Expression]:
    """The parts that must all hold; none where nothing is asked."""
    if isinstance(expression, And):
        return [part for inner in expression.parts for part in conjuncts(inner)]
    return [] if expression is None else [expression]
