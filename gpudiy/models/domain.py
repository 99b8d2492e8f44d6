"""The values that may get into each location: a first guess, and from there to a fixed point."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from gpudiy.litmus.condition import AddressOf, Value
from gpudiy.litmus.instruction import Alu, AluOperation, Atomic, AtomicOperation, Immediate, Reduce, Store, Variable
from gpudiy.litmus.memory_types import initial_memory
from gpudiy.litmus.test import Test
from gpudiy.models.event import EventKind
from gpudiy.models.trace import Domain, Trace

Origin = dict[str, int]  # how many writes to each location stand behind a value, at the most on any path to it
FRESH = (AtomicOperation.CAS, AtomicOperation.EXCH)  # what these write does not come from what they read


class PossibleValues:
    """The values of each location, grown by what runs write until nothing is new.

    A value is made by a chain of writes, each of which happens once: one that would need more writes to a location than
    an execution has can never be there. So counters do not count for ever.
    """

    def __init__(self, test: Test) -> None:
        self.origins: dict[str, dict[Value, list[Origin]]] = {
            location: {value: [{}] if index == 0 else [{location: 1}] for index, value in enumerate(values)}
            for location, values in first_domain(test).items()
        }

    @property
    def domain(self) -> Domain:
        return {location: tuple(values) for location, values in self.origins.items()}

    def grow(self, found: list[list[Trace]]) -> bool:
        """Take in what these runs write; whether anything was new."""
        if not any(self._is_new(trace) for traces in found for trace in traces):
            return False
        most = self._writes(found)
        grown = False
        for traces in found:
            for trace in traces:
                for position, event in enumerate(trace.events):
                    if event.kind is not EventKind.WRITE:
                        continue
                    known = self.origins[event.location].setdefault(event.value, [])
                    for origin in self._origins(trace, position):
                        fits = all(count <= most[location] for location, count in origin.items())
                        if fits and not any(_at_most(other, origin) for other in known):
                            known.append(origin)
                            grown = True
                    if not known:
                        del self.origins[event.location][event.value]
        return grown

    def _is_new(self, trace: Trace) -> bool:
        return any(
            event.kind is EventKind.WRITE and event.value not in self.origins[event.location] for event in trace.events
        )

    def _origins(self, trace: Trace, position: int) -> Iterator[Origin]:
        """The writes behind a written value, for each way in which the values it was computed from came about."""
        sources = {source for source, target in trace.data if target == position}
        instruction = trace.events[position].instruction
        if isinstance(instruction, (Atomic, Reduce)) and instruction.operation not in FRESH:
            sources |= {read for read, write in trace.rmw if write == position}
        events = [trace.events[source] for source in sorted(sources)]
        location = trace.events[position].location
        for behind in product(*(self.origins[event.location].get(event.value, []) for event in events)):
            origin: Origin = {}
            for part in behind:
                for name, count in part.items():
                    origin[name] = max(count, origin.get(name, 0))
            origin[location] = origin.get(location, 0) + 1
            yield origin

    def _writes(self, found: list[list[Trace]]) -> dict[str, int]:
        """How many writes to each location an execution has at the most."""
        total = dict.fromkeys(self.origins, 0)
        for traces in found:
            thread = dict.fromkeys(self.origins, 0)
            for trace in traces:
                counts = dict.fromkeys(self.origins, 0)
                for event in trace.events:
                    if event.kind is EventKind.WRITE:
                        counts[event.location] += 1
                for location, count in counts.items():
                    thread[location] = max(thread[location], count)
            for location, count in thread.items():
                total[location] += count
        return total


def _at_most(one: Origin, other: Origin) -> bool:
    return all(count <= other.get(location, 0) for location, count in one.items())


def first_domain(test: Test) -> Domain:
    """Initial values and the literals that are stored, directly or through a mov.

    A value too many does no harm: no write has it, so no read can get it. A good guess saves a round.
    """
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
    return {location: tuple(held) for location, held in values.items()}
