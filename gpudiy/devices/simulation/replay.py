"""The replay: what one instance does, given the times of its moments."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from gpudiy.devices.simulation.event import SimulatedEvent, SimulatedEventKind
from gpudiy.devices.simulation.moment import Moment, MomentStage, Timetable
from gpudiy.devices.simulation.registers import NotKnownYet, Reached, operand_value, run_to, runs_here
from gpudiy.litmus import instruction as isa
from gpudiy.litmus.arithmetic import CannotCompute, modify_value, wrap_value
from gpudiy.litmus.condition import FinalRegister, Observable, Value
from gpudiy.litmus.instruction import address_of, destination_of, guard_of, operands_of
from gpudiy.litmus.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Request:
    """What an access asks of memory: where, and the operands that decide what is written."""

    location: int
    operands: tuple[int, ...]


class Replay(ABC):
    """Runs instances of one program; the abstract methods are a kind of memory."""

    def __init__(self, table: Timetable) -> None:
        self.table = table
        self.program = table.program
        self.terms = self.program.test.observed
        watched = {term.thread for term in self.terms if isinstance(term, FinalRegister)}
        # a thread without branches always ends, so only what is observed of it matters
        branching = {
            number
            for number, thread in enumerate(self.program.test.threads)
            if any(isinstance(instruction, isa.Branch) for instruction in thread)
        }
        self.followed = sorted(watched | branching)
        self.direct = self._find_direct_reads() if not branching else None
        self.constant = {event.number: self._find_constant_request(event) for event in self.program.events}
        self.values: dict[int, int] = {}

    def outcome(self, times: Sequence[float]) -> Outcome | None:
        """The observed values; None if a loop did not end."""
        self.values = {}
        self._start()
        moments = self.table.moments
        for number in sorted(range(len(times)), key=times.__getitem__):
            self._happen(moments[number])
        registers: dict[int, dict[str, int | None]] = {}
        if self.direct is None:
            for thread in self.followed:
                reached = run_to(self.program, thread, len(self.program.steps[thread]), self.values)
                if reached.given_up:
                    return None
                registers[thread] = reached.registers
        return tuple(self._final(term, registers) for term in self.terms)

    def _final(self, term: Observable, registers: dict[int, dict[str, int | None]]) -> Value:
        if not isinstance(term, FinalRegister):
            location = self.program.location_of[term.name]
            return self.program.value(self._memory()[location], self.program.types[location])
        number = self.values[self.direct[term]] if self.direct is not None else registers[term.thread][term.name]
        assert number is not None
        type = self.program.register_types[term.thread][term.name]
        return self.program.value(wrap_value(number, type), type)

    def _find_direct_reads(self) -> dict[FinalRegister, int] | None:
        """For each observed register the read that sets it last; None if one is not set by an unguarded read."""
        found: dict[FinalRegister, int] = {}
        for term in self.terms:
            if not isinstance(term, FinalRegister):
                continue
            for index, step in enumerate(self.program.steps[term.thread]):
                destination = None if step.instruction is None else destination_of(step.instruction)
                if destination is None or destination.name != term.name or step.instruction is None:
                    continue
                found.pop(term, None)
                if isinstance(step.instruction, (isa.Load, isa.Atomic)) and guard_of(step.instruction) is None:
                    found[term] = self.program.by_step[term.thread, index].number
            if term not in found:
                return None
        return found

    @abstractmethod
    def _start(self) -> None:
        """Set every location to its initial value."""

    @abstractmethod
    def _memory(self) -> list[int]:
        """The final value of every location."""

    def _happen(self, moment: Moment) -> None:
        if moment.stage is MomentStage.ISSUE:
            request = self._request(moment.event)
            if request is not None:
                self._issue(moment.event, request)
        elif moment.stage is MomentStage.ARRIVE:
            self._arrive(moment.event)
        elif moment.stage is MomentStage.SEEN:
            self._become_visible(moment.event, moment.viewer)
        else:
            self._fill(moment.event)

    @abstractmethod
    def _issue(self, event: SimulatedEvent, request: Request) -> None:
        """An access leaves its thread."""

    @abstractmethod
    def _arrive(self, event: SimulatedEvent) -> None:
        """An access reaches the memory."""

    @abstractmethod
    def _become_visible(self, event: SimulatedEvent, viewer: int) -> None:
        """A write becomes visible to a thread."""

    @abstractmethod
    def _fill(self, event: SimulatedEvent) -> None:
        """L1 takes the line of a load from L2."""

    def _compute_written(self, event: SimulatedEvent, request: Request, old: int) -> int | None:
        """What a store or an atomic writes; None if it writes nothing."""
        instruction = event.instruction
        if isinstance(instruction, isa.Store):
            return wrap_value(request.operands[0], instruction.access.type)
        assert isinstance(instruction, (isa.Atomic, isa.Reduce))
        return modify_value(instruction.operation, old, list(request.operands), instruction.access.type)

    def _request(self, event: SimulatedEvent) -> Request | None:
        """What the event asks; None if the thread does not reach it, or its guard is false."""
        request = self.constant[event.number]
        if request is not None:
            return request
        reached = run_to(self.program, event.thread, event.step, self.values)
        return self._make_request(event, reached)

    def _make_request(self, event: SimulatedEvent, reached: Reached) -> Request | None:
        if not (reached.there and runs_here(event, reached.registers)):
            return None
        instruction = event.instruction
        if not isinstance(instruction, isa.MemoryInstruction):
            return Request(-1, ())
        address = operand_value(self.program, reached.registers, address_of(instruction) or instruction.address)
        operands = [operand_value(self.program, reached.registers, operand) for operand in operands_of(instruction)]
        if address is None or None in operands:
            raise NotKnownYet
        location = self.program.addressed.get(address)
        if location is None:
            raise CannotCompute(f"P{event.thread} uses {address:#x} as an address, but no variable is there")
        return Request(location, tuple(value for value in operands if value is not None))

    def _find_constant_request(self, event: SimulatedEvent) -> Request | None:
        """What the event asks, if that does not depend on reads; else None."""
        if event.dependencies:
            return None
        try:
            return self._make_request(event, run_to(self.program, event.thread, event.step, {}))
        except NotKnownYet:
            return None


class SingleMemory(Replay):
    """One memory; each thread sees its own stores before they reach it, and may load from stale lines of L1."""

    def _start(self) -> None:
        self.memory = list(self.program.initial)
        # by thread, by load: the values that are in L1 for it, by location
        self.lines: list[dict[int, dict[int, int]]] = [{} for _ in self.program.placements]
        self.waiting: list[dict[int, list[tuple[int, int]]]] = [{} for _ in self.program.placements]
        self.buffered: dict[int, tuple[int, int]] = {}

    def _memory(self) -> list[int]:
        return self.memory

    def _issue(self, event: SimulatedEvent, request: Request) -> None:
        if event.kind in (SimulatedEventKind.BARRIER, SimulatedEventKind.FENCE):
            return
        location = request.location
        queue = self.waiting[event.thread].get(location)
        old = queue[-1][1] if queue else self._look_up(event, location)
        if event.reads:
            self.values[event.number] = old
        if not event.writes:
            return
        written = self._compute_written(event, request, old)
        if written is None:
            return
        if event.kind is SimulatedEventKind.ATOMIC:
            self._write(event, location, written)
        else:
            self.waiting[event.thread].setdefault(location, []).append((event.number, written))
            self.buffered[event.number] = (location, written)

    def _arrive(self, event: SimulatedEvent) -> None:
        entry = self.buffered.pop(event.number, None)
        if entry is not None:
            location, written = entry
            self.waiting[event.thread][location].remove((event.number, written))
            self._write(event, location, written)

    def _write(self, event: SimulatedEvent, location: int, written: int) -> None:
        self.memory[location] = written
        self._remove_lines(event.thread, location)

    def _remove_lines(self, thread: int, location: int) -> None:
        """Remove from L1 what it holds of a location for the thread that wrote there."""
        for line in self.lines[thread].values():
            line.pop(location, None)

    def _look_up(self, event: SimulatedEvent, location: int) -> int:
        """What L1 holds for a load, or else L2."""
        line = self.lines[event.thread].get(event.number, {})
        return line.get(location, self.memory[location])

    def _fill(self, event: SimulatedEvent) -> None:
        held = event.locations & self.program.cached_locations
        self.lines[event.thread][event.number] = {location: self.memory[location] for location in held}

    def _become_visible(self, event: SimulatedEvent, viewer: int) -> None:
        """Nothing happens: all threads see one memory."""
