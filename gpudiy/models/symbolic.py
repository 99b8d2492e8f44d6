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

LOOSE = ("union", "intersection", "composition", "closure")
# the same code that models are compiled to, as functions of their operands
CONSTANT: dict[str, Callable[[Algebra, list[int]], int]] = {
    kind: eval(f"lambda a, v: {code.format('v[0]', 'v[1]')}") for kind, code in CODE.items()
}


class SymbolicModel:
    """Runs the steps of a model over symbolic values and turns its checks into clauses.

    The slots in `loose` matter only in that checks fail with too many pairs. Their literals need not be true only where
    the pair is there: it is enough that they are true wherever it is. That takes far fewer clauses.
    """

    def __init__(self, model: Model, algebra: Algebra, circuit: Circuit, loose: frozenset[int] = frozenset()) -> None:
        self.model = model
        self.algebra = algebra
        self.circuit = circuit
        self.loose = loose
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
        self.slots[operation.result] = self.apply(operation.kind, operands, operation.result in self.loose)

    def _fixed_point(self, step: FixedPoint) -> None:
        """Every round but the last adds a pair, so there are at most as many rounds as there can be pairs."""
        if self.loose.issuperset(step.variables):
            self._loose_fixed_point(step)
            return
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

    def _loose_fixed_point(self, step: FixedPoint) -> None:
        """Any value that contains what the body makes of it contains the least one."""
        possible = self._largest(step)
        for variable, pairs in zip(step.variables, possible, strict=True):
            self.slots[variable] = {bit: self.circuit.variable() for bit in self.algebra.members(pairs)}
        for operation in step.body:
            self._operate(operation)
        for variable, result in zip(step.variables, step.results, strict=True):
            into = self.symbols(self.slots[variable])
            for bit, literal in self.symbols(self.slots[result]).items():
                self.circuit.add((-literal, into[bit]))

    def _largest(self, step: FixedPoint) -> list[int]:
        """The pairs that the variables can have at the most."""
        inside = set(step.variables) | {operation.result for operation in step.body}
        slots = {
            operand: self._support(self.slots[operand])
            for operation in step.body
            for operand in operation.operands
            if operand not in inside
        }
        slots |= dict.fromkeys(step.variables, 0)
        while True:
            for operation in step.body:
                slots[operation.result] = CONSTANT[operation.kind](
                    self.algebra, [slots[operand] for operand in operation.operands]
                )
            now = [slots.get(result, self._support(self.slots[result])) for result in step.results]
            if now == [slots[variable] for variable in step.variables]:
                return now
            slots.update(zip(step.variables, now, strict=True))

    def _support(self, value: SymbolicValue) -> int:
        return value if isinstance(value, int) else sum(1 << bit for bit in value)

    def apply(self, kind: str, operands: list[SymbolicValue], loose: bool = False) -> SymbolicValue:
        if all(isinstance(operand, int) for operand in operands):
            return CONSTANT[kind](self.algebra, operands)  # type: ignore[arg-type]
        name = kind.replace(" ", "_")
        method = getattr(self, f"_loose_{name}" if loose and kind in LOOSE else f"_{name}")
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

    def _loose_union(self, one: SymbolicValue, other: SymbolicValue) -> Symbols:
        result = dict(self.symbols(one))
        for bit, literal in self.symbols(other).items():
            result[bit] = self.circuit.imply(((result[bit],), (literal,))) if bit in result else literal
        return result

    def _loose_intersection(self, one: SymbolicValue, other: SymbolicValue) -> Symbols:
        if isinstance(one, int) or isinstance(other, int):
            return self._intersection(one, other)
        return {bit: self.circuit.imply(((one[bit], other[bit]),)) for bit in one.keys() & other.keys()}

    def _loose_composition(self, one: SymbolicValue, other: SymbolicValue) -> Symbols:
        rows = self._rows(other)
        ways: dict[int, list[tuple[int, int]]] = defaultdict(list)
        size = self.algebra.size
        for bit, left in self.symbols(one).items():
            source, middle = divmod(bit, size)
            for target, right in rows.get(middle, ()):
                ways[source * size + target].append((left, right))
        return {bit: self.circuit.imply(pairs) for bit, pairs in ways.items()}

    def _loose_closure(self, one: SymbolicValue) -> Symbols:
        """Anything that contains the relation, and all its steps followed by itself."""
        a, size = self.algebra, self.algebra.size
        certain = 0
        open_pairs: Symbols = {}
        for bit, literal in self.symbols(one).items():
            if literal == TRUE:
                certain |= 1 << bit
            else:
                open_pairs[bit] = literal
        certain = a.closure(certain)
        support = a.closure(self._support(one))
        result = {bit: TRUE if certain >> bit & 1 else self.circuit.variable() for bit in a.members(support)}
        # the certain part is closed, so its steps need to be taken only before and after those that are open
        for bit, literal in open_pairs.items():
            self.circuit.add((-literal, result[bit]))
        steps = dict.fromkeys(a.members(self._reduce(certain)), TRUE) | open_pairs
        rows: dict[int, list[int]] = defaultdict(list)
        for bit in result:
            rows[bit // size].append(bit % size)
        for bit, literal in steps.items():
            source, middle = divmod(bit, size)
            for target in rows.get(middle, ()):
                into = result[source * size + target]
                if into != TRUE:
                    self.circuit.add((-literal, -result[middle * size + target], into))
        return result

    def _reduce(self, closed: int) -> int:
        """The steps of a closed relation that are no two steps of it; all of them if it has cycles."""
        a = self.algebra
        return closed if closed & a.identity else closed & ~a.compose(closed, closed)

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
        """No event reaches itself through pairs that can be part of a cycle."""
        a = self.algebra
        reach = a.closure(self._support(symbols))
        mutual = reach & a.inverse(reach)
        closed = self._loose_closure({bit: literal for bit, literal in symbols.items() if mutual >> bit & 1})
        for event in range(a.size):
            self.circuit.add((-guard, -closed.get(event * (a.size + 1), FALSE)))
