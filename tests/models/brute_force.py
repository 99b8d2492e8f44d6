"""All outcomes of a small test, the naive way: every read returns every value, every relation is every relation.

It shares with the engines the litmus room, the algebra and the compiled model, but not how they run threads, find
values, choose relations or give up early. Barriers and addresses in registers are not for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import permutations, product

from gpudiy.litmus import arithmetic
from gpudiy.litmus import instruction as isa
from gpudiy.litmus.condition import FinalRegister, holds
from gpudiy.litmus.dependencies import DependencyState, list_reads
from gpudiy.litmus.test import Test
from gpudiy.models.algebra import Algebra
from gpudiy.models.event import Event, EventKind, Trace
from gpudiy.models.model import Model
from gpudiy.models.skeleton import EventSkeleton

Order = tuple[tuple[int, int], ...]


@dataclass
class Run:
    """A thread that ran, or is running, with what its reads returned."""

    registers: dict[str, int]
    position: int = 0
    depends: DependencyState = field(default_factory=DependencyState)
    events: list[Event] = field(default_factory=list)
    values: list[int] = field(default_factory=list)
    pairs: dict[str, list[tuple[int, int]]] = field(
        default_factory=lambda: {"address": [], "data": [], "control": [], "rmw": []}
    )
    visits: dict[int, int] = field(default_factory=dict)

    def copy(self) -> Run:
        pairs = {name: list(found) for name, found in self.pairs.items()}
        registers, depends, visits = dict(self.registers), self.depends.copy(), dict(self.visits)
        return Run(registers, self.position, depends, list(self.events), list(self.values), pairs, visits)

    @property
    def trace(self) -> Trace:
        return Trace(tuple(self.events), *(tuple(found) for found in self.pairs.values()))


class BruteForce:
    """All executions of a test in which loops go round at most `unroll` times, over values that its writes make."""

    def __init__(self, test: Test, model: Model, unroll: int = 2) -> None:
        self.test, self.model, self.unroll = test, model, unroll
        self.locations = test.memory_map.locations()
        self.types = {(d.thread, d.name): d.type for d in test.registers}
        self.runs: list[list[Run]] = []
        self.written: set[int] = set()  # by any run, also by one that goes round a loop too often
        self.domain = {0, *(entry.value for entry in test.init if isinstance(entry.value, int))}
        # a write that only runs if it is read may be what its own condition was read from, where no check forbids that
        self.domain |= {
            operand.value
            for thread in test.threads
            for each in thread
            if isinstance(each, (isa.Store, isa.Atomic, isa.Reduce))
            for operand in isa.operands_of(each)
            if isinstance(operand, isa.Immediate)
        }
        writes = sum(
            isinstance(each, (isa.Store, isa.Atomic, isa.Reduce)) for thread in test.threads for each in thread
        )
        for _ in range(writes * unroll + 1):
            self.runs = [list(self._run(number)) for number in range(len(test.threads))]
            if self.complete or len(self.domain) > 6:
                break
            self.domain |= self.written

    @property
    def size(self) -> int:
        """How many combinations of runs there are."""
        total = 1
        for runs in self.runs:
            total *= len(runs)
        return total

    @property
    def complete(self) -> bool:
        """Whether all values that writes make were tried."""
        return self.written <= self.domain

    def outcomes(self) -> set[tuple[int, ...]]:
        return {outcome for runs in product(*self.runs) for outcome in self._outcomes(runs)}

    def _run(self, number: int) -> Iterator[Run]:
        thread = self.test.threads[number]
        labels = {each.name: index for index, each in enumerate(thread) if isinstance(each, isa.Label)}
        loops = any(isinstance(each, isa.Branch) and labels[each.target] <= index for index, each in enumerate(thread))
        pending = [Run({d.name: 0 for d in self.test.registers_of(number)})]
        while pending:
            run = pending.pop()
            if run.position == len(thread):
                yield run
                continue
            run.visits[run.position] = run.visits.get(run.position, 0) + 1
            if loops and run.visits[run.position] > self.unroll:
                continue
            instruction = thread[run.position]
            run.position += 1
            depends = run.depends.dependencies(instruction)
            guard = isa.guard_of(instruction)
            runs = guard is None or bool(run.registers[guard.predicate.name]) != guard.negated
            if not runs or not isinstance(instruction, (isa.Load, isa.Atomic, isa.Reduce)):
                if runs:
                    self._step(run, number, instruction, labels)
                run.depends.step(instruction, depends, runs=runs)
                pending.append(run)
                continue
            for value in self.domain:
                chosen = run.copy()
                self._read(chosen, number, instruction, value)
                pending.append(chosen)

    def _step(self, run: Run, number: int, instruction: isa.Instruction, labels: dict[str, int]) -> None:
        match instruction:
            case isa.Store():
                value = arithmetic.wrap_value(self._value(run, instruction.source), instruction.access.type)
                self._event(run, number, EventKind.WRITE, instruction, value)
            case isa.Branch(target=target):
                run.position = labels[target]
            case isa.Alu():
                values = [self._value(run, source) for source in instruction.sources]
                run.registers[instruction.destination.name] = arithmetic.compute_value(instruction, values)
            case isa.SetPredicate(sources=(left, right)):
                one, other = self._value(run, left), self._value(run, right)
                truth = arithmetic.compare_values(instruction.comparison, one, other, instruction.type)
                run.registers[instruction.destination.name] = int(truth)
            case isa.Fence():
                self._event(run, number, EventKind.FENCE, instruction, 0)
            case isa.ProxyFence():
                self._event(run, number, EventKind.PROXY_FENCE, instruction, 0)

    def _read(self, run: Run, number: int, instruction: isa.Load | isa.Atomic | isa.Reduce, value: int) -> None:
        depends = run.depends.dependencies(instruction)
        read = self._event(run, number, EventKind.READ, instruction, value)
        if not isinstance(instruction, isa.Load):
            operands = [self._value(run, source) for source in instruction.sources]
            written = arithmetic.modify_value(instruction.operation, value, operands, instruction.access.type)
            if written is not None:
                run.pairs["rmw"].append((read, self._event(run, number, EventKind.WRITE, instruction, written)))
        if not isinstance(instruction, isa.Reduce):
            run.registers[instruction.destination.name] = value
        run.depends.step(instruction, depends, 1 << read, runs=True)

    def _event(self, run: Run, number: int, kind: EventKind, instruction: isa.Instruction, value: int) -> int:
        position = len(run.events)
        depends = run.depends.dependencies(instruction)
        address = getattr(instruction, "address", None)
        name = address.name if isinstance(address, isa.Variable) else ""
        run.events.append(Event(kind, number, instruction, name, self.locations.get(name, "")))
        run.values.append(value)
        run.pairs["control"] += [(read, position) for read in list_reads(depends.control)]
        run.pairs["address"] += [(read, position) for read in list_reads(depends.address)]
        if kind is EventKind.WRITE:
            run.pairs["data"] += [(read, position) for read in list_reads(depends.data)]
            self.written.add(value)
        return position

    @staticmethod
    def _value(run: Run, operand: object) -> int:
        if isinstance(operand, isa.Immediate):
            return operand.value
        assert isinstance(operand, isa.Register)
        return run.registers[operand.name]

    def _outcomes(self, runs: tuple[Run, ...]) -> Iterator[tuple[int, ...]]:
        skeleton = EventSkeleton(self.test, [run.trace for run in runs])
        a, model = skeleton.algebra, self.model
        values = [self.test.initial_value(location) for location in skeleton.locations]
        values += [value for run in runs for value in run.values]
        events = skeleton.events
        writes = [number for number, event in enumerate(events) if event.kind is EventKind.WRITE]
        own = {
            start + read: start + write
            for start, run in zip(skeleton.starts, runs, strict=True)
            for read, write in run.pairs["rmw"]
        }
        sources = [
            [
                (write, read)
                for write in writes
                if (events[write].location, values[write]) == (event.location, values[read]) and write != own.get(read)
            ]
            for read, event in enumerate(events)
            if event.kind is EventKind.READ
        ]
        if not all(sources):
            return
        static = [0] * model.slots
        for name, slot in model.inputs.items():
            static[slot] = skeleton.static(name)
        model.evaluate(a, static)
        orders = [list(orient(a, static[pairs])) for _, pairs in model.orders]
        coherences = list(self._coherences(skeleton, writes))
        for rf, chosen, co in product(product(*sources), product(*orders), coherences):
            slots = list(static)
            for name, relation in (("rf", a.relation(rf)), ("co", a.relation(co))):
                if name in model.inputs:
                    slots[model.inputs[name]] = relation
            for (slot, _), order in zip(model.orders, chosen, strict=True):
                slots[slot] = a.relation(order)
            if all(stage(a, slots) is None for stage in model.stages):
                yield from self._finals(skeleton, runs, values, co)

    def _coherences(self, skeleton: EventSkeleton, writes: list[int]) -> Iterator[Order]:
        ways: list[list[Order]] = []
        for location in skeleton.locations:
            first, *others = (write for write in writes if skeleton.events[write].location == location)
            start = tuple((first, write) for write in others)
            orders = partial_orders(others) if self.model.partial_co else total_orders(others)
            ways.append([start + order for order in orders])
        for chosen in product(*ways):
            yield tuple(pair for order in chosen for pair in order)

    def _finals(
        self, skeleton: EventSkeleton, runs: tuple[Run, ...], values: list[int], co: Order
    ) -> Iterator[tuple[int, ...]]:
        overwritten = {one for one, _ in co}
        last: dict[str, list[int]] = {location: [] for location in skeleton.locations}
        for number, event in enumerate(skeleton.events):
            if event.kind is EventKind.WRITE and number not in overwritten:
                last[event.location].append(values[number])
        for chosen in product(*last.values()):
            held = dict(zip(last, chosen, strict=True))
            state = {
                term: arithmetic.read_as_type(
                    runs[term.thread].registers[term.name], self.types[term.thread, term.name]
                )
                if isinstance(term, FinalRegister)
                else held[self.locations[term.name]]
                for term in self.test.observed
            }
            if self.test.filter is None or holds(self.test.filter, state.__getitem__):
                yield tuple(state.values())


def total_orders(events: list[int]) -> Iterator[Order]:
    for order in permutations(events):
        yield tuple((one, other) for index, one in enumerate(order) for other in order[index + 1 :])


def partial_orders(events: list[int]) -> Iterator[Order]:
    pairs = [(one, other) for index, one in enumerate(events) for other in events[index + 1 :]]
    for ways in product((0, 1, 2), repeat=len(pairs)):
        order = {pair[::-1] if way == 2 else pair for way, pair in zip(ways, pairs, strict=True) if way}
        if all((one, last) in order for one, middle in order for other, last in order if middle == other):
            yield tuple(order)


def orient(a: Algebra, pairs: int) -> Iterator[Order]:
    both = sorted({(min(pair), max(pair)) for pair in a.pairs(pairs) if pair[0] != pair[1]})
    for ways in product((False, True), repeat=len(both)):
        order = tuple(pair[::-1] if way else pair for way, pair in zip(ways, both, strict=True))
        if a.acyclic(a.relation(order)):
            yield order
