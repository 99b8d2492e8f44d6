"""Running a thread along all its paths.

A thread is run once for each way control can go, not once for each value a read can return: reads are symbols, values
are terms over them, and a run forks only where a branch, a guard, the success of a cas, an address or a barrier
depends on a read. What must be true of the reads for control to go this way is kept with the path.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from gpudiy.litmus import instruction as isa
from gpudiy.litmus.barrier_count import count_threads
from gpudiy.litmus.condition import AddressOf, Value
from gpudiy.litmus.dependencies import Dependencies, DependencyRule, DependencyState, RealDependencyState
from gpudiy.litmus.flow import memory_uses
from gpudiy.litmus.memory_types import wrap_value
from gpudiy.litmus.test import Test
from gpudiy.models.event import Event, EventKind
from gpudiy.models.liveness import live_registers
from gpudiy.models.path import Doubt, Path, ThreadRun
from gpudiy.models.problems import Undecidable
from gpudiy.models.term import Applied, ReadTerm, SymbolicValue, Term, Terms
from gpudiy.models.values import compute, modify


class PathRunner:
    """Runs one thread of a test.

    `observed` are the registers whose final values matter. `barriers` are the numbers a barrier may have, or wait for,
    where that depends on a read.

    With `collapse`, a path is left out on which a loop goes round to no effect: the thread comes to the head of the
    loop, then comes there again, has written nothing and met no barrier on the way, and all registers that may still be
    looked at have the values and the dependencies they had before. Without that pass the path is a path, too, and
    nothing is lost if the model is one of which `Plan.can_drop_reads` is true. For let X be an execution with such a
    pass, and X' the same without the reads and fences of the pass. No write is gone, so each read of X' still has its
    write, and co and final values are the same; the thread does after the pass what it would do without it. All other
    relations of X' are those of X between the events that are left, and whatever the model computes from them has no
    pairs in X' that it does not have in X. So no check fails in X' that does not fail in X.
    """

    def __init__(
        self,
        test: Test,
        number: int,
        locations: dict[str, str],
        observed: frozenset[str],
        collapse: bool,
        dependencies: DependencyRule = DependencyRule.SYNTACTIC,
    ) -> None:
        self.test = test
        self.number = number
        self.thread = test.threads[number]
        self.locations = locations
        self.collapse = collapse
        self.dependencies = dependencies
        self.barriers: frozenset[int] = frozenset()
        self.initial: dict[str, SymbolicValue] = {
            declaration.name: wrap_value(declaration.initial, declaration.type)
            for declaration in test.registers
            if declaration.thread == number
        }
        self.labels = {each.name: index for index, each in enumerate(self.thread) if isinstance(each, isa.Label)}
        self.heads = {
            self.labels[each.target]
            for index, each in enumerate(self.thread)
            if isinstance(each, isa.Branch) and self.labels[each.target] <= index
        }
        self.live = live_registers(self.thread, observed) if self.heads else []
        self.terms = Terms()
        self.cut: list[Path] = []
        self.waited: list[Path] = []
        self.doubts: list[Doubt] = []
        self._targets: dict[int, list[str]] | None = None

    def paths(self, unroll: int, check_time: Callable[[], None]) -> list[Path]:
        """All paths that end; loops go round at most `unroll` times.

        `cut` has the paths that would go on, and `waited` those that came round a loop to no effect.
        """
        found: list[Path] = []
        self.cut, self.waited, self.doubts = [], [], []
        pending = [ThreadRun(0, dict(self.initial), self._start_dependencies())]
        while pending:
            run = pending.pop()
            check_time()
            while run.position < len(self.thread):
                if self.heads:
                    if self.collapse and run.position in self.heads and self._came_back(run):
                        self.waited.append(run.finish(len(self.waited)))
                        break
                    visits = run.visits.get(run.position, 0) + 1
                    if visits > unroll:
                        self.cut.append(run.finish(len(self.cut)))
                        break
                    run.visits[run.position] = visits
                following = self._step(run)
                if len(following) != 1:
                    pending += following
                    break
                (run,) = following
            else:
                found.append(run.finish(len(found)))
        return found

    def _start_dependencies(self) -> DependencyState:
        if self.dependencies is DependencyRule.SYNTACTIC:
            return DependencyState()
        from gpudiy.models.real_dependence import RealReads  # a solver is loaded only where it is used

        state = RealDependencyState(find_real_reads=RealReads())
        for declaration in self.test.registers_of(self.number):
            value = wrap_value(declaration.initial, declaration.type)
            state.held[declaration.name] = state.values.constant(value)
        return state

    def _step(self, run: ThreadRun) -> list[ThreadRun]:
        """Run one instruction; there are several runs where control forks."""
        instruction = self.thread[run.position]
        guard = isa.guard_of(instruction)
        if guard is not None:
            value = run.registers[guard.predicate.name]
            if isinstance(value, (ReadTerm, Applied)):
                term, negated = self.terms.without_negation(value)
                known = run.truth(term)
                if known is None:
                    return self._fork(run, term)
                value = known is not negated
            if bool(value) == guard.negated:
                run.depends.step(instruction, run.depends.dependencies(instruction), runs=False)
                run.position += 1
                return [run]
        match instruction:
            case isa.Load() | isa.Store() | isa.Atomic() | isa.Reduce():
                return self._access(run, instruction)
            case isa.Barrier():
                return self._barrier(run, instruction)
            case isa.Label():
                pass
            case isa.Branch() | isa.Alu() | isa.SetPredicate() | isa.Fence() | isa.ProxyFence():
                self._run_simple(run, instruction)
                if isinstance(instruction, isa.Branch):
                    return [run]
        run.position += 1
        return [run]

    def _run_simple(
        self, run: ThreadRun, instruction: isa.Branch | isa.Alu | isa.SetPredicate | isa.Fence | isa.ProxyFence
    ) -> None:
        """Run an instruction that touches no memory and never forks."""
        depends = run.depends.dependencies(instruction)
        match instruction:
            case isa.Branch(target=target):
                run.position = self.labels[target]
            case isa.Alu():
                operands = [self._value(run, source) for source in instruction.sources]
                name = (instruction.operation, instruction.type, instruction.source_type)
                run.registers[instruction.destination.name] = self.terms.apply(
                    name, lambda v: compute(instruction, v), *operands
                )
            case isa.SetPredicate():
                left, right = (self._value(run, source) for source in instruction.sources)
                run.registers[instruction.destination.name] = self.terms.compare(
                    instruction.comparison, left, right, instruction.type
                )
            case isa.Fence():
                run.add(Event(EventKind.FENCE, self.number, instruction), 0, depends)
            case isa.ProxyFence():
                run.add(Event(EventKind.PROXY_FENCE, self.number, instruction), 0, depends)
        run.depends.step(instruction, depends, runs=True)

    def _fork(self, run: ThreadRun, term: Term) -> list[ThreadRun]:
        """Go on where a term is true and where it is false; the instruction is looked at again."""
        if self.heads:
            run.visits[run.position] -= 1
        other = run.copy()
        run.require(term, True, self.terms)
        other.require(term, False, self.terms)
        return [other, run]

    def _choose(self, run: ThreadRun, term: Term, values: Collection[Value], use: str) -> list[ThreadRun]:
        """Go on for each value that a term may have; anything else would have no meaning."""
        if self.heads:
            run.visits[run.position] -= 1
        locations = tuple(event.location for event in run.events)
        self.doubts.append(Doubt(term, frozenset(values), locations, tuple(run.constraints), self.number, use))
        following = []
        for value in values:
            chosen = run.copy()
            chosen.require(self.terms.has_value(term, value), True, self.terms)
            following.append(chosen)
        return following

    def _find_value(self, run: ThreadRun, term: Term, values: Collection[Value]) -> Value | None:
        """The value that was chosen for a term, if it was."""
        return next((value for value in values if run.decided.get(self.terms.has_value(term, value))), None)

    def _came_back(self, run: ThreadRun) -> bool:
        """Whether the thread came to this head of a loop before, and since then only read, to no effect."""
        registers = [(run.registers[name], run.depends.describe_register(name)) for name in self.live[run.position]]
        now = (registers, run.marks)
        before = run.heads.get(run.position)
        run.heads[run.position] = now
        return before == now

    def _access(self, run: ThreadRun, instruction: isa.MemoryInstruction) -> list[ThreadRun]:
        target: SymbolicValue | None = self._value(run, instruction.address)
        if isinstance(target, (ReadTerm, Applied)):
            variables = self._variables(run.position)
            chosen = self._find_value(run, target, variables)
            if chosen is None:
                return self._choose(run, target, variables, "as an address")
            target = chosen
        if not isinstance(target, AddressOf):
            raise Undecidable(f"P{self.number} uses {target} as an address")
        depends = run.depends.dependencies(instruction)
        match instruction:
            case isa.Load():
                self._read(run, instruction, target.variable, depends)
            case isa.Store():
                value = self._wrap(self._value(run, instruction.source), instruction)
                self._write(run, instruction, target.variable, value, depends)
            case isa.Atomic() | isa.Reduce():
                return self._modify(run, instruction, target.variable, depends)
        run.position += 1
        return [run]

    def _read(
        self, run: ThreadRun, instruction: isa.Load | isa.Atomic | isa.Reduce, variable: str, depends: Dependencies
    ) -> int:
        term = self.terms.read(len(run.events))
        event = Event(EventKind.READ, self.number, instruction, variable, self.locations[variable])
        position = run.add(event, term, depends)
        run.depends.step(instruction, depends, 1 << position, runs=True)
        if not isinstance(instruction, isa.Reduce):
            run.registers[instruction.destination.name] = term
        return position

    def _write(
        self,
        run: ThreadRun,
        instruction: isa.MemoryInstruction,
        variable: str,
        value: SymbolicValue,
        depends: Dependencies,
    ) -> int:
        run.marks += 1
        return run.add(
            Event(EventKind.WRITE, self.number, instruction, variable, self.locations[variable]), value, depends
        )

    def _modify(
        self, run: ThreadRun, atomic: isa.Atomic | isa.Reduce, variable: str, depends: Dependencies
    ) -> list[ThreadRun]:
        """A read and, unless a cas fails, a write of what the operation makes of the value read."""
        old = self.terms.read(len(run.events))
        operands = [self._value(run, source) for source in atomic.sources]
        following: list[ThreadRun] = []
        equal: SymbolicValue = 1
        if atomic.operation is isa.AtomicOperation.CAS:
            equal = self.terms.equal(old, operands[0], atomic.access.type)
            assert isinstance(equal, Applied)
            failed = run.copy()
            self._read(failed, atomic, variable, depends)
            failed.require(equal, False, self.terms)
            following.append(failed)
            written = self._wrap(operands[1], atomic)
        else:
            name = (atomic.operation, atomic.access.type)
            written = self.terms.apply(name, lambda v: modify(atomic, v[0], v[1:]), old, *operands)
        read = self._read(run, atomic, variable, depends)
        run.rmw.append((read, self._write(run, atomic, variable, written, depends)))
        if isinstance(equal, Applied):
            run.require(equal, True, self.terms)
        following.append(run)
        for each in following:
            each.position += 1
        return following

    def _barrier(self, run: ThreadRun, barrier: isa.Barrier) -> list[ThreadRun]:
        held: list[int | None] = []
        for operand in (barrier.identifier, barrier.count):
            value = None if operand is None else self._value(run, operand)
            if isinstance(value, (ReadTerm, Applied)):
                chosen = self._find_value(run, value, self.barriers)
                if chosen is None:
                    return self._choose(run, value, self.barriers, "as the number of a barrier")
                value = chosen
            if isinstance(value, AddressOf):
                raise Undecidable(f"P{self.number} uses an address as the number of a barrier")
            held.append(value)
        identifier, count = held
        assert identifier is not None
        key = (barrier.instance, identifier)
        before = run.meetings.get(key, 0)
        run.meetings[key] = before + 1
        run.marks += 1
        event = Event(
            EventKind.BARRIER,
            self.number,
            barrier,
            meeting=(*key, before),
            count=None if count is None else count_threads(count),
        )
        run.add(event, 0, run.depends.dependencies(barrier))
        run.position += 1
        return [run]

    def _variables(self, position: int) -> list[AddressOf]:
        """The variables that the instruction at a position may touch."""
        if self._targets is None:
            self._targets = {
                use.position: sorted(use.targets) for use in memory_uses(self.test) if use.thread == self.number
            }
        return [AddressOf(name) for name in self._targets[position]]

    def _value(self, run: ThreadRun, operand: isa.Operand) -> SymbolicValue:
        if isinstance(operand, isa.Immediate):
            return operand.value
        if isinstance(operand, isa.Register):
            return run.registers[operand.name]
        return AddressOf(operand.name)

    def _wrap(self, value: SymbolicValue, instruction: isa.MemoryInstruction) -> SymbolicValue:
        type = instruction.access.type
        return self.terms.apply(("wrapped", type), lambda v: wrap_value(v[0], type), value)
