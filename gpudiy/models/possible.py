"""The values that each location may hold, as far as they follow from the values alone.

What a read returns follows from what it reads from, unless values go round in a circle: a read returns what was
computed from itself. Models without an axiom against values out of thin air allow that. Then, and for addresses and
barriers that come from memory, the values that can get into memory at all are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from gpudiy.litmus.condition import AddressOf, Value
from gpudiy.litmus.dependencies import list_reads
from gpudiy.litmus.instruction import Alu, AluOperation, Atomic, AtomicOperation, Immediate, Reduce, Store, Variable
from gpudiy.litmus.memory_types import initial_memory
from gpudiy.litmus.test import Test
from gpudiy.models.path import Doubt, Path, PathConstraint
from gpudiy.models.problems import Undecidable
from gpudiy.models.term import Applied, ReadTerm

Domain = dict[str, tuple[Value, ...]]
Origin = dict[str, int]  # how many writes to each location a value comes from, at most on any way to it
FRESH = (AtomicOperation.CAS, AtomicOperation.EXCH)  # what these write does not come from what they read


class PossibleValues:
    """The values of each location, grown by what paths write until nothing is new.

    A value is made by a chain of writes, each of which happens once: one that would need more writes to a location than
    an execution has can never be there. So counters do not count for ever.
    """

    def __init__(self, test: Test, paths: Sequence[Sequence[Path]]) -> None:
        self.origins: dict[str, dict[Value, list[Origin]]] = {
            location: {value: [{}] if index == 0 else [{location: 1}] for index, value in enumerate(values)}
            for location, values in _first_domain(test).items()
        }
        self.paths = [path for thread in paths for path in thread]
        self._most = self._count_writes(paths)
        while self._grow():
            pass

    @property
    def domain(self) -> Domain:
        return {location: tuple(values) for location, values in self.origins.items()}

    def unforeseen(self, doubt: Doubt) -> Value | None:
        """A value that a term of doubt may have, but must not, or could not be foreseen to have."""
        for values in self._assignments(doubt.locations, doubt.term.reads, doubt.constraints):
            value = doubt.term.evaluate(values, 0)
            if value not in doubt.values:
                return value
        return None

    def _grow(self) -> bool:
        """Take in what the paths write; whether anything was new."""
        grown = False
        for path in self.paths:
            for position in path.writes:
                location = path.trace.events[position].location
                for value, origin in self._list_written(path, position):
                    known = self.origins[location].setdefault(value, [])
                    fits = all(count <= self._most[name] for name, count in origin.items())
                    if fits and not any(_at_most(other, origin) for other in known):
                        known.append(origin)
                        grown = True
                    if not known:
                        del self.origins[location][value]
        return grown

    def _list_written(self, path: Path, position: int) -> Iterator[tuple[Value, Origin]]:
        """The values a write can have, with the writes behind each."""
        term = path.values[position]
        sources = {source for source, target in path.trace.data if target == position}
        instruction = path.trace.events[position].instruction
        if isinstance(instruction, (Atomic, Reduce)) and instruction.operation not in FRESH:
            sources |= {read for read, write in path.trace.rmw if write == position}
        needed = term.reads if isinstance(term, (ReadTerm, Applied)) else 0
        for source in sources:
            needed |= 1 << source
        constraints = tuple(each for each in path.constraints if each.before <= position)
        location = path.trace.events[position].location
        locations = tuple(event.location for event in path.trace.events)
        for values in list(self._assignments(locations, needed, constraints)):
            try:
                value = term.evaluate(values, 0) if isinstance(term, (ReadTerm, Applied)) else term
            except Undecidable:
                continue
            behind = [self.origins[locations[source]][values[source]] for source in sorted(sources)]  # type: ignore[index]
            for parts in product(*behind):
                origin: Origin = {}
                for part in parts:
                    for name, count in part.items():
                        origin[name] = max(count, origin.get(name, 0))
                origin[location] = origin.get(location, 0) + 1
                yield value, origin

    def _assignments(
        self, locations: Sequence[str], needed: int, constraints: Sequence[PathConstraint]
    ) -> Iterator[list[Value | None]]:
        """Values for the reads that are needed, as far as the constraints allow."""
        left = list(constraints)
        groups = [needed]  # reads whose values constraints tie together; the first are those that are needed
        while left:
            tied = [each for each in left if each.term.reads & groups[-1]]
            if tied:
                for each in tied:
                    groups[-1] |= each.term.reads
                left = [each for each in left if each not in tied]
            else:
                groups.append(left[0].term.reads)
        for other in groups[1:]:
            if next(self._group_assignments(locations, other, constraints), None) is None:
                return
        yield from self._group_assignments(locations, groups[0], constraints)

    def _group_assignments(
        self, locations: Sequence[str], group: int, constraints: Sequence[PathConstraint]
    ) -> Iterator[list[Value | None]]:
        reads = list(list_reads(group))
        tied = [each for each in constraints if not each.term.reads & ~group]
        values: list[Value | None] = [None] * len(locations)
        for chosen in product(*(tuple(self.origins[locations[read]]) for read in reads)):
            for read, value in zip(reads, chosen, strict=True):
                values[read] = value
            try:
                if all(bool(each.term.evaluate(values, 0)) is each.expected for each in tied):
                    yield list(values)
            except Undecidable:
                continue

    def _count_writes(self, paths: Sequence[Sequence[Path]]) -> dict[str, int]:
        """How many writes to each location an execution has at the most."""
        total = dict.fromkeys(self.origins, 0)
        for thread in paths:
            most = dict.fromkeys(self.origins, 0)
            for path in thread:
                counts = dict.fromkeys(self.origins, 0)
                for position in path.writes:
                    counts[path.trace.events[position].location] += 1
                for location, count in counts.items():
                    most[location] = max(most[location], count)
            for location, count in most.items():
                total[location] += count
        return total


def _at_most(one: Origin, other: Origin) -> bool:
    return all(count <= other.get(location, 0) for location, count in one.items())


def _first_domain(test: Test) -> dict[str, dict[Value, None]]:
    """Initial values and the literals that are stored, directly or through a mov."""
    locations = test.memory_map.locations()
    values: dict[str, dict[Value, None]] = {
        location: {initial_memory(test, location): None} for location in locations.values()
    }
    addresses = {
        (declaration.thread, declaration.name): declaration.initial.variable
        for declaration in test.registers
        if isinstance(declaration.initial, AddressOf)
    }
    for number, thread in enumerate(test.threads):
        moved: dict[str, int] = {}
        for instruction in thread:
            if isinstance(instruction, Alu) and instruction.operation is AluOperation.MOV:
                (source,) = instruction.sources
                if isinstance(source, Immediate):
                    moved[instruction.destination.name] = source.value
            elif isinstance(instruction, Store):
                address = instruction.address
                known = address.name if isinstance(address, Variable) else addresses.get((number, address.name))
                source = instruction.source
                value = source.value if isinstance(source, Immediate) else moved.get(source.name)
                if known is not None and value is not None:
                    values[locations[known]][value] = None
    return values
