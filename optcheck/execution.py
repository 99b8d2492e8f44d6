"""Symbolic execution: all paths of a function from its entry to its ends, with what each does in order.

Whoever asks for the paths watches them: it is told every step, and copied where a path forks. A path runs every loop
once: when it first reaches the head of a loop, all that the loop writes becomes unknown, and when it comes back to the
head, it ends there. So what holds for all paths holds for every number of rounds.
"""

from __future__ import annotations

from collections.abc import Mapping

from optcheck.code_rest import CodeRests
from optcheck.computation import Computation, computation_of, only_computes
from optcheck.executed_access import perform_access
from optcheck.executed_code import PROVED_RESTS, STRAIGHT_RUNS, ProvedRest, StraightRun
from optcheck.fence_form import fence_text, find_fence
from optcheck.graph import Graph
from optcheck.join_targets import PUSHES, pop, pushed_for
from optcheck.loop_body import find_loop_bodies, unknown_words
from optcheck.noted_values import NotedValues
from optcheck.opcodes import COMPUTING
from optcheck.operands import read_operand, read_register, write_result
from optcheck.path_state import PathState, Watcher
from optcheck.path_steps import (
    NotUnderstood,
    PathEnd,
    SassClock,
    SassDecision,
    SassFence,
    SassLoop,
    SassSleep,
    SassTable,
)
from optcheck.sass import TRUE, WORD, NameOperand, PredicateOperand, SassInstruction
from optcheck.semantics import is_clock, results
from optcheck.stack_words import STACK, find_stack_offset, stack_word
from optcheck.term import ZERO, Term, conjunction, negate, symbol

MOST_STEPS = 40_000  # instructions of all paths together
VOTES = frozenset({"VOTE", "VOTEU", "MATCH", "ELECT", "SHFL"})
SILENT = frozenset({"NOP", "YIELD", "BMOV", "DEPBAR", "LDGDEPBAR"})  # change no register and no memory
WHOLE_WARP = ("WARPSYNC.ALL", f"WARPSYNC {WORD}")  # all threads of a warp come together
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

    def run(self, watcher: Watcher, start: int = 0, known: Mapping[str, Term] | None = None) -> None:
        """Run all paths from an instruction on, with words that are known there; raises `NotUnderstood`."""
        stack = self.graph.joins.stack_before(start)
        if stack is None:
            raise NotUnderstood("threads were split in several ways", start)
        self.start = start
        self.places = {start, *self.starts}
        self._run_paths(PathState(start, dict(known or {}), watcher, {}, stack=stack))

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
            if instruction.guard is not None and self._pass_guard(state, instruction, instruction.guard):
                continue
            _expect_known(instruction, index)
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
        while end < len(self.instructions) and self.instructions[end].is_straight and self.instructions[end].is_known:
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
            perform_access(state, instruction, index)
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
        elif self._waits(state, opcode, index):
            pass
        elif opcode in COMPUTING:
            state.unknowns += 1
            state.registers.update(results(instruction, state.registers, state.unknowns))
            if is_clock(instruction):
                self._read_clock(state, instruction, index)
        else:
            raise NotUnderstood(f"{opcode} is not understood", index)

    def _waits(self, state: PathState, opcode: str, index: int) -> bool:
        """Whether the thread only waits for a while, where it may."""
        match opcode:
            case "NANOSLEEP":
                return state.watcher.sleep(SassSleep(index))
            case "WARPSYNC":
                return self._joins_for_barrier(index)
            case _:
                return False

    def _joins_for_barrier(self, index: int) -> bool:
        """Whether a whole warp comes together just before a barrier, which the watcher looks at."""
        joins, following = self.instructions[index], self.instructions[index + 1 : index + 2]
        before_barrier = any(one.opcode == "BAR" and one.guard is None for one in following)
        return before_barrier and joins.guard is None and fence_text(joins) in WHOLE_WARP

    def _read_clock(self, state: PathState, instruction: SassInstruction, index: int) -> None:
        said = state.watcher.read_clock(SassClock(index, instruction))
        if said is not None:
            state.registers.update(write_result(instruction, said))

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

    def _pass_guard(self, state: PathState, instruction: SassInstruction, guard: PredicateOperand) -> bool:
        """Decide on the guard; False if it holds and the instruction must run.

        A branch with a guard and one more predicate, as a loop with a bound has it, is taken by one decision.
        """
        index = state.index
        others = [operand for operand in instruction.operands if isinstance(operand, PredicateOperand)]
        if instruction.opcode != "BRA" or not others:
            holds = self._holds(state, guard, index)
            state.index += not holds
            return not holds
        _expect_known(instruction, index)
        taken = read_operand(guard, state.registers)
        for operand in others:
            taken = conjunction(taken, read_operand(operand, state.registers))
        state.index = self._target(index) if self._decide(state, taken, index) else index + 1
        return True

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


def _expect_known(instruction: SassInstruction, index: int) -> None:
    if not instruction.is_known:
        name = ".".join((instruction.opcode, *instruction.modifiers))
        raise NotUnderstood(f"{name} is not understood", index)
