"""Write the code of one thread of a test: its path through the lock, with a critical section."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from gpudiy.errors import InputError
from gpudiy.litmus import instruction as isa
from gpudiy.litmus.access import Access, CacheOperator, Order, ScalarType
from gpudiy.litmus.comparison import Comparison
from gpudiy.litmus.condition import Compare, Constant, Expression, FinalRegister
from gpudiy.litmus.test import RegisterDeclaration
from gpudiy.locks.lock import Lock, Turn
from gpudiy.locks.path import AccessStep, DecisionStep, FenceStep, HoleStep, LockPath, LockStep
from gpudiy.locks.symbolic_value import (
    NUMBERED,
    AnyNumber,
    ComparedValues,
    ComputedValue,
    GivenNumber,
    JoinedPredicates,
    Number,
    OpaqueValue,
    ReadValue,
    SymbolicAddress,
    SymbolicValue,
    find_opaque,
    rebuild,
)

SIGN_MATTERS = (isa.AtomicOperation.INC, isa.AtomicOperation.DEC, isa.AtomicOperation.MIN, isa.AtomicOperation.MAX)


class LockUse(StrEnum):
    """How a thread uses the lock in a test."""

    HOLDER = "holder"  # holds the lock at the start, does its critical section, releases the lock
    TAKER = "taker"  # acquires the lock, does its critical section
    USER = "user"  # acquires the lock, does its critical section, releases the lock
    PASSER = "passer"  # does not get the lock, and passes by


class SectionOperationKind(StrEnum):
    """The operations of critical sections."""

    READ = "read"
    WRITE = "write"
    INCREMENT = "increment"


@dataclass(frozen=True, slots=True)
class SectionOperation:
    """One operation of a critical section on a data variable."""

    kind: SectionOperationKind
    variable: str
    value: int = 0


class Infeasible(Exception):
    """This thread cannot take this path with the numbers it was given."""


@dataclass(slots=True)
class LockThreadCode:
    """The instructions of a thread, with their source lines (0: the critical section) and what to ask of the registers.

    `reads` are the registers that the critical section reads into, in order.
    """

    thread: int
    instructions: list[isa.Instruction] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    types: dict[str, ScalarType] = field(default_factory=dict)
    reads: list[str] = field(default_factory=list)
    marker: str = ""
    guarded: bool = False  # whether a decision guards the critical section
    tests: list[tuple[str, int] | None] = field(default_factory=list)  # decisions: a register and what it must hold

    @property
    def entered(self) -> Expression:
        """The thread entered: it read a certain value from the lock, or set its marker register."""
        if self.guarded and len(self.tests) == 1 and self.tests[0] is not None:
            name, value = self.tests[0]
            return Compare(Comparison.EQ, FinalRegister(self.thread, name), Constant(value))
        return Compare(Comparison.EQ, FinalRegister(self.thread, self.marker), Constant(1))

    @property
    def stayed_out(self) -> Expression:
        return Compare(Comparison.EQ, FinalRegister(self.thread, self.marker), Constant(0))

    @property
    def declarations(self) -> list[RegisterDeclaration]:
        return [RegisterDeclaration(self.thread, name, type) for name, type in self.types.items()]


def write_thread_code(
    lock: Lock, turn: Turn, use: LockUse, section: Sequence[SectionOperation], thread: int,
    path: LockPath | None = None, shared: frozenset[str] = frozenset(), early: bool = False,
) -> LockThreadCode:  # fmt: skip
    """Write the code of a thread; `shared` are the variables in shared space. With `early`, the loads of the critical
    section do not wait for the branch before them: compilers and hardware may do so.
    """
    return _Writer(lock, turn, thread, shared, section, early).write(turn.path if path is None else path, use)


class _Writer:
    def __init__(
        self,
        lock: Lock,
        turn: Turn,
        thread: int,
        shared: frozenset[str],
        section: Sequence[SectionOperation],
        early: bool,
    ) -> None:
        self.lock = lock
        self.turn = turn
        self.shared = shared
        self.section = section
        self.early = early
        self.code = LockThreadCode(thread)
        self.held: dict[int, isa.Register] = {}  # the register of each read
        self.constants: dict[int, int] = {}  # the values of the reads that are not part of the test
        self.guards: dict[int, isa.Guard | None] = {}  # of the steps that depend on each decision
        self.computed: dict[SymbolicValue, isa.Register] = {}

    def write(self, path: LockPath, use: LockUse) -> LockThreadCode:
        hole = path.hole if path.entered else len(path.steps)
        for index, step in enumerate(path.steps):
            if use is LockUse.HOLDER and index < hole:
                self._skip(index, step)
            elif index == hole:
                self._write_section(path.steps[hole], use)
                if use is LockUse.TAKER:
                    break
            else:
                self._step(index, step)
        return self.code

    def _skip(self, index: int, step: LockStep) -> None:
        """Skip a step that the holder did before the test starts."""
        if isinstance(step, AccessStep) and step.read is not None:
            self.constants[step.read.number] = self.turn.values[step.read.number]
        self.guards[index] = None

    def _step(self, index: int, step: LockStep) -> None:
        match step:
            case AccessStep():
                self._access(step)
            case FenceStep(position=position, instruction=fence):
                self._add(replace(fence, guard=self._guard(step)), position)
            case DecisionStep():
                self._decide(index, step)
            case HoleStep():
                raise AssertionError("a path has exactly one critical section")

    def _guard(self, step: LockStep) -> isa.Guard | None:
        return None if step.guard is None else self.guards[step.guard]

    def _write_section(self, step: LockStep, use: LockUse) -> None:
        guard = self._guard(step)
        self.code.guarded = guard is not None
        if use is not LockUse.HOLDER:
            marker = self._register(ScalarType.S32)
            self.code.marker = marker.name
            self._add(isa.Alu(isa.AluOperation.MOV, ScalarType.S32, marker, (isa.Immediate(1),), guard=guard))
        for operation in self.section:
            self._operate(operation, guard)

    def _operate(self, operation: SectionOperation, guard: isa.Guard | None) -> None:
        access = _normalise_access(isa.Load(isa.Register("r"), isa.Variable("x")), operation.variable in self.shared)
        variable = isa.Variable(operation.variable)
        value: isa.Operand = isa.Immediate(operation.value)
        if operation.kind is not SectionOperationKind.WRITE:
            read = self._register(ScalarType.S32)
            self.code.reads.append(read.name)
            self._add(isa.Load(read, variable, access, None if self.early else guard))
        if operation.kind is SectionOperationKind.INCREMENT:
            value = self._register(ScalarType.S32)
            self._add(isa.Alu(isa.AluOperation.ADD, ScalarType.S32, value, (read, isa.Immediate(1)), guard=guard))
        if operation.kind is not SectionOperationKind.READ:
            self._add(isa.Store(variable, value, access, guard))

    def _access(self, step: AccessStep) -> None:
        guard, variable = self._guard(step), isa.Variable(step.variable)
        sources = tuple(self._operand(source, step) for source in step.sources)
        access = _normalise_access(step.instruction, step.variable in self.shared)
        match step.instruction:
            case isa.Load():
                self._add(isa.Load(self._read_register(step), variable, access, guard), step.position)
            case isa.Store():
                self._add(isa.Store(variable, sources[0], access, guard), step.position)
            case isa.Atomic(operation=operation):
                register = self._read_register(step)
                self._add(isa.Atomic(operation, register, variable, sources, access, guard), step.position)
            case isa.Reduce(operation=operation):
                self._add(isa.Reduce(operation, variable, sources, access, guard), step.position)

    def _read_register(self, step: AccessStep) -> isa.Register:
        assert step.read is not None
        register = self._register(ScalarType.S64 if step.read.bits == 64 else ScalarType.S32)
        self.held[step.read.number] = register
        return register

    def _decide(self, index: int, step: DecisionStep) -> None:
        truth = rebuild(step.compared, self._leaf)
        guard = self._guard(step)
        if isinstance(truth, Number):
            if not truth.value:
                raise Infeasible
            self.guards[index] = guard
            return
        assert isinstance(truth, ComparedValues)
        comparison = truth.comparison.opposite if truth.inverted else truth.comparison
        left, right = self._operand(truth.left, step), self._operand(truth.right, step)
        predicate = self._register(ScalarType.PRED)
        self._add(isa.SetPredicate(comparison, truth.type, predicate, (left, right), guard), step.position)
        self.guards[index] = isa.Guard(predicate)
        plain = comparison is Comparison.EQ and isinstance(truth.left, ReadValue)
        known = plain and isinstance(left, isa.Register) and isinstance(right, isa.Immediate)
        self.code.tests.append((left.name, right.value) if known else None)  # type: ignore[union-attr]

    def _operand(self, value: SymbolicValue, step: AccessStep | DecisionStep) -> isa.Operand:
        value = rebuild(value, self._leaf)
        match value:
            case Number(value=number):
                return isa.Immediate(number)
            case ReadValue(number=number):
                return self.held[number]
            case ComputedValue():
                return self._compute(value, step)
            case (
                SymbolicAddress() | GivenNumber() | AnyNumber() | ComparedValues() | JoinedPredicates() | OpaqueValue()
            ):
                raise self._unsupported_error(value, step)

    def _unsupported_error(self, value: SymbolicValue, step: AccessStep | DecisionStep) -> InputError:
        opaque = find_opaque(value)
        program = self.lock.program
        if opaque is not None:
            return program.error(opaque.position, f"unsupported instruction `{opaque.opcode}` in a lock")
        return program.error(step.position, "this lock stores an address in memory, which is not supported")

    def _compute(self, value: ComputedValue, step: AccessStep | DecisionStep) -> isa.Register:
        if value not in self.computed:
            sources = tuple(self._operand(source, step) for source in value.sources)
            register = self._register(value.type)
            self._add(isa.Alu(value.operation, value.type, register, sources, value.source_type), step.position)
            self.computed[value] = register
        return self.computed[value]

    def _leaf(self, leaf: SymbolicValue) -> SymbolicValue:
        if isinstance(leaf, GivenNumber):
            return Number(_given_number(leaf.name, self.turn.given, self.code.thread))
        if isinstance(leaf, ReadValue) and leaf.number in self.constants:
            return Number(self.constants[leaf.number])
        return leaf

    def _register(self, type: ScalarType) -> isa.Register:
        letter = "p" if type is ScalarType.PRED else "r"
        name = f"{letter}{sum(known.startswith(letter) for known in self.code.types)}"
        self.code.types[name] = type
        return isa.Register(name)

    def _add(self, instruction: isa.Instruction, position: int | None = None) -> None:
        self.code.instructions.append(instruction)
        self.code.lines.append(0 if position is None else self.lock.program.statements[position].place.line)


def _given_number(name: str, given: Mapping[str, int], thread: int) -> int:
    """The number a thread receives: the chosen one, else the thread's number for a thread register, else 0."""
    if name in given:
        return given[name]
    return thread if name in NUMBERED else 0


def _normalise_access(instruction: isa.MemoryInstruction, shared: bool) -> Access:
    """The access in a form that is the same for all equivalent ones, without a space; weak accesses of global memory
    go to L2, as in the literature.
    """
    access = replace(instruction.access, space=None)
    match instruction:
        case isa.Load() | isa.Store():
            access = replace(access, type=access.type.of_kind("s"))
            if not shared and access.order is Order.WEAK and access.cache is None:
                access = replace(access, cache=CacheOperator.CG)
        case isa.Atomic(operation=operation) | isa.Reduce(operation=operation):
            if access.type[0] == "u" and operation not in SIGN_MATTERS:
                access = replace(access, type=access.type.of_kind("s"))
    return access
