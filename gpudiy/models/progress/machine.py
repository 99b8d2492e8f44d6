"""A machine that runs a test: threads take turns, and each sees at once what others write.

A step of a thread is one instruction that others can notice, with the instructions on registers around it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpudiy.litmus import instruction as isa
from gpudiy.litmus.access import Proxy
from gpudiy.litmus.barrier_visit import NO_INSTANCE
from gpudiy.litmus.condition import AddressOf, Value
from gpudiy.litmus.instruction_text import instruction_text
from gpudiy.litmus.memory_types import initial_memory, wrap_value
from gpudiy.litmus.test import Test, Thread
from gpudiy.models.problems import Undecidable
from gpudiy.models.progress.awaits import loop_heads
from gpudiy.models.progress.barriers import Arrival, Arrivals, BarrierKey, add_arrival, is_complete, starts_anew
from gpudiy.models.values import are_equal, compare, compute, modify

Registers = tuple[Value, ...]  # in the order in which they are declared
Memory = tuple[Value, ...]  # one value for each location


class Action(NamedTuple):
    """An instruction that a thread ran; `value` is what it read from memory or wrote there, if it did."""

    thread: int
    position: int
    value: Value | None = None


class Program:
    """The code of one thread, ready to run."""

    def __init__(self, test: Test, number: int) -> None:
        self.number = number
        self.code: Thread = test.threads[number]
        declared = test.registers_of(number)
        self.slots = {declaration.name: index for index, declaration in enumerate(declared)}
        self.initial: Registers = tuple(wrap_value(each.initial, each.type) for each in declared)
        self.labels = {each.name: index for index, each in enumerate(self.code) if isinstance(each, isa.Label)}
        self.heads = loop_heads(self.code)
        names = test.memory_map.locations()
        order = {location: index for index, location in enumerate(dict.fromkeys(names.values()))}
        self.places = {name: order[location] for name, location in names.items()}
        self.cta = test.scope_tree.placements[number].cta
        self.barriers = {
            (each.instance, self._fixed_identifier(each)) for each in self.code if isinstance(each, isa.Barrier)
        }

    def is_awaited_at(self, key: BarrierKey) -> bool:
        """Whether a barrier without a count waits for this thread until it has finished.

        One of PTX waits for all threads of the CTA, one of Dat3M for those that may come to it.
        """
        comes = key.instance == NO_INSTANCE or not self.barriers.isdisjoint({key[1:], (key.instance, None)})
        return self.cta == key.cta and comes

    def _fixed_identifier(self, barrier: isa.Barrier) -> Value | None:
        """The identifier of a barrier, if it is the same in every run."""
        operand = barrier.identifier
        written = {register for each in self.code if (register := isa.destination_of(each)) is not None}
        return None if operand in written else self.value(operand, self.initial)

    def runs(self, instruction: isa.Instruction, registers: Registers) -> bool:
        """Whether the guard of an instruction lets it run."""
        guard = isa.guard_of(instruction)
        return guard is None or bool(registers[self.slots[guard.predicate.name]]) != guard.negated

    def value(self, operand: isa.Operand, registers: Registers) -> Value:
        """The value of an operand."""
        match operand:
            case isa.Immediate(value=value):
                return value
            case isa.Register(name=name):
                return registers[self.slots[name]]
            case _:
                return AddressOf(operand.name)

    def place(self, instruction: isa.MemoryInstruction, registers: Registers) -> int:
        """The location that an access touches."""
        if instruction.access.proxy is not Proxy.GENERIC:
            raise Undecidable(f"the proxy of `{instruction_text(instruction)}` of P{self.number} has no meaning here")
        target = self.value(instruction.address, registers)
        if not isinstance(target, AddressOf):
            raise Undecidable(f"P{self.number} uses {target} as an address")
        return self.places[target.variable]

    def assign(self, registers: Registers, register: isa.Register, value: Value) -> Registers:
        slot = self.slots[register.name]
        return (*registers[:slot], value, *registers[slot + 1 :])

    def compute(self, instruction: isa.Alu | isa.SetPredicate, registers: Registers) -> Registers:
        """The registers behind an instruction that touches nothing else."""
        values = [self.value(source, registers) for source in instruction.sources]
        if isinstance(instruction, isa.Alu):
            return self.assign(registers, instruction.destination, compute(instruction, values))
        truth = compare(instruction.comparison, values[0], values[1], instruction.type)
        return self.assign(registers, instruction.destination, int(truth))

    def access(
        self, instruction: isa.MemoryInstruction, registers: Registers, memory: Memory
    ) -> tuple[Registers, Memory, Value, bool]:
        """Registers and memory behind an access, the value that it read or wrote, and whether it wrote."""
        place = self.place(instruction, registers)
        old = memory[place]
        written: Value | None = None
        shown = old
        match instruction:
            case isa.Load(destination=destination):
                registers = self.assign(registers, destination, old)
            case isa.Store(source=source, access=access):
                shown = written = wrap_value(self.value(source, registers), access.type)
            case isa.Atomic() | isa.Reduce():
                operands = [self.value(source, registers) for source in instruction.sources]
                is_cas = instruction.operation is isa.AtomicOperation.CAS
                if not is_cas or are_equal(old, operands[0], instruction.access.type):
                    written = modify(instruction, old, operands)
                if isinstance(instruction, isa.Atomic):
                    registers = self.assign(registers, instruction.destination, old)
        if written is not None:
            memory = (*memory[:place], written, *memory[place + 1 :])
        return registers, memory, shown, written is not None

    def barrier(self, barrier: isa.Barrier, registers: Registers) -> tuple[BarrierKey, Arrival]:
        """The barrier that an instruction comes to, and the arrival there."""
        identifier = self.value(barrier.identifier, registers)
        count = None if barrier.count is None else self.value(barrier.count, registers)
        if isinstance(identifier, AddressOf) or isinstance(count, AddressOf):
            raise Undecidable(f"P{self.number} uses an address as the number of a barrier")
        return BarrierKey(self.cta, barrier.instance, identifier), Arrival(self.number, count)


class ThreadPoint(NamedTuple):
    """Where a thread is; `waiting` is the barrier at which it waits."""

    position: int
    registers: Registers
    waiting: BarrierKey | None = None


class MachineState(NamedTuple):
    """All threads and memory; `started` has a bit for each thread that took a step, where that matters."""

    threads: tuple[ThreadPoint, ...]
    memory: Memory
    arrivals: Arrivals = ()
    started: int = 0


class ThreadMachine:
    """Runs a test thread by thread; the units that are scheduled are the threads."""

    def __init__(self, test: Test, remember_started: bool) -> None:
        self.remember_started = remember_started
        self.programs = [Program(test, number) for number in range(len(test.threads))]
        locations = dict.fromkeys(test.memory_map.locations().values())
        memory = tuple(initial_memory(test, location) for location in locations)
        self.initial = MachineState(tuple(ThreadPoint(0, program.initial) for program in self.programs), memory)

    def is_finished(self, state: MachineState) -> bool:
        """Whether all threads have finished."""
        return all(self.is_at_end(state, number) for number in range(len(self.programs)))

    def find_started(self, state: MachineState) -> frozenset[int]:
        """The threads that took a step."""
        return frozenset(number for number in range(len(self.programs)) if state.started >> number & 1)

    def step(self, state: MachineState, number: int) -> MachineState | None:
        """The state behind one step of a thread; None if it waits at a barrier, or has finished."""
        point = state.threads[number]
        if point.waiting is not None or self.is_at_end(state, number):
            return None
        return self._step(state, number, point)[1]

    def successors(self, state: MachineState) -> Iterator[tuple[int, tuple[Action, ...], MachineState]]:
        """One step of each thread that can take one: the thread, what it did, and the state behind it."""
        for number, point in enumerate(state.threads):
            if point.waiting is None and not self.is_at_end(state, number):
                actions, after = self._step(state, number, point)
                yield number, actions, after

    def is_at_end(self, state: MachineState, number: int) -> bool:
        """Whether a thread has finished."""
        return state.threads[number].position == len(self.programs[number].code)

    def _step(self, state: MachineState, number: int, point: ThreadPoint) -> tuple[tuple[Action, ...], MachineState]:
        program = self.programs[number]
        position, registers, _ = point
        memory, arrivals, waiting = state.memory, state.arrivals, None
        action: Action | None = None
        passed: set[int] = set()  # heads of loops: a step goes round a loop at most once
        while position < len(program.code):
            instruction = program.code[position]
            runs = program.runs(instruction, registers)
            if position in program.heads:
                if position in passed:
                    break
                passed.add(position)
            if runs and not isinstance(instruction, (isa.Alu, isa.SetPredicate, isa.Branch, isa.Label)):
                if action is not None:
                    break
                action = Action(number, position)
            if not runs:
                position += 1
                continue
            match instruction:
                case isa.Load() | isa.Store() | isa.Atomic() | isa.Reduce():
                    registers, memory, value, _ = program.access(instruction, registers, memory)
                    action = Action(number, position, value)
                case isa.Barrier():
                    key, arrival = program.barrier(instruction, registers)
                    arrivals = add_arrival(arrivals, key, arrival)
                    if instruction.mode.waits:
                        waiting = key
                        break
                case isa.Alu() | isa.SetPredicate():
                    registers = program.compute(instruction, registers)
                case isa.Branch(target=target):
                    position = program.labels[target]
                    continue
                case isa.ProxyFence():
                    raise Undecidable(f"`{instruction_text(instruction)}` of P{number} has no meaning here")
                case isa.Fence() | isa.Label():
                    pass
            position += 1
        threads = list(state.threads)
        threads[number] = ThreadPoint(position, registers, waiting)
        started = state.started | (1 << number if self.remember_started else 0)
        after = self._release(MachineState(tuple(threads), memory, arrivals, started))
        return (action or Action(number, point.position),), after

    def _release(self, state: MachineState) -> MachineState:
        """The state in which threads have left the barriers that are complete."""
        left: list[tuple[BarrierKey, tuple[Arrival, ...]]] = []
        threads = list(state.threads)
        for key, arrived in state.arrivals:
            awaited = [
                number
                for number, program in enumerate(self.programs)
                if program.is_awaited_at(key) and not self.is_at_end(state, number)
            ]
            complete = is_complete(arrived, awaited)
            if not complete or not starts_anew(key, arrived):
                left.append((key, arrived))
            if not complete:
                continue
            for number, point in enumerate(threads):
                if point.waiting == key:
                    threads[number] = ThreadPoint(point.position + 1, point.registers)
        after = state._replace(threads=tuple(threads), arrivals=tuple(left))
        return state if after == state else self._release(after)
