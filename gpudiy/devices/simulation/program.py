"""`SimulatedProgram`: a test made ready for simulation: unrolled threads, their events, memory as numbers."""

from __future__ import annotations

from collections.abc import Iterator

from gpudiy.devices.simulation.event import SimulatedEvent, SimulatedEventKind
from gpudiy.devices.simulation.unrolled import UnrolledStep, unroll_thread
from gpudiy.litmus.access import ScalarType
from gpudiy.litmus.arithmetic import shown, wrapped
from gpudiy.litmus.condition import AddressOf, Value
from gpudiy.litmus.flow import memory_uses
from gpudiy.litmus.instruction import (
    Atomic,
    Barrier,
    Branch,
    Fence,
    Immediate,
    Instruction,
    Load,
    Operand,
    Reduce,
    Register,
    Store,
    address_of,
    destination_of,
    guard_of,
    operands_of,
)
from gpudiy.litmus.test import Test

FIRST_ADDRESS, ADDRESS_STEP = 0x4E100000, 0x1000  # fit registers of 32 bits too
Sources = frozenset[int]
NOTHING: Sources = frozenset()
KINDS = {
    Load: SimulatedEventKind.READ,
    Store: SimulatedEventKind.WRITE,
    Atomic: SimulatedEventKind.ATOMIC,
    Reduce: SimulatedEventKind.ATOMIC,
}


class SimulatedProgram:
    """What the machine knows of a test before it runs."""

    def __init__(self, test: Test) -> None:
        self.test = test
        self.placements = test.scope_tree.placements
        behind = test.memory_map.locations()
        self.locations = tuple(dict.fromkeys(behind.values()))
        self.location_of = {name: self.locations.index(location) for name, location in behind.items()}
        self.names = test.memory_map.names
        self.first_address = _free_addresses(test)
        self.addressed = {self.address(name): self.location_of[name] for name in self.names}
        uses = memory_uses(test)
        self.types = self._location_types(uses)
        self.initial = [
            wrapped(self.number(test.initial_value(name)), type)
            for name, type in zip(self.locations, self.types, strict=True)
        ]
        every = frozenset(range(len(self.locations)))
        self.targets = {
            (use.thread, use.position): frozenset(self.location_of[name] for name in use.targets) or every
            for use in uses
        }
        self.register_types = [
            {declaration.name: declaration.type for declaration in test.registers_of(number)}
            for number in range(len(test.threads))
        ]
        self.start = [
            {d.name: wrapped(self.number(d.initial), d.type) for d in test.registers_of(number)}
            for number in range(len(test.threads))
        ]
        self.steps: list[tuple[UnrolledStep, ...]] = [unroll_thread(thread) for thread in test.threads]
        self.events: list[SimulatedEvent] = []
        for number in range(len(test.threads)):
            self.events += self._thread_events(number, len(self.events))
        self.by_step = {(event.thread, event.step): event for event in self.events}

    def address(self, name: str) -> int:
        return self.first_address + ADDRESS_STEP * self.names.index(name)

    def number(self, value: Value) -> int:
        """A value as the machine holds it."""
        return self.address(value.variable) if isinstance(value, AddressOf) else value

    def value(self, number: int, type: ScalarType) -> Value:
        """A number of the machine as a person sees it."""
        index, rest = divmod(number - self.first_address, ADDRESS_STEP)
        if rest == 0 and 0 <= index < len(self.names):
            return AddressOf(self.names[index])
        return shown(number, type)

    def before(self, one: SimulatedEvent, other: SimulatedEvent) -> bool:
        """Program order."""
        return one.thread == other.thread and one.step < other.step

    def _location_types(self, uses: list) -> list[ScalarType]:  # type: ignore[type-arg]
        """The width of the accesses of each location, unsigned if all of them are."""
        kinds: list[set[ScalarType]] = [set() for _ in self.locations]
        for use in uses:
            for name in use.targets:
                kinds[self.location_of[name]].add(use.instruction.access.type)
        return [
            next(iter(types)).of_kind("u" if all(type[0] == "u" for type in types) else "s")
            if types
            else ScalarType.S64
            for types in kinds
        ]

    def _thread_events(self, thread: int, first: int) -> Iterator[SimulatedEvent]:
        """Walk the steps in order; where paths join, what they depend on is joined too."""
        steps = self.steps[thread]
        arriving: list[tuple[dict[str, Sources], Sources] | None] = [None] * (len(steps) + 1)
        arriving[0] = ({}, NOTHING)
        met: dict[tuple[int, int], int] = {}
        number = first
        for index, step in enumerate(steps):
            here = arriving[index]
            instruction = step.instruction
            if here is None or instruction is None:
                continue
            held, branched = dict(here[0]), here[1]
            guard = guard_of(instruction)
            guarded = NOTHING if guard is None else held.get(guard.predicate.name, NOTHING)
            if isinstance(instruction, Branch):
                branched |= guarded
                if step.jump is not None:
                    _join(arriving, step.jump, held, branched)
                if guard is None:
                    continue
            elif isinstance(instruction, (Load, Store, Atomic, Reduce, Fence, Barrier)):
                depends = _sources(held, instruction) | branched | guarded
                yield self._event(number, thread, index, step, depends, met)
                _assign(held, instruction, frozenset((number,)), guarded)
                number += 1
            else:
                _assign(held, instruction, _sources(held, instruction), guarded)
            _join(arriving, index + 1, held, branched)

    def _event(
        self,
        number: int,
        thread: int,
        index: int,
        step: UnrolledStep,
        depends: Sources,
        met: dict[tuple[int, int], int],
    ) -> SimulatedEvent:
        instruction = step.instruction
        assert instruction is not None
        if isinstance(instruction, Fence):
            return SimulatedEvent(number, thread, index, SimulatedEventKind.FENCE, instruction, dependencies=depends)
        if isinstance(instruction, Barrier):
            identifier = instruction.identifier.value if isinstance(instruction.identifier, Immediate) else 0
            key = (instruction.instance, identifier)
            met[key] = met.get(key, 0) + 1
            meeting = (*key, met[key])
            return SimulatedEvent(
                number, thread, index, SimulatedEventKind.BARRIER, instruction, dependencies=depends, meeting=meeting
            )
        locations = self.targets[thread, step.position]
        return SimulatedEvent(number, thread, index, KINDS[type(instruction)], instruction, locations, depends)


def _sources(held: dict[str, Sources], instruction: Instruction) -> Sources:
    found = NOTHING
    address = address_of(instruction)
    operands: tuple[Operand, ...] = operands_of(instruction)
    for operand in operands if address is None else (address, *operands):
        if isinstance(operand, Register):
            found |= held.get(operand.name, NOTHING)
    return found


def _assign(held: dict[str, Sources], instruction: Instruction, sources: Sources, guarded: Sources) -> None:
    destination = destination_of(instruction)
    if destination is None:
        return
    kept = NOTHING if guard_of(instruction) is None else held.get(destination.name, NOTHING) | guarded
    held[destination.name] = sources | kept


def _join(
    arriving: list[tuple[dict[str, Sources], Sources] | None], at: int, held: dict[str, Sources], branched: Sources
) -> None:
    known = arriving[at]
    if known is None:
        arriving[at] = (dict(held), branched)
        return
    registers, others = known
    for name, sources in held.items():
        registers[name] = registers.get(name, NOTHING) | sources
    arriving[at] = (registers, others | branched)


def _free_addresses(test: Test) -> int:
    """Where addresses begin so that no literal of the test looks like one."""
    literals = {declaration.initial for declaration in test.registers} | {entry.value for entry in test.init}
    for thread in test.threads:
        for instruction in thread:
            literals |= {each.value for each in operands_of(instruction) if isinstance(each, Immediate)}
    first = FIRST_ADDRESS
    span = ADDRESS_STEP * (len(test.memory_map.names) + 1)
    while any(isinstance(value, int) and first - span <= value < first + span for value in literals):
        first += 2 * span
    return first
