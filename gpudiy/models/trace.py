"""Traces: all ways one thread can run when its reads may return any value of their location."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from gpudiy.litmus import arithmetic
from gpudiy.litmus.access import ScalarType
from gpudiy.litmus.condition import AddressOf, Value
from gpudiy.litmus.dependencies import Dependencies, DependencyState, list_reads
from gpudiy.litmus.instruction import (
    Address,
    Alu,
    AluOperation,
    Atomic,
    AtomicOperation,
    Barrier,
    Branch,
    Comparison,
    Fence,
    Immediate,
    Label,
    Load,
    MemoryInstruction,
    Operand,
    ProxyFence,
    Reduce,
    Register,
    SetPredicate,
    Store,
    guard_of,
    operands_of,
)
from gpudiy.litmus.memory_types import show_value, wrap_value
from gpudiy.litmus.test import Test
from gpudiy.models.event import Event, EventKind

Domain = dict[str, tuple[Value, ...]]


class Undecidable(Exception):
    """Something in a test that no model here gives a meaning, with a message that names it."""


@dataclass(frozen=True, slots=True)
class Trace:
    """One run of a thread: its events in program order; dependencies and rmw pairs as positions among them."""

    events: tuple[Event, ...]
    address: tuple[tuple[int, int], ...]
    data: tuple[tuple[int, int], ...]
    control: tuple[tuple[int, int], ...]
    rmw: tuple[tuple[int, int], ...]
    finals: dict[str, Value]

    @property
    def values(self) -> tuple[Value, ...]:
        return tuple(event.value for event in self.events)

    @property
    def shape(self) -> object:
        """All of a run but the values."""
        events = tuple((id(e.instruction), e.kind, e.variable, e.meeting, e.count) for e in self.events)
        return events, self.address, self.data, self.control, self.rmw


@dataclass(slots=True)
class _State:
    """A thread in the middle of a run."""

    position: int
    registers: dict[str, Value]
    depends: DependencyState = field(default_factory=DependencyState)  # reads are numbered as their events are
    events: list[Event] = field(default_factory=list)
    address: list[tuple[int, int]] = field(default_factory=list)
    data: list[tuple[int, int]] = field(default_factory=list)
    control: list[tuple[int, int]] = field(default_factory=list)
    rmw: list[tuple[int, int]] = field(default_factory=list)
    visits: dict[int, int] = field(default_factory=dict)
    meetings: dict[tuple[int, int], int] = field(default_factory=dict)

    def copy(self) -> _State:
        return _State(
            self.position, dict(self.registers), self.depends.copy(), list(self.events), list(self.address),
            list(self.data), list(self.control), list(self.rmw), dict(self.visits), dict(self.meetings),
        )  # fmt: skip


class ThreadRunner:
    """Runs one thread of a test."""

    def __init__(self, test: Test, number: int, unroll: int) -> None:
        self.number = number
        self.thread = test.threads[number]
        self.unroll = unroll
        self.locations = test.memory_map.locations()
        declared = test.registers_of(number)
        self.types = {declaration.name: declaration.type for declaration in declared}
        self.initial: dict[str, Value] = {
            declaration.name: wrap_value(declaration.initial, declaration.type) for declaration in declared
        }
        self.labels = {
            instruction.name: position
            for position, instruction in enumerate(self.thread)
            if isinstance(instruction, Label)
        }
        self.loops = any(
            isinstance(instruction, Branch) and self.labels[instruction.target] <= position
            for position, instruction in enumerate(self.thread)
        )

    def traces(self, domain: Domain, tick: Callable[[], None] = lambda: None) -> list[Trace]:
        """All runs that end, with reads of the values in `domain`; loops go round at most `unroll` times."""
        found = []
        self.unfinished: list[Trace] = []  # runs that were given up because a loop went round too often
        pending = [_State(0, dict(self.initial))]
        while pending:
            state = pending.pop()
            tick()
            while state.position < len(self.thread):
                following = self._step(state, domain)
                if following is None:
                    self.unfinished.append(self._finish(state))
                    break
                state, *others = following
                pending += others
            else:
                found.append(self._finish(state))
        return found

    def _finish(self, state: _State) -> Trace:
        finals = {name: show_value(value, self.types[name]) for name, value in state.registers.items()}
        return Trace(
            tuple(state.events), tuple(state.address), tuple(state.data), tuple(state.control), tuple(state.rmw), finals
        )

    def _step(self, state: _State, domain: Domain) -> list[_State] | None:
        instruction = self.thread[state.position]
        if self.loops:
            visits = state.visits.get(state.position, 0) + 1
            if visits > self.unroll:
                return None
            state.visits[state.position] = visits
        state.position += 1
        depends = state.depends.dependencies(instruction)
        guard = guard_of(instruction)
        if guard is not None and bool(state.registers[guard.predicate.name]) == guard.negated:
            state.depends.step(instruction, depends, runs=False)
            return [state]
        if isinstance(instruction, (Load, Atomic, Reduce)):
            return list(self._read(state, instruction, depends, domain))
        state.depends.step(instruction, depends, runs=True)
        match instruction:
            case Store():
                value = wrap_value(self._value(state, instruction.source), instruction.access.type)
                self._write(state, instruction, value, depends)
            case Branch(target=target):
                state.position = self.labels[target]
            case Alu():
                values = [self._value(state, source) for source in instruction.sources]
                state.registers[instruction.destination.name] = computed(instruction, values)
            case SetPredicate(sources=(left, right)):
                one, other = self._value(state, left), self._value(state, right)
                truth = compare(instruction.comparison, one, other, instruction.type)
                state.registers[instruction.destination.name] = int(truth)
            case Fence():
                self._add(state, Event(EventKind.FENCE, self.number, instruction), depends)
            case ProxyFence():
                self._add(state, Event(EventKind.PROXY_FENCE, self.number, instruction), depends)
            case Barrier():
                self._barrier(state, instruction, depends)
            case Label():
                pass
        return [state]

    def _add(self, state: _State, event: Event, depends: Dependencies) -> int:
        """Append an event; control reaches it from all that decided that it runs."""
        position = len(state.events)
        state.events.append(event)
        if depends.control:
            state.control += [(source, position) for source in list_reads(depends.control)]
        return position

    def _access(
        self, state: _State, kind: EventKind, instruction: MemoryInstruction, value: Value, depends: Dependencies
    ) -> int:
        target = self._target(state, instruction.address)
        event = Event(kind, self.number, instruction, target, self.locations[target], value)
        position = self._add(state, event, depends)
        state.address += [(source, position) for source in list_reads(depends.address)]
        return position

    def _write(self, state: _State, instruction: Store | Atomic | Reduce, value: Value, depends: Dependencies) -> int:
        position = self._access(state, EventKind.WRITE, instruction, value, depends)
        state.data += [(source, position) for source in list_reads(depends.data)]
        return position

    def _target(self, state: _State, address: Address) -> str:
        target = self._value(state, address)
        if not isinstance(target, AddressOf):
            raise Undecidable(f"P{self.number} uses {target} as an address")
        return target.variable

    def _read(
        self, state: _State, instruction: Load | Atomic | Reduce, depends: Dependencies, domain: Domain
    ) -> Iterator[_State]:
        """A read of each possible value and, of an atomic, a write of what the operation makes of it.

        A cas that fails writes nothing.
        """
        values = domain[self.locations[self._target(state, instruction.address)]]
        operands = [self._value(state, operand) for operand in operands_of(instruction)]
        for index, value in enumerate(values):
            chosen = state if index == len(values) - 1 else state.copy()
            read = self._access(chosen, EventKind.READ, instruction, value, depends)
            if not isinstance(instruction, Load):
                written = modified(instruction.operation, value, operands, instruction.access.type)
                if written is not None:
                    chosen.rmw.append((read, self._write(chosen, instruction, written, depends)))
            if not isinstance(instruction, Reduce):
                chosen.registers[instruction.destination.name] = value
            chosen.depends.step(instruction, depends, 1 << read, runs=True)
            yield chosen

    def _barrier(self, state: _State, barrier: Barrier, depends: Dependencies) -> None:
        identifier = self._value(state, barrier.identifier)
        count = None if barrier.count is None else self._value(state, barrier.count)
        if not isinstance(identifier, int) or isinstance(count, AddressOf):
            raise Undecidable(f"P{self.number} uses an address as the number of a barrier")
        key = (barrier.instance, identifier)
        before = state.meetings.get(key, 0)
        state.meetings[key] = before + 1
        event = Event(EventKind.BARRIER, self.number, barrier, meeting=(*key, before), count=count)
        position = self._add(state, event, depends)
        state.data += [(source, position) for source in list_reads(depends.data)]

    def _value(self, state: _State, operand: Operand) -> Value:
        if isinstance(operand, Immediate):
            return operand.value
        if isinstance(operand, Register):
            return state.registers[operand.name]
        return AddressOf(operand.name)


def compare(comparison: Comparison, left: Value, right: Value, type: ScalarType) -> bool:
    """Compare two values of a type; addresses can only be equal or not."""
    if isinstance(left, AddressOf) or isinstance(right, AddressOf):
        if comparison not in (Comparison.EQ, Comparison.NE):
            raise Undecidable("addresses are compared for order")
        return (left == right) == (comparison is Comparison.EQ)
    return arithmetic.compared(comparison, left, right, type)


def modified(operation: AtomicOperation, old: Value, operands: list[Value], type: ScalarType) -> Value | None:
    """What an atomic writes; None if it writes nothing."""
    if operation is AtomicOperation.CAS:
        return wrap_value(operands[1], type) if wrap_value(old, type) == wrap_value(operands[0], type) else None
    if operation is AtomicOperation.EXCH:
        return wrap_value(operands[0], type)
    try:
        return arithmetic.modified(operation, _as_int(old), [_as_int(operand) for operand in operands], type)
    except arithmetic.CannotCompute as problem:
        raise Undecidable(str(problem)) from None


def computed(alu: Alu, values: list[Value]) -> Value:
    """The result of an instruction on registers; addresses can be copied, chosen, and have 0 added."""
    operation, (first, *others) = alu.operation, values
    if operation in (AluOperation.MOV, AluOperation.CVT) and isinstance(first, AddressOf):
        return first
    if operation is AluOperation.SELP:
        return wrap_value(first if others[1] else others[0], alu.type)
    if operation in (AluOperation.ADD, AluOperation.SUB) and isinstance(first, AddressOf) and others[0] == 0:
        return first
    if operation is AluOperation.ADD and isinstance(others[0], AddressOf) and first == 0:
        return others[0]
    try:
        return arithmetic.computed(alu, [_as_int(value) for value in values])
    except arithmetic.CannotCompute as problem:
        raise Undecidable(str(problem)) from None


def _as_int(value: Value) -> int:
    if isinstance(value, AddressOf):
        raise Undecidable(f"arithmetic on the address of {value.variable}")
    return value
