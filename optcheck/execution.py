"""Symbolic execution: all paths of a function from its entry to its ends, with what each does in order.

Whoever asks for the paths watches them: it is told every step, and copied where a path forks. A path runs every loop
once: when it first reaches the head of a loop, all that the loop writes becomes unknown, and when it comes back to the
head, it ends there. So what holds for all paths holds for every number of rounds.
"""

from __future__ import annotations

from optcheck.code_rest import CodeRests
from optcheck.computation import Computation, computation_of, only_computes
from optcheck.condition_code import generic_address
from optcheck.executed_code import PROVED_RESTS, STRAIGHT_RUNS, ProvedRest, StraightRun
from optcheck.fence_form import find_fence
from optcheck.graph import Graph
from optcheck.join_targets import PUSHES, pop, pushed_for
from optcheck.loop_body import find_loop_bodies, unknown_words
from optcheck.noted_values import NotedValues
from optcheck.opcodes import COMPUTING
from optcheck.operands import read_operand, read_register
from optcheck.path_state import PathState, Watcher
from optcheck.path_steps import (
    NotUnderstood,
    PathEnd,
    SassAccess,
    SassDecision,
    SassFence,
    SassLoop,
    SassTable,
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
from optcheck.stack_words import STACK, find_stack_offset, stack_word
from optcheck.term import ZERO, Term, add, negate, number, symbol

MOST_STEPS = 40_000  # instructions of all paths together
VOTES = frozenset({"VOTE", "VOTEU", "MATCH", "ELECT", "SHFL"})
SILENT = frozenset({"NOP", "YIELD", "BMOV", "DEPBAR", "LDGDEPBAR"})  # change no register and no memory
ENDS = frozenset({"EXIT", "RET"})
NOT_KNOWN = Computation(())  # whether instructions only compute


class SassExecution:
    """Runs the paths of one function."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.instructions = graph.function.instructions
        self.identities = graph.function.identities
        self.bodies = find_loop_bodies(graph)
        self.rests = CodeRests(graph, self.bodies)
        self.starts = {graph.starts[head]: head for head in self.bodies}
        self.steps = 0
        self.start = 0
        self.places = {0, *self.starts}  # where a path may end because it was there before
        self.waiting: list[PathState] = []
        self._straight_ends: dict[int, int] = {}  # by where straight code begins
        self._computations: dict[int, Computation | None] = {}  # by where they begin

    def run(self, watcher: Watcher, start: int = 0) -> None:
        """Run all paths from an instruction on; raises `NotUnderstood`."""
        stack = self.graph.joins.stack_before(start)
        if stack is None:
            raise NotUnderstood("threads were split in several ways", start)
        self.start = start
        self.places = {start, *self.starts}
        self._run_paths(PathState(start, {}, watcher, {}, stack=stack))

    def _run_paths(self, first: PathState) -> None:
        before, self.waiting = self.waiting, [first]
        while self.waiting:
            state = self.waiting.pop()
            end = self._run_path(state)
            if end is not None:
                state.watcher.end(end)
        self.waiting = before

    def _run_path(self, state: PathState) -> PathEnd | None:
        """Run a path to its end, None if its rest is proved; where it forks, the other way waits."""
        while True:
            index = state.index
            if index >= len(self.instructions):
                return self._leave_fragment(state)
            if state.chosen and not state.resumed:
                state.chosen = False
                if self._prove_rest(state):
                    return None
            self.steps += 1
            if self.steps > MOST_STEPS:
                raise NotUnderstood("the function has too many paths", index)
            if index in self.places:
                end_of_round = self._come_to(state, index)
                if end_of_round is not None:
                    return end_of_round
            state.resumed = False
            state.moved = True
            if state.watcher.common is not None and self._run_straight(state):
                continue
            computation = self._computations.get(index, NOT_KNOWN)
            if computation is NOT_KNOWN:
                computation = self._find_computation(index)
            if computation is not None:
                state.registers.update(computation.run(state.registers))
                state.index += computation.length
                continue
            instruction = self.instructions[index]
            if instruction.guard is not None and not self._holds(state, instruction.guard, index):
                state.index += 1
                continue
            if instruction.opcode in ENDS:
                if state.stack and instruction.opcode == "RET":
                    raise NotUnderstood("threads were split and do not join", index)
                return PathEnd(index, instruction, None, state.registers)
            self._step(state, instruction)

    def _come_to(self, state: PathState, index: int) -> PathEnd | None:
        """At the head of a loop, or where the paths began: the end of the path if it was here before."""
        head = self.starts.get(index)
        if head is not None and not state.resumed:
            if head in state.heads:
                if state.heads[head] != (state.barriers, state.stack):
                    raise NotUnderstood("threads meet elsewhere in the next round of a loop", index)
                return PathEnd(index, self.instructions[index], head, state.registers)
            self._enter_loop(state, head)
        elif index == self.start and state.moved:
            return PathEnd(index, self.instructions[index], None, state.registers)
        return None

    def _leave_fragment(self, state: PathState) -> PathEnd:
        """Only the code of a kernel must have an end."""
        last = len(self.instructions) - 1
        if any(one.ends for one in self.instructions):
            raise NotUnderstood("the code has no end", last)
        return PathEnd(last, self.instructions[last], None, state.registers)

    def _prove_rest(self, state: PathState) -> bool:
        """Prove the rest of a path, unless that was done before; false if it depends on more than is known of it."""
        summary = state.watcher.summarize(state.registers)
        rest = self.rests.find(state.index, state.heads, state.barriers)
        if summary is None or rest is None or state.stack or isinstance(state.registers, NotedValues):
            return False
        if self.start in rest.places:
            return False
        key = (rest.key, summary.key, tuple(state.decided.items()), state.unknowns)
        proved = PROVED_RESTS.find(key, state.registers.get)
        if proved is not None and self.steps + proved.steps <= MOST_STEPS:
            self.steps += proved.steps
            summary.found.update(proved.found.renumber(dict(enumerate(rest.places))))
            return True
        state.registers = registers = NotedValues(state.registers)
        earlier, steps = summary.found.take(), self.steps
        self._run_paths(state)
        found = summary.found.take()
        numbers = {place: number for number, place in enumerate(rest.places)}
        kept = (summary.kept, [self.instructions[place] for place in rest.places])
        PROVED_RESTS.keep(key, registers.read, ProvedRest(found.renumber(numbers), self.steps - steps, kept))
        summary.found.update(earlier)
        summary.found.update(found)
        return True

    def _run_straight(self, state: PathState) -> bool:
        """Run the instructions up to the next branch, which belong to no thread, as they ran before.

        False if there are none.
        """
        start = state.index
        end = self._straight_ends.get(start) or self._find_straight_end(start)
        if end == start:
            return False
        key = (self.identities[start:end], state.watcher.common, state.unknowns)
        known = STRAIGHT_RUNS.find(key, state.registers.get)
        if known is not None:
            state.registers.update(known.written)
            state.unknowns += known.unknowns
            state.watcher.add_loads(known.loads)
            state.index = end
            self.steps += known.steps - 1
            return True
        registers, unknowns, loads, steps = state.registers, state.unknowns, state.watcher.loads, self.steps
        state.registers = noted = NotedValues(registers)
        while state.index < end:
            self._step(state, self.instructions[state.index])
        for name in noted.read:
            registers.get(name)  # these may be noted too
        registers.update(noted.written)
        state.registers = registers
        self.steps += end - start - 1
        if state.watcher.common is not None:
            run = StraightRun(
                noted.written,
                state.watcher.loads - loads,
                state.unknowns - unknowns,
                self.steps - steps,
                self.instructions[start:end],
            )
            STRAIGHT_RUNS.keep(key, noted.read, run)
        return True

    def _find_straight_end(self, start: int) -> int:
        """The end of the code from here on that has no branches, up to the head of a loop."""
        end = start
        while end < len(self.instructions) and self.instructions[end].is_straight:
            end += 1
            if end in self.places:
                break
        self._straight_ends[start] = end
        return end

    def _find_computation(self, index: int) -> Computation | None:
        """The instructions from here on that only compute, up to the head of a loop."""
        end = index
        while end < len(self.instructions) and only_computes(self.instructions[end]):
            end += 1
            if end in self.places:
                break
        found = None
        if end > index:
            found = computation_of(self.identities[index:end], self.instructions[index:end])
        self._computations[index] = found
        return found

    def _holds(self, state: PathState, guard: PredicateOperand, index: int) -> bool:
        """Whether the predicate holds on this path; if both are possible, the other way waits."""
        if guard.name in TRUE:
            return not guard.negated
        return self._decide(state, read_register(guard.name, state.registers), index) != guard.negated

    def _decide(self, state: PathState, condition: Term, index: int) -> bool:
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
                one.chosen = one.watcher.chosen
            self.waiting.append(other)
            known = True
        return known != turned

    def _enter_loop(self, state: PathState, head: int) -> None:
        names, places = self.bodies[head]
        base = find_stack_offset(read_register(STACK, state.registers)) if places else 0
        if base is None:
            raise NotUnderstood("an access to the stack is not understood", self.graph.starts[head])
        names += tuple([stack_word(base + place) for place in places])
        known = state.watcher.enter(SassLoop(head, names, state.registers))
        state.registers.update(unknown_words(len(state.heads), names))
        state.registers.update(known)
        state.heads = {**state.heads, head: (state.barriers, state.stack)}

    def _step(self, state: PathState, instruction: SassInstruction) -> None:
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
            state.watcher.step(SassFence(index, find_fence(self.instructions, index)))
        elif opcode in ("BSSY", "BSYNC"):
            self._converge(state, instruction, index)
        elif opcode in SILENT:
            for name in instruction.writes:
                state.unknowns += 1
                state.registers[name] = symbol("silent", state.unknowns, name)
        elif opcode in COMPUTING:
            state.unknowns += 1
            state.registers.update(results(instruction, state.registers, state.unknowns))
        else:
            raise NotUnderstood(f"{opcode} is not understood", index)

    def _converge(self, state: PathState, instruction: SassInstruction, index: int) -> None:
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

    def _branch(self, state: PathState, instruction: SassInstruction, index: int) -> None:
        for operand in instruction.operands:
            if isinstance(operand, PredicateOperand):
                taken = self._decide(state, read_operand(operand, state.registers), index)
                if not taken:
                    return
        state.index = self._target(index)

    def _branch_by_table(self, state: PathState, index: int) -> None:
        following = self.graph.successors[self.graph.block_of[index]]
        if not following:
            raise NotUnderstood("the targets of a jump are not in the listing", index)
        register = self.instructions[index].operands[0]
        place = read_operand(register, state.registers), read_operand(register, state.registers, 1)
        shown = tuple(self.graph.starts[block] for block in following)
        first, *others = state.watcher.jump(SassTable(index, place, shown))
        for target in others:
            other = state.fork(target)
            other.resumed = False
            other.watcher.arrive(target)
            self.waiting.append(other)
        state.watcher.arrive(first)
        state.index = first

    def _pop(self, state: PathState, pushed: str, index: int) -> None:
        """The threads go on where the last instruction of this kind says."""
        popped = pop(state.stack, pushed)
        if popped is None:
            raise NotUnderstood("threads join where none were split", index)
        state.index, state.stack = popped

    # Memory.

    def _access(self, state: PathState, instruction: SassInstruction, index: int) -> None:
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
                state.unknowns += 1
                state.registers[name] = symbol("loaded", state.unknowns, name)
            else:
                state.registers[name] = known[word]

    def _access_stack(
        self, state: PathState, instruction: SassInstruction, address: AddressOperand, index: int
    ) -> None:
        """Words of the stack are like registers."""
        base = address.registers[0] if address.registers else None
        place = add(read_operand(base, state.registers), number(address.offset)) if base else number(address.offset)
        offset = find_stack_offset(place)
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


def _address(operand: AddressOperand, instruction: SassInstruction, state: PathState, index: int) -> tuple[Term, Term]:
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
