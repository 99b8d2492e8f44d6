"""Two machines that run tests step by step: interleaving, and interleaving with store buffers.

They share nothing with the models but the litmus room: arithmetic is on bit patterns, outcomes come from a search over
the states of the machine. A barrier must stand in straight-line code, without a guard and without a count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from gpudiy.litmus import instruction as isa
from gpudiy.litmus.access import ScalarType
from gpudiy.litmus.comparison import Comparison
from gpudiy.litmus.condition import AddressOf, FinalRegister, Observable, Value, holds
from gpudiy.litmus.test import Test

LOCAL = (isa.Alu, isa.SetPredicate, isa.Branch, isa.Label)


@dataclass(frozen=True, slots=True)
class ThreadState:
    """Where a thread is; its buffer holds stores (location, value) that nobody else has seen, oldest first."""

    position: int
    registers: tuple[Value, ...]
    visits: tuple[int, ...]
    buffer: tuple[tuple[str, Value], ...] = ()
    arrivals: tuple[tuple[int, int], ...] = ()  # the barriers it came to, in order
    waiting: bool = False


@dataclass(frozen=True, slots=True)
class State:
    threads: tuple[ThreadState, ...]
    memory: tuple[Value, ...]


class Machine:
    """All ways one test can run; `buffered` gives every thread a store buffer."""

    def __init__(self, test: Test, buffered: bool, unroll: int = 2) -> None:
        self.test = test
        self.buffered = buffered
        self.unroll = unroll
        locate = test.memory_map.location_of
        self.location = {name: locate(name) for name in test.memory_map.names}
        self.index = {name: number for number, name in enumerate(dict.fromkeys(self.location.values()))}
        self.types = [
            {declaration.name: declaration.type for declaration in test.registers_of(number)}
            for number in range(len(test.threads))
        ]
        self.labels = [
            {each.name: position for position, each in enumerate(thread) if isinstance(each, isa.Label)}
            for thread in test.threads
        ]
        self.loops = [
            any(
                isinstance(each, isa.Branch) and labels[each.target] <= position for position, each in enumerate(thread)
            )
            for thread, labels in zip(test.threads, self.labels, strict=True)
        ]

    def outcomes(self) -> set[tuple[Value, ...]]:
        """The final states that can be reached, as the observed values."""
        found: set[tuple[Value, ...]] = set()
        start = self._start()
        pending = [] if start is None else [start]
        seen = set(pending)
        while pending:
            state = pending.pop()
            if self._finished(state):
                final = {term: self._final(state, term) for term in self.test.observed}
                if self.test.filter is None or holds(self.test.filter, final.__getitem__):
                    found.add(tuple(final.values()))
                continue
            for following in self._successors(state):
                if following not in seen:
                    seen.add(following)
                    pending.append(following)
        return found

    def _start(self) -> State | None:
        threads = []
        for number, thread in enumerate(self.test.threads):
            registers = tuple(
                bits(declaration.initial, declaration.type) for declaration in self.test.registers_of(number)
            )
            state = self._local(number, ThreadState(0, registers, (0,) * len(thread)))
            if state is None:
                return None
            threads.append(state)
        memory = tuple(bits(self.test.initial_value(name), ScalarType.B32) for name in self.index)
        return State(tuple(threads), memory)

    def _finished(self, state: State) -> bool:
        return all(
            thread.position == len(program) and not thread.buffer
            for thread, program in zip(state.threads, self.test.threads, strict=True)
        )

    def _final(self, state: State, term: Observable) -> Value:
        if isinstance(term, FinalRegister):
            types = self.types[term.thread]
            value = state.threads[term.thread].registers[list(types).index(term.name)]
            return shown(value, types[term.name])
        return shown(state.memory[self.index[self.location[term.name]]], ScalarType.S32)

    def _successors(self, state: State) -> Iterator[State]:
        for number, thread in enumerate(state.threads):
            if thread.buffer:
                (location, value), *rest = thread.buffer
                drained = replace(thread, buffer=tuple(rest))
                yield self._with(state, number, drained, self._stored(state.memory, location, value))
            if thread.position < len(self.test.threads[number]):
                for after, memory in self._visible(state, number, thread):
                    local = self._local(number, after)
                    if local is not None:
                        yield self._with(state, number, local, memory)

    def _visible(self, state: State, number: int, thread: ThreadState) -> Iterator[tuple[ThreadState, tuple]]:
        """The next instruction of a thread, one that others can notice; nothing if it has to wait."""
        instruction = self.test.threads[number][thread.position]
        memory = state.memory
        if isinstance(instruction, isa.Barrier):
            if not thread.buffer:
                yield from ((after, memory) for after in self._barrier(state, number, thread, instruction))
            return
        done = self._past(number, thread)
        if isinstance(instruction, isa.Fence):
            if not thread.buffer:
                yield done, memory
            return
        assert isinstance(instruction, (isa.Load, isa.Store, isa.Atomic, isa.Reduce))
        location = self._location(number, thread, instruction.address)
        if isinstance(instruction, isa.Store):
            value = bits(self._value(number, thread, instruction.source), instruction.access.type)
            if self.buffered:
                yield replace(done, buffer=(*thread.buffer, (location, value))), memory
            else:
                yield done, self._stored(memory, location, value)
            return
        own = [value for place, value in thread.buffer if place == location]
        old = own[-1] if own else memory[self.index[location]]
        if isinstance(instruction, isa.Load):
            yield self._assigned(number, done, instruction.destination, old), memory
        elif not thread.buffer:
            new = self._modified(number, thread, instruction, old)
            if isinstance(instruction, isa.Atomic):
                done = self._assigned(number, done, instruction.destination, old)
            yield done, self._stored(memory, location, new)

    def _barrier(self, state: State, number: int, thread: ThreadState, barrier: isa.Barrier) -> Iterator[ThreadState]:
        """First the thread arrives, then it waits for others of its CTA.

        With an instance these are the threads that come here as often as it did. Without one these are all that still
        have this barrier before them, or another one at which they wait: a thread that only arrives at another barrier
        goes on to its end, and a thread that ends releases a barrier without ordering anything.
        """
        key = self._key(barrier)
        if not thread.waiting:
            arrived = replace(thread, arrivals=(*thread.arrivals, key), waiting=True)
            if barrier.mode is isa.BarrierMode.ARRIVE:
                arrived = replace(arrived, position=thread.position + 1, waiting=False)
            yield arrived
            return
        meeting = thread.arrivals.count(key)
        placements = self.test.scope_tree.placements
        for other, program in enumerate(self.test.threads):
            if barrier.instance == 0:
                ahead = [each for each in program[state.threads[other].position :] if isinstance(each, isa.Barrier)]
                comes = any(self._key(each) == key or each.mode is isa.BarrierMode.SYNC for each in ahead)
            else:
                comes = sum(isinstance(each, isa.Barrier) and self._key(each) == key for each in program) >= meeting
            meets = other != number and comes and placements[other].cta == placements[number].cta
            if meets and state.threads[other].arrivals.count(key) < meeting:
                return
        yield replace(thread, position=thread.position + 1, waiting=False)

    @staticmethod
    def _key(barrier: isa.Barrier) -> tuple[int, int]:
        assert isinstance(barrier.identifier, isa.Immediate) and barrier.count is None and barrier.guard is None
        return barrier.instance, barrier.identifier.value

    def _local(self, number: int, thread: ThreadState) -> ThreadState | None:
        """The thread at its next visible instruction; None if a loop went round too often."""
        program = self.test.threads[number]
        while thread.position < len(program):
            if thread.waiting:
                return thread
            instruction = program[thread.position]
            guard = isa.guard_of(instruction)
            runs = guard is None or bool(self._value(number, thread, guard.predicate)) != guard.negated
            visible = runs and not isinstance(instruction, LOCAL)
            if self.loops[number] and thread.visits[thread.position] >= self.unroll:
                return None
            if visible:
                return thread
            thread = self._past(number, thread)
            if runs:
                thread = self._local_step(number, thread, instruction)
        return thread

    def _past(self, number: int, thread: ThreadState) -> ThreadState:
        """The thread behind its instruction; only threads with loops count how often they were where."""
        visits = list(thread.visits)
        visits[thread.position] += self.loops[number]
        return replace(thread, position=thread.position + 1, visits=tuple(visits))

    def _local_step(self, number: int, thread: ThreadState, instruction: isa.Instruction) -> ThreadState:
        if isinstance(instruction, isa.Branch):
            return replace(thread, position=self.labels[number][instruction.target])
        if isinstance(instruction, isa.Alu):
            values = [self._value(number, thread, source) for source in instruction.sources]
            return self._assigned(number, thread, instruction.destination, computed(instruction, values))
        if isinstance(instruction, isa.SetPredicate):
            left, right = (self._value(number, thread, source) for source in instruction.sources)
            truth = compared(instruction.comparison, shown(left, instruction.type), shown(right, instruction.type))
            return self._assigned(number, thread, instruction.destination, int(truth))
        return thread

    def _modified(self, number: int, thread: ThreadState, atomic: isa.Atomic | isa.Reduce, old: Value) -> Value:
        type = atomic.access.type
        operands = [bits(self._value(number, thread, source), type) for source in atomic.sources]
        match atomic.operation:
            case "cas":
                return operands[1] if old == operands[0] else old
            case "exch":
                return operands[0]
            case "inc":
                return 0 if old >= operands[0] else bits(old + 1, type)
            case "dec":
                return operands[0] if old == 0 or old > operands[0] else old - 1
        return arithmetic(atomic.operation, old, operands[0], type)

    def _value(self, number: int, thread: ThreadState, operand: isa.Operand) -> Value:
        if isinstance(operand, isa.Register):
            return thread.registers[list(self.types[number]).index(operand.name)]
        return operand.value if isinstance(operand, isa.Immediate) else AddressOf(operand.name)

    def _location(self, number: int, thread: ThreadState, address: isa.Operand) -> str:
        target = self._value(number, thread, address)
        assert isinstance(target, AddressOf)
        return self.location[target.variable]

    def _assigned(self, number: int, thread: ThreadState, register: isa.Register, value: Value) -> ThreadState:
        types = self.types[number]
        registers = list(thread.registers)
        registers[list(types).index(register.name)] = bits(value, types[register.name])
        return replace(thread, registers=tuple(registers))

    def _stored(self, memory: tuple, location: str, value: Value) -> tuple:
        index = self.index[location]
        return (*memory[:index], value, *memory[index + 1 :])

    @staticmethod
    def _with(state: State, number: int, thread: ThreadState, memory: tuple) -> State:
        return State((*state.threads[:number], thread, *state.threads[number + 1 :]), memory)


def bits(value: Value, type: ScalarType) -> Value:
    """A number as the bit pattern of a type."""
    return value if isinstance(value, AddressOf) else value & ((1 << type.bits) - 1)


def shown(value: Value, type: ScalarType) -> Value:
    """A bit pattern as the number people read."""
    value = bits(value, type)
    if isinstance(value, AddressOf) or type[0] in "up":
        return value
    return value - (1 << type.bits) if value >> (type.bits - 1) else value


def compared(comparison: Comparison, left: Value, right: Value) -> bool:
    if comparison is Comparison.EQ:
        return left == right
    if comparison is Comparison.NE:
        return left != right
    return {"lt": left < right, "le": left <= right, "gt": left > right, "ge": left >= right}[comparison]


def arithmetic(operation: str, left: Value, right: Value, type: ScalarType) -> Value:
    one, other = shown(left, type), shown(right, type)
    return bits(
        {
            "add": one + other, "sub": one - other, "mul": one * other, "min": min(one, other),
            "max": max(one, other), "and": one & other, "or": one | other, "xor": one ^ other,
        }[operation], type,
    )  # fmt: skip


def computed(alu: isa.Alu, values: list[Value]) -> Value:
    match alu.operation:
        case "mov":
            return values[0]
        case "cvt":
            assert alu.source_type is not None
            return bits(shown(values[0], alu.source_type), alu.type)
        case "not":
            return ~values[0]
        case "selp":
            return values[0] if values[2] else values[1]
        case "add" if isinstance(values[0], AddressOf) and values[1] == 0:
            return values[0]
    return arithmetic(alu.operation, values[0], values[1], alu.type)
