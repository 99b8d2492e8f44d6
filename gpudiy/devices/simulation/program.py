"""`SimulatedProgram`: a test prepared for simulation: unrolled threads, their events, memory as numbers."""

from __future__ import annotations

from collections.abc import Iterator

from gpudiy.devices.simulation.event import SimulatedEvent, event_kind
from gpudiy.devices.simulation.unrolled import UnrolledStep, unroll_thread
from gpudiy.litmus.access import ScalarType, Space
from gpudiy.litmus.arithmetic import read_as_type, wrap_value
from gpudiy.litmus.condition import AddressOf, Value
from gpudiy.litmus.dependencies import list_reads, static_dependencies
from gpudiy.litmus.flow import memory_uses
from gpudiy.litmus.instruction import (
    Barrier,
    Immediate,
    Instruction,
    operands_of,
)
from gpudiy.litmus.test import Test

FIRST_ADDRESS, ADDRESS_STEP = 0x4E100000, 0x1000  # fit registers of 32 bits too


class SimulatedProgram:
    """What the machine knows about a test before a run."""

    def __init__(self, test: Test) -> None:
        self.test = test
        self.placements = test.scope_tree.placements
        behind = test.memory_map.locations()
        self.locations = tuple(dict.fromkeys(behind.values()))
        self.location_of = {name: self.locations.index(location) for name, location in behind.items()}
        spaces = [test.memory_map.space_of(name) for name in self.locations]
        self.cached_locations = frozenset(number for number, space in enumerate(spaces) if space is Space.GLOBAL)
        self.names = test.memory_map.names
        self.first_address = _free_addresses(test)
        self.addressed = {self.address(name): self.location_of[name] for name in self.names}
        uses = memory_uses(test)
        self.types = self._location_types(uses)
        self.initial = [
            wrap_value(self.number(test.initial_value(name)), type)
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
            {d.name: wrap_value(self.number(d.initial), d.type) for d in test.registers_of(number)}
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
        """A value as a number of the machine."""
        return self.address(value.variable) if isinstance(value, AddressOf) else value

    def value(self, number: int, type: ScalarType) -> Value:
        """A number of the machine as an outcome shows it: an address is the name of its variable."""
        index, rest = divmod(number - self.first_address, ADDRESS_STEP)
        if rest == 0 and 0 <= index < len(self.names):
            return AddressOf(self.names[index])
        return read_as_type(number, type)

    def before(self, one: SimulatedEvent, other: SimulatedEvent) -> bool:
        """Whether one event precedes another in program order."""
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
        """The events of a thread, in the order of its steps, numbered from `first`."""
        steps = self.steps[thread]
        jumps = {index: step.jump for index, step in enumerate(steps) if step.jump is not None}
        numbers: dict[int, int] = {}
        met: dict[tuple[int, int], int] = {}
        for index, depends in enumerate(static_dependencies([step.instruction for step in steps], jumps)):
            instruction = steps[index].instruction
            kind = None if instruction is None or depends is None else event_kind(instruction)
            if instruction is None or depends is None or kind is None:
                continue
            numbers[index] = first + len(numbers)
            yield SimulatedEvent(
                numbers[index],
                thread,
                index,
                kind,
                instruction,
                self.targets.get((thread, steps[index].position), frozenset()),
                frozenset(numbers[read] for read in list_reads(depends.all)),
                _meeting(instruction, met),
            )


def _meeting(instruction: Instruction, met: dict[tuple[int, int], int]) -> tuple[int, int, int]:
    """Which barriers this one can meet: its instance, its identifier, and its number among those of its thread."""
    if not isinstance(instruction, Barrier):
        return (0, 0, 0)
    identifier = instruction.identifier.value if isinstance(instruction.identifier, Immediate) else 0
    key = (instruction.instance, identifier)
    met[key] = met.get(key, 0) + 1
    return (*key, met[key])


def _free_addresses(test: Test) -> int:
    """The first address, such that no literal of the test is an address."""
    literals = {declaration.initial for declaration in test.registers} | {entry.value for entry in test.init}
    for thread in test.threads:
        for instruction in thread:
            literals |= {each.value for each in operands_of(instruction) if isinstance(each, Immediate)}
    first = FIRST_ADDRESS
    span = ADDRESS_STEP * (len(test.memory_map.names) + 1)
    while any(isinstance(value, int) and first - span <= value < first + span for value in literals):
        first += 2 * span
    return first
