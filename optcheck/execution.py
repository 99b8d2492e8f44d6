"""Symbolic execution: all paths of a function from its entry to its ends, with what each does in order.

Whoever asks for the paths watches them: it is told every step, and copied where a path forks. A path runs every loop
once: when it first reaches the head of a loop, all that the loop writes becomes unknown, and when it comes back to the
head, it ends there. So what holds for all paths holds for every number of rounds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from optcheck.computation import Computation, computation_of, only_computes
from optcheck.condition_code import generic_address
from optcheck.graph import Graph
from optcheck.join_targets import PUSHES, Stack, pop, pushed_for
from optcheck.opcodes import COMPUTING
from optcheck.operands import read_operand, read_register
from optcheck.path_steps import (
    NotUnderstood,
    PathEnd,
    SassAccess,
    SassDecision,
    SassFence,
    SassLoop,
    SassTable,
    Step,
)
from optcheck.sass import (
    TRUE,
    AddressOperand,
    NameOperand,
    PredicateOperand,
    RegisterOperand,
    SassInstruction,
    Touch,
    successor,
)
from optcheck.sass import UNIFORM_ZERO as UNIFORM_ZERO_REGISTER
from optcheck.sass import ZERO as ZERO_REGISTER
from optcheck.semantics import results
from optcheck.term import ZERO, Term, add, entry, negate, number, symbol

MOST_STEPS = 40_000  # instructions of all paths together
STACK = "R1"
VOTES = frozenset({"VOTE", "VOTEU", "MATCH", "ELECT", "SHFL"})
SILENT = frozenset({"NOP", "YIELD", "BMOV", "DEPBAR", "LDGDEPBAR"})  # change no register and no memory
ENDS = frozenset({"EXIT", "RET"})
NOT_KNOWN = Computation(())  # whether instructions only compute


class Watcher(Protocol):
    """What follows a path; each of its methods may raise an exception to stop the execution."""

    def step(self, step: Step) -> None:
        """The path decides something, or orders its accesses."""

    def access(self, step: SassAccess) -> tuple[Term, ...]:
        """The path accesses memory: what it reads, if that is known."""

    def enter(self, step: SassLoop) -> dict[str, Term]:
        """The path enters a loop: what it carries from round to round, if that is known."""

    def jump(self, step: SassTable) -> None:
        """The path goes through a table that the listing does not show."""

    def end(self, end: PathEnd) -> None:
        """The path ends."""

    def fork(self) -> Watcher:
        """A copy that follows another way from here."""


@dataclass(slots=True)
class _State:
    index: int
    registers: dict[str, Term]
    watcher: Watcher
    decided: dict[Term, bool]
    heads: dict[int, tuple[dict[str, int], Stack]] = field(default_factory=dict)  # of the loops: where threads meet
    stack: Stack = ()
    barriers: dict[str, int] = field(default_factory=dict)
    resumed: bool = False  # the loop that begins here was entered already
    moved: bool = False  # the path is no longer where it began

    def fork(self, index: int) -> _State:
        registers, decided = dict(self.registers), dict(self.decided)
        return _State(index, registers, self.watcher.fork(), decided, self.heads, self.stack, self.barriers, True, True)


class SassExecution:
    """Runs the paths of one function."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.instructions = graph.function.instructions
        self.bodies = _loop_bodies(graph)
        self.starts = {graph.starts[head]: head for head in self.bodies}
        self.steps = 0
        self.start = 0
        self.waiting: list[_State] = []
        self._computations: dict[int, Computation | None] = {}  # by where they begin

    def run(self, watcher: Watcher, start: int = 0) -> None:
        """Run all paths from an instruction on; raises `NotUnderstood`."""
        self.waiting = [_State(start, {}, watcher, {})]
        self.start = start
        while self.waiting:
            state = self.waiting.pop()
            state.watcher.end(self._run_path(state))

    def _run_path(self, state: _State) -> PathEnd:
        """Run a path to its end; where it forks, the other way waits."""
        starts = self.starts
        while True:
            index = state.index
            if index >= len(self.instructions):
                return self._leave_fragment(state)
            self.steps += 1
            if self.steps > MOST_STEPS:
                raise NotUnderstood("the function has too many paths", index)
            head = starts.get(index)
            if head is not None and not state.resumed:
                if head in state.heads:
                    if state.heads[head] != (state.barriers, state.stack):
                        raise NotUnderstood("threads meet elsewhere in the next round of a loop", index)
                    return PathEnd(index, self.instructions[index], head, state.registers)
                self._enter_loop(state, head)
            elif index == self.start and state.moved:
                return PathEnd(index, self.instructions[index], None, state.registers)
            state.resumed = False
            state.moved = True
            computation = self._computations.get(index, NOT_KNOWN)
            if computation is NOT_KNOWN:
                computation = self._find_computation(index)
            if computation is not None:
                state.registers.update(computation.run(state.registers))
                state.index += len(computation.instructions)
                continue
            instruction = self.instructions[index]
            if instruction.guard is not None and not self._holds(state, instruction.guard, index):
                state.index += 1
                continue
            if instruction.opcode in ENDS:
                if state.stack:
                    raise NotUnderstood("threads were split and do not join", index)
                return PathEnd(index, instruction, None, state.registers)
            self._step(state, instruction)

    def _leave_fragment(self, state: _State) -> PathEnd:
        """Only the code of a kernel must have an end."""
        last = len(self.instructions) - 1
        if any(one.ends for one in self.instructions):
            raise NotUnderstood("the code has no end", last)
        return PathEnd(last, self.instructions[last], None, state.registers)

    def _find_computation(self, index: int) -> Computation | None:
        """The instructions from here on that only compute, up to the head of a loop."""
        end = index
        while end < len(self.instructions) and only_computes(self.instructions[end]):
            end += 1
            if end in self.starts:
                break
        found = computation_of(tuple(self.instructions[index:end])) if end > index else None
        self._computations[index] = found
        return found

    def _holds(self, state: _State, guard: PredicateOperand, index: int) -> bool:
        """Whether the predicate holds on this path; if both are possible, the other way waits."""
        if guard.name in TRUE:
            return not guard.negated
        return self._decide(state, read_register(guard.name, state.registers), index) != guard.negated

    def _decide(self, state: _State, condition: Term, index: int) -> bool:
        if condition.is_number:
            return condition is not ZERO
        turned = condition.operation == "not"
        plain = negate(condition) if turned else condition
        known = state.decided.get(plain)
        if known is None:
            other = state.fork(index)
            for one, value in ((other, False), (state, True)):
                one.decided[plain] = value
                one.watcher.step(SassDecision(index, plain, value))
            self.waiting.append(other)
            known = True
        return known != turned

    def _enter_loop(self, state: _State, head: int) -> None:
        names, places = self.bodies[head]
        base = _stack_offset(read_register(STACK, state.registers))
        if places and base is None:
            raise NotUnderstood("an access to the stack is not understood", self.graph.starts[head])
        names = [*names, *(stack_word((base or 0) + place) for place in places)]
        before = {name: read_register(name, state.registers) for name in names}
        known = state.watcher.enter(SassLoop(head, before))
        for name in names:
            state.registers[name] = known.get(name) or symbol("loop", head, name)
        state.heads = {**state.heads, head: (state.barriers, state.stack)}

    def _step(self, state: _State, instruction: SassInstruction) -> None:
        index = state.index
        opcode = instruction.opcode
        state.index += 1
        if instruction.touch is not None:
            self._access(state, instruction, index)
        elif opcode in ("BRA", "JMP") or instruction.is_near_call:
            self._branch(state, instruction, index)
        elif opcode in ("BRX", "JMX"):
            self._branch_by_table(state, index)
        elif opcode in PUSHES:
            state.stack += ((opcode, self._target(index)),)
        elif (kind := pushed_for(instruction)) is not None:
            self._pop(state, kind, index)
        elif instruction.is_fence:
            state.watcher.step(SassFence(index, instruction))
        elif opcode in ("BSSY", "BSYNC"):
            self._converge(state, instruction, index)
        elif opcode in SILENT:
            for name in instruction.writes:
                state.registers[name] = symbol("silent", index, name)
        elif opcode in COMPUTING:
            state.registers.update(results(instruction, state.registers, index))
        else:
            raise NotUnderstood(f"{opcode} is not understood", index)

    def _converge(self, state: _State, instruction: SassInstruction, index: int) -> None:
        """BSSY says where the threads of a warp will meet; BSYNC must be just before that place."""
        operand = instruction.operands[0] if instruction.operands else None
        barrier = operand.text if isinstance(operand, NameOperand) else str(operand)
        if instruction.opcode == "BSSY":
            state.barriers = {**state.barriers, barrier: self._target(index)}
        elif state.barriers.get(barrier, index + 1 if self.start else None) != index + 1:
            raise NotUnderstood("threads meet where they should not", index)
        else:
            state.barriers = {name: place for name, place in state.barriers.items() if name != barrier}

    def _target(self, index: int) -> int:
        targets = self.graph.function.targets_of(index)
        if not targets or len(targets) != 1:
            raise NotUnderstood("the target of a branch is not in the listing", index)
        return targets[0]

    def _branch(self, state: _State, instruction: SassInstruction, index: int) -> None:
        for operand in instruction.operands:
            if isinstance(operand, PredicateOperand):
                taken = self._decide(state, read_operand(operand, state.registers), index)
                if not taken:
                    return
        state.index = self._target(index)

    def _branch_by_table(self, state: _State, index: int) -> None:
        following = self.graph.successors[self.graph.block_of[index]]
        if not following:
            raise NotUnderstood("the targets of a jump are not in the listing", index)
        register = self.instructions[index].operands[0]
        place = read_operand(register, state.registers), read_operand(register, state.registers, 1)
        state.watcher.jump(SassTable(index, place))
        for block in following[1:]:
            other = state.fork(self.graph.starts[block])
            other.resumed = False
            self.waiting.append(other)
        state.index = self.graph.starts[following[0]]

    def _pop(self, state: _State, pushed: str, index: int) -> None:
        """The threads go on where the last instruction of this kind says."""
        popped = pop(state.stack, pushed)
        if popped is None:
            raise NotUnderstood("threads join where none were split", index)
        state.index, state.stack = popped

    # Memory.

    def _access(self, state: _State, instruction: SassInstruction, index: int) -> None:
        address = instruction.address
        if address is None:
            raise NotUnderstood(f"{instruction.opcode} without an address", index)
        if instruction.space == "local":
            self._access_stack(state, instruction, address, index)
            return
        place = _address(address, instruction, state, index)
        for one in instruction.sources:
            if isinstance(one, PredicateOperand) and read_operand(one, state.registers) is not generic_address(*place):
                raise NotUnderstood("the space of a generic address is not understood", index)
        words = range(instruction.words)
        data = tuple([tuple([read_operand(one, state.registers, word) for word in words]) for one in instruction.data])
        offset = address.offset - (1 << 32) if address.offset >> 31 else address.offset
        descriptor = None
        if address.descriptor:
            high = successor(address.descriptor, 1)
            descriptor = read_register(address.descriptor, state.registers), read_register(high, state.registers)
        known = state.watcher.access(SassAccess(index, instruction, place, offset, data, descriptor))
        for name, word in instruction.writes.items():
            if name[0] == "P" or word >= len(known):
                state.registers[name] = symbol("loaded", index, name)
            else:
                state.registers[name] = known[word]

    def _access_stack(self, state: _State, instruction: SassInstruction, address: AddressOperand, index: int) -> None:
        """Words of the stack are like registers."""
        base = address.registers[0] if address.registers else None
        place = add(read_operand(base, state.registers), number(address.offset)) if base else number(address.offset)
        offset = _stack_offset(place)
        if offset is None or not set(instruction.modifiers) <= {"64", "128"}:
            raise NotUnderstood("an access to the stack is not understood", index)
        for word in range(instruction.words):
            name = stack_word(offset + 4 * word)
            if instruction.touch is Touch.STORE:
                state.registers[name] = read_operand(instruction.data[0], state.registers, word)
                continue
            register = instruction.operands[0]
            if isinstance(register, RegisterOperand) and register.name != ZERO_REGISTER:
                state.registers[successor(register.name, word)] = read_register(name, state.registers)


def stack_word(offset: int) -> str:
    """The name under which a word of the stack is kept, by its distance from the stack pointer at entry."""
    return f"[{offset}]"


def _stack_offset(place: Term) -> int | None:
    start = entry(STACK)
    if place is start:
        return 0
    if place.operation == "add" and len(place.arguments) == 2 and place.arguments[0] is start:
        last = place.arguments[1]
        if isinstance(last, Term) and last.is_number:
            return last.number - (1 << 32) if last.number >> 31 else last.number
    return None


def _address(operand: AddressOperand, instruction: SassInstruction, state: _State, index: int) -> tuple[Term, Term]:
    """The two words of the sum of the registers of an address; the upper one is 0 if it has 32 bits."""
    registers = [one for one in operand.registers if one.name not in (ZERO_REGISTER, UNIFORM_ZERO_REGISTER)]
    wide = "E" in instruction.modifiers
    if not wide:
        return add(*(read_operand(one, state.registers) for one in registers), ZERO), ZERO
    if len(registers) > 1 or any(one.part or one.negated for one in registers):
        raise NotUnderstood("an address of two registers is not understood", index)
    if not registers:
        return ZERO, ZERO
    return read_operand(registers[0], state.registers), read_operand(registers[0], state.registers, 1)


def _loop_bodies(graph: Graph) -> dict[int, tuple[list[str], list[int]]]:
    """For the head of each loop, the registers that the loop writes, and the words of the stack."""
    bodies: dict[int, set[int]] = {}
    for last, head in graph.back:
        body = bodies.setdefault(head, {head})
        waiting = [last]
        while waiting:
            block = waiting.pop()
            if block not in body:
                body.add(block)
                waiting += graph.predecessors[block]
    written = {}
    for head, body in bodies.items():
        names: dict[str, None] = {}
        places: dict[int, None] = {}
        for block in body:
            for instruction in graph.function.instructions[graph.starts[block] : graph.ends[block]]:
                if not instruction.changes_nothing:
                    names.update(instruction.cleared)
                if instruction.space == "local" and instruction.touch is Touch.STORE and instruction.address:
                    offset = instruction.address.offset
                    first = offset - (1 << 32) if offset >> 31 else offset
                    places |= {first + 4 * word: None for word in range(instruction.words)}
        written[head] = (list(names), list(places))
    return written
