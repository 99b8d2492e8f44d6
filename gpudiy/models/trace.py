"""Traces: all ways one thread can run when its reads may return any value of their location."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from gpudiy.litmus import arithmetic
from gpudiy.litmus.access import ScalarType
from gpudiy.litmus.condition import AddressOf, Value
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
    Instruction,
    Label,
    Load,
    Operand,
    ProxyFence,
    Reduce,
    Register,
    SetPredicate,
    Store,
    destination_of,
    guard_of,
)
from gpudiy.litmus.test import Test
from gpudiy.models.event import Event, Kind

Domain = dict[str, tuple[Value, ...]]
Held = tuple[Value, int]  # a value, and the set of events (bits) it depends on


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
    registers: dict[str, Held]
    events: list[Event] = field(default_factory=list)
    address: list[tuple[int, int]] = field(default_factory=list)
    data: list[tuple[int, int]] = field(default_factory=list)
    control: list[tuple[int, int]] = field(default_factory=list)
    rmw: list[tuple[int, int]] = field(default_factory=list)
    branched: int = 0  # the events that decided where control went
    visits: dict[int, int] = field(default_factory=dict)
    meetings: dict[tuple[int, int], int] = field(default_factory=dict)

    def copy(self) -> _State:
        return _State(
            self.position, dict(self.registers), list(self.events), list(self.address), list(self.data),
            list(self.control), list(self.rmw), self.branched, dict(self.visits), dict(self.meetings),
        )  # fmt: skip


class ThreadRunner:
    """Runs one thread of a test."""

    def __init__(self, test: Test, number: int, unroll: int) -> None:
        self.number = number
        self.thread = test.threads[number]
        self.unroll = unroll
        self.locations = {name: test.memory_map.location_of(name) for name in test.memory_map.names}
        self.types = {declaration.name: declaration.type for declaration in test.registers_of(number)}
        self.initial: dict[str, Held] = {
            declaration.name: (wrapped(declaration.initial, declaration.type), 0)
            for declaration in test.registers_of(number)
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
                    self.unfinished.append(self._finished(state))
                    break
                state, *others = following
                pending += others
            else:
                found.append(self._finished(state))
        return found

    def _finished(self, state: _State) -> Trace:
        finals = {name: shown(value, self.types[name]) for name, (value, _) in state.registers.items()}
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
        guard = guard_of(instruction)
        guarded = 0
        if guard is not None:
            value, guarded = state.registers[guard.predicate.name]
            if bool(value) == guard.negated:
                self._skip(state, instruction, guarded)
                return [state]
        if isinstance(instruction, (Load, Store, Atomic, Reduce)):
            return self._access_memory(state, instruction, guarded, domain)
        match instruction:
            case Branch(target=target):
                state.branched |= guarded
                state.position = self.labels[target]
            case Alu():
                self._alu(state, instruction, guarded)
            case SetPredicate():
                self._set_predicate(state, instruction, guarded)
            case Fence():
                self._add(state, Event(Kind.FENCE, self.number, instruction), guarded)
            case ProxyFence():
                self._add(state, Event(Kind.PROXY_FENCE, self.number, instruction), guarded)
            case Barrier():
                self._barrier(state, instruction, guarded)
        return [state]

    def _skip(self, state: _State, instruction: Instruction, guarded: int) -> None:
        """An instruction that does not run: its register keeps its value, but now for a reason."""
        if isinstance(instruction, Branch):
            state.branched |= guarded
        destination = destination_of(instruction)
        if destination is not None:
            value, depends = state.registers[destination.name]
            state.registers[destination.name] = (value, depends | guarded)

    def _access_memory(
        self, state: _State, instruction: Load | Store | Atomic | Reduce, guarded: int, domain: Domain
    ) -> list[_State]:
        if isinstance(instruction, Store):
            value, depends = self._held(state, instruction.source)
            self._write(state, instruction, wrapped(value, instruction.access.type), depends, guarded)
            return [state]
        if isinstance(instruction, Load):
            return list(self._load(state, instruction, guarded, domain))
        return list(self._atomic(state, instruction, guarded, domain))

    def _set_predicate(self, state: _State, instruction: SetPredicate, guarded: int) -> None:
        (left, one), (right, other) = (self._held(state, source) for source in instruction.sources)
        truth = compare(instruction.comparison, left, right, instruction.type)
        state.registers[instruction.destination.name] = (int(truth), one | other | guarded)

    def _add(self, state: _State, event: Event, guarded: int) -> int:
        """Append an event; control reaches it from all that decided that it runs."""
        position = len(state.events)
        state.events.append(event)
        decided = state.branched | guarded
        if decided:
            state.control += [(source, position) for source in _bits(decided)]
        return position

    def _access(
        self, state: _State, kind: Kind, instruction: object, address: Address, value: Value, guarded: int
    ) -> int:
        target, depends = self._held(state, address)
        if not isinstance(target, AddressOf):
            raise Undecidable(f"P{self.number} uses {target} as an address")
        event = Event(kind, self.number, instruction, target.variable, self.locations[target.variable], value)  # type: ignore[arg-type]
        position = self._add(state, event, guarded)
        state.address += [(source, position) for source in _bits(depends)]
        return position

    def _write(
        self, state: _State, instruction: Store | Atomic | Reduce, value: Value, depends: int, guarded: int
    ) -> int:
        position = self._access(state, Kind.WRITE, instruction, instruction.address, value, guarded)
        state.data += [(source, position) for source in _bits(depends)]
        return position

    def _choices(self, state: _State, address: Address, domain: Domain) -> tuple[Value, ...]:
        target, _ = self._held(state, address)
        if not isinstance(target, AddressOf):
            raise Undecidable(f"P{self.number} uses {target} as an address")
        return domain[self.locations[target.variable]]

    def _load(self, state: _State, load: Load, guarded: int, domain: Domain) -> Iterator[_State]:
        values = self._choices(state, load.address, domain)
        for index, value in enumerate(values):
            chosen = state if index == len(values) - 1 else state.copy()
            position = self._access(chosen, Kind.READ, load, load.address, value, guarded)
            chosen.registers[load.destination.name] = (value, 1 << position)
            yield chosen

    def _atomic(self, state: _State, atomic: Atomic | Reduce, guarded: int, domain: Domain) -> Iterator[_State]:
        """A read and, unless a cas fails, a write of what the operation makes of the value read."""
        values = self._choices(state, atomic.address, domain)
        held = [self._held(state, source) for source in atomic.sources]
        depends = 0
        for _, source in held:
            depends |= source
        for index, value in enumerate(values):
            chosen = state if index == len(values) - 1 else state.copy()
            read = self._access(chosen, Kind.READ, atomic, atomic.address, value, guarded)
            written = modified(atomic.operation, value, [value for value, _ in held], atomic.access.type)
            if written is not None:
                write = self._write(chosen, atomic, written, depends, guarded)
                chosen.rmw.append((read, write))
            if isinstance(atomic, Atomic):
                chosen.registers[atomic.destination.name] = (value, 1 << read)
            yield chosen

    def _barrier(self, state: _State, barrier: Barrier, guarded: int) -> None:
        identifier, depends = self._held(state, barrier.identifier)
        count = None if barrier.count is None else self._held(state, barrier.count)[0]
        if not isinstance(identifier, int) or isinstance(count, AddressOf):
            raise Undecidable(f"P{self.number} uses an address as the number of a barrier")
        key = (barrier.instance, identifier)
        before = state.meetings.get(key, 0)
        state.meetings[key] = before + 1
        event = Event(Kind.BARRIER, self.number, barrier, meeting=(*key, before), count=count)
        position = self._add(state, event, guarded)
        state.data += [(source, position) for source in _bits(depends)]

    def _alu(self, state: _State, alu: Alu, guarded: int) -> None:
        held = [self._held(state, source) for source in alu.sources]
        depends = guarded
        for _, source in held:
            depends |= source
        value = computed(alu, [value for value, _ in held])
        state.registers[alu.destination.name] = (value, depends)

    def _held(self, state: _State, operand: Operand) -> Held:
        if isinstance(operand, Immediate):
            return operand.value, 0
        if isinstance(operand, Register):
            return state.registers[operand.name]
        return AddressOf(operand.name), 0


def _bits(events: int) -> Iterator[int]:
    while events:
        low = events & -events
        yield low.bit_length() - 1
        events ^= low


def wrapped(value: Value, type: ScalarType) -> Value:
    """A value as the bit pattern a register or location of this type holds, read as a signed number."""
    return value if isinstance(value, AddressOf) else arithmetic.wrapped(value, type)


def shown(value: Value, type: ScalarType) -> Value:
    """What a person sees in a register at the end: unsigned types show unsigned numbers."""
    return arithmetic.shown(value, type) if isinstance(value, int) and type[0] == "u" else value


def compare(comparison: Comparison, left: Value, right: Value, type: ScalarType) -> bool:
    if isinstance(left, AddressOf) or isinstance(right, AddressOf):
        if comparison not in (Comparison.EQ, Comparison.NE):
            raise Undecidable("addresses are compared for order")
        return (left == right) == (comparison is Comparison.EQ)
    return arithmetic.compared(comparison, left, right, type)


def modified(operation: AtomicOperation, old: Value, operands: list[Value], type: ScalarType) -> Value | None:
    """What an atomic writes; None if it writes nothing."""
    if operation is AtomicOperation.CAS:
        return wrapped(operands[1], type) if wrapped(old, type) == wrapped(operands[0], type) else None
    if operation is AtomicOperation.EXCH:
        return wrapped(operands[0], type)
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
        return wrapped(first if others[1] else others[0], alu.type)
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
