"""The operations of a model on relations whose pairs are literals of a circuit.

A value that is still constant stays a machine integer; one that is not is a dict from the bit of a pair (for a set, of
an event) to its literal, without the pairs that are certainly absent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from gpudiy.models.algebra import Algebra
from gpudiy.models.circuit import FALSE, TRUE, Circuit
from gpudiy.models.model import CODE, CompiledCheck, FixedPoint, Model, Operation

Symbols = dict[int, int]
SymbolicValue = int | Symbols

# the same code that models are compiled to, as functions of their operands
CONSTANT: dict[str, Callable[[Algebra, list[int]], int]] = {
    kind: eval(f"lambda a, v: {code.format('v[0]', 'v[1]')}") for kind, code in CODE.items()
}


class SymbolicModel:
    """Runs the steps of a model over symbolic values and turns its checks into clauses."""

    def __init__(self, model: Model, algebra: Algebra, circuit: Circuit) -> None:
        self.model = model
        self.algebra = algebra
        self.circuit = circuit
        self.slots: list[SymbolicValue] = [0] * model.slots
        self.guards: dict[str, int] = {}  # a check holds where its guard is true

    def run(self) -> None:
        for step in self.model.steps:
            if isinstance(step, Operation):
                self._operate(step)
            elif isinstance(step, FixedPoint):
                self._fixed_point(step)
            elif not step.flagged:
                self._require(step)

    def _operate(self, operation: Operation) -> None:
        operands = [self.slots[slot] for slot in operation.operands]
        self.slots[operation.result] = self.apply(operation.kind, operands)

    def _fixed_point(self, step: FixedPoint) -> None:
        """Every round but the last adds a pair, so there are at most as many rounds as there can be pairs."""
        for variable in step.variables:
            self.slots[variable] = 0
        rounds = 0
        while rounds <= sum(len(self.symbols(self.slots[variable])) for variable in step.variables):
            rounds += 1
            for operation in step.body:
                self._operate(operation)
            before = [self.slots[variable] for variable in step.variables]
            after = [self.slots[result] for result in step.results]
            for variable, value in zip(step.variables, after, strict=True):
                self.slots[variable] = value
            if before == after:
                return

    def apply(self, kind: str, operands: list[SymbolicValue]) -> SymbolicValue:
        if all(isinstance(operand, int) for operand in operands):
            return CONSTANT[kind](self.algebra, operands)  # type: ignore[arg-type]
        method = getattr(self, "_" + kind.replace(" ", "_"))
        result: Symbols = method(*operands)
        if all(literal == TRUE for literal in result.values()):
            return sum(1 << bit for bit in result)
        return result

    def symbols(self, value: SymbolicValue) -> Symbols:
        if isinstance(value, int):
            return dict.fromkeys(self.algebra.members(value), TRUE)
        return value

    def _union(self, one: SymbolicValue, other: SymbolicValue) -> Symbols:
        result = dict(self.symbols(one))
        for bit, literal in self.symbols(other).items():
            result[bit] = self.circuit.either(result.get(bit, FALSE), literal)
        return result

    def _intersection(self, one: SymbolicValue, other: SymbolicValue) -> Symbols:
        if isinstance(one, int):
            one, other = other, one
        if isinstance(other, int):
            return {bit: literal for bit, literal in self.symbols(one).items() if other >> bit & 1}
        left = self.symbols(one)
        return self._present({bit: self.circuit.both(left[bit], other[bit]) for bit in left.keys() & other.keys()})

    def _difference(self, one: SymbolicValue, other: SymbolicValue) -> Symbols:
        without = self.symbols(other)
        left = self.symbols(one)
        return self._present(
            {bit: self.circuit.both(literal, -without.get(bit, FALSE)) for bit, literal in left.items()}
        )

    def _set_complement(self, one: SymbolicValue) -> Symbols:
        return self._difference(self.algebra.row, one)

    def _complement(self, one: SymbolicValue) -> Symbols:
        return self._difference(self.algebra.everything, one)

    def _product(self, one: SymbolicValue, other: SymbolicValue) -> Symbols:
        size = self.algebra.size
        return {
            source * size + target: self.circuit.both(left, right)
            for source, left in self.symbols(one).items()
            for target, right in self.symbols(other).items()
        }

    def _identity(self, one: SymbolicValue) -> Symbols:
        return {event * (self.algebra.size + 1): literal for event, literal in self.symbols(one).items()}

    def _composition(self, one: SymbolicValue, other: SymbolicValue) -> Symbols:
        rows = self._rows(other)
        ways: dict[int, list[int]] = defaultdict(list)
        size = self.algebra.size
        for bit, left in self.symbols(one).items():
            source, middle = divmod(bit, size)
            for target, right in rows.get(middle, ()):
                ways[source * size + target].append(self.circuit.both(left, right))
        return self._present({bit: self.circuit.any(literals) for bit, literals in ways.items()})

    def _closure(self, one: SymbolicValue) -> Symbols:
        """Warshall's algorithm on literals."""
        size = self.algebra.size
        result = dict(self.symbols(one))
        for pivot in range(size):
            into = [(bit // size, literal) for bit, literal in result.items() if bit % size == pivot]
            out = [(bit % size, literal) for bit, literal in result.items() if bit // size == pivot]
            for source, left in into:
                for target, right in out:
                    bit = source * size + target
                    result[bit] = self.circuit.either(result.get(bit, FALSE), self.circuit.both(left, right))
        return self._present(result)

    def _reflexive(self, one: SymbolicValue) -> Symbols:
        return self._union(one, self.algebra.identity)

    def _inverse(self, one: SymbolicValue) -> Symbols:
        size = self.algebra.size
        return {bit % size * size + bit // size: literal for bit, literal in self.symbols(one).items()}

    def _domain(self, one: SymbolicValue) -> Symbols:
        return self._project(one, lambda bit: bit // self.algebra.size)

    def _range(self, one: SymbolicValue) -> Symbols:
        return self._project(one, lambda bit: bit % self.algebra.size)

    def _project(self, one: SymbolicValue, event_of: Callable[[int], int]) -> Symbols:
        ways: dict[int, list[int]] = defaultdict(list)
        for bit, literal in self.symbols(one).items():
            ways[event_of(bit)].append(literal)
        return {event: self.circuit.any(literals) for event, literals in ways.items()}

    def _rows(self, value: SymbolicValue) -> dict[int, list[tuple[int, int]]]:
        rows: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for bit, literal in self.symbols(value).items():
            source, target = divmod(bit, self.algebra.size)
            rows[source].append((target, literal))
        return rows

    @staticmethod
    def _present(symbols: Symbols) -> Symbols:
        return {bit: literal for bit, literal in symbols.items() if literal != FALSE}

    def _require(self, check: CompiledCheck) -> None:
        guard = self.guards.setdefault(check.name, self.circuit.variable())
        symbols = self.symbols(self.slots[check.slot])
        if check.negated:
            self.circuit.add((-guard, -self._holds(check, symbols)))
        elif check.test == "acyclic":
            self.require_acyclic(symbols, guard)
        else:
            size = self.algebra.size + 1
            for bit, literal in symbols.items():
                if check.test == "empty" or bit % size == 0:
                    self.circuit.add((-guard, -literal))

    def _holds(self, check: CompiledCheck, symbols: Symbols) -> int:
        if check.test == "acyclic":
            symbols = self._closure(symbols)
        if check.test != "empty":
            symbols = {bit: literal for bit, literal in symbols.items() if bit % (self.algebra.size + 1) == 0}
        return -self.circuit.any(symbols.values())

    def require_acyclic(self, symbols: Symbols, guard: int = TRUE) -> None:
        """Pairs that can be part of a cycle must follow some total order of their events."""
        size = self.algebra.size
        for events in self._components(symbols):
            before = self._total_order(events)
            for one in events:
                for other in events:
                    literal = symbols.get(one * size + other)
                    if literal is not None:
                        self.circuit.add((-guard, -literal, before.get((one, other), FALSE)))

    def _components(self, symbols: Symbols) -> list[list[int]]:
        """The sets of events that may lie on a common cycle."""
        a = self.algebra
        reach = a.closure(sum(1 << bit for bit in symbols))
        mutual = reach & a.inverse(reach)
        return [list(a.members(group)) for group in {a.successors(mutual, event) for event in range(a.size)} if group]

    def _total_order(self, events: list[int]) -> dict[tuple[int, int], int]:
        before: dict[tuple[int, int], int] = {}
        for index, one in enumerate(events):
            for other in events[index + 1 :]:
                before[one, other] = self.circuit.variable()
                before[other, one] = -before[one, other]
        for one, other in before:
            for third in events:
                if third not in (one, other):
                    self.circuit.add((-before[one, other], -before[other, third], before[one, third]))
        return before
