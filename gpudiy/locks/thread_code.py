"""The code of one thread of a test: its part of the lock, around a critical section."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from gpudiy.litmus.access import ScalarType
from gpudiy.litmus.condition import Compare, Constant, Expression, FinalRegister
from gpudiy.litmus.grammar import SyntaxProblem, parse_instruction
from gpudiy.litmus.instruction import Comparison, Instruction
from gpudiy.litmus.opcode import build_instruction
from gpudiy.litmus.test import RegisterDeclaration
from gpudiy.locks.lock import Lock, Turn
from gpudiy.locks.path import AccessStep, DecisionStep, FenceStep, HoleStep, Path, Step
from gpudiy.locks.value import (
    Comparing,
    Computed,
    Given,
    Joined,
    Number,
    Opaque,
    Place,
    Read,
    Value,
    opaque_in,
    rebuilt,
)

INVERTED = {Comparison.EQ: Comparison.NE, Comparison.LT: Comparison.GE, Comparison.GT: Comparison.LE}
SIGNED = ("ld", "st")
ORDERS = ("relaxed", "acquire", "release", "acq_rel", "volatile")
CACHES = ("ca", "cg", "cs", "cv", "lu", "wb", "wt")
UNSIGNED_ATOMICS = ("inc", "dec", "min", "max")


class Role(StrEnum):
    """Which part of its turn a thread plays."""

    HOLDER = "holder"  # has the lock, uses it and gives it back
    TAKER = "taker"  # takes the lock and uses it
    USER = "user"  # takes the lock, uses it and gives it back


class OperationKind(StrEnum):
    READ = "read"
    WRITE = "write"
    INCREMENT = "increment"


@dataclass(frozen=True, slots=True)
class Operation:
    """What a critical section does to a variable of its own."""

    kind: OperationKind
    variable: str
    value: int = 0


class Infeasible(Exception):
    """A path that this thread cannot take, with the numbers it was given."""


@dataclass(slots=True)
class ThreadCode:
    """Instructions with the source lines they come from (0: the critical section), and what to ask of their registers.

    `reads` are the registers that the critical section read into, in order.
    """

    thread: int
    instructions: list[Instruction] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    types: dict[str, ScalarType] = field(default_factory=dict)
    reads: list[str] = field(default_factory=list)
    marker: str = ""
    tests: list[tuple[str, int] | None] = field(default_factory=list)  # decisions: a register and what it must hold

    @property
    def entered(self) -> Expression:
        """That the thread is inside, or was: what it read from the lock tells, or the register that says so."""
        if len(self.tests) == 1 and self.tests[0] is not None:
            name, value = self.tests[0]
            return Compare(Comparison.EQ, FinalRegister(self.thread, name), Constant(value))
        return Compare(Comparison.EQ, FinalRegister(self.thread, self.marker), Constant(1))

    @property
    def stayed_out(self) -> Expression:
        return Compare(Comparison.EQ, FinalRegister(self.thread, self.marker), Constant(0))

    @property
    def declarations(self) -> list[RegisterDeclaration]:
        return [RegisterDeclaration(self.thread, name, type) for name, type in self.types.items()]


def thread_code(
    lock: Lock, turn: Turn, role: Role, section: Sequence[Operation], thread: int, path: Path | None = None,
    shared: frozenset[str] = frozenset(), early: bool = False,
) -> ThreadCode:  # fmt: skip
    """The code of a thread in its turn; `shared` are the variables in shared space. With `early` the loads of its
    critical section do not wait for the branch before them: compilers and hardware may do so.
    """
    return _Writer(lock, turn, thread, shared, section, early).written(turn.path if path is None else path, role)


class _Writer:
    def __init__(
        self, lock: Lock, turn: Turn, thread: int, shared: frozenset[str], section: Sequence[Operation], early: bool
    ) -> None:
        self.lock = lock
        self.turn = turn
        self.shared = shared
        self.section = section
        self.early = early
        self.code = ThreadCode(thread)
        self.variables = frozenset((*lock.variables, *(operation.variable for operation in section)))
        self.held: dict[int, str] = {}  # the register of each read
        self.constants: dict[int, int] = {}  # what the reads gave that are not part of the test
        self.guards: dict[int, str | None] = {}  # the predicate of each decision
        self.computed: dict[Value, str] = {}

    def written(self, path: Path, role: Role) -> ThreadCode:
        hole = path.hole
        for index, step in enumerate(path.steps):
            if role is Role.HOLDER and index < hole:
                self._pass_over(index, step)
            elif index == hole:
                self._hole(path.steps[hole], role)
                if role is Role.TAKER:
                    break
            else:
                self._step(index, step)
        return self.code

    def _pass_over(self, index: int, step: Step) -> None:
        """What the holder did before the test begins."""
        if isinstance(step, AccessStep) and step.read is not None:
            self.constants[step.read.number] = self.turn.values[step.read.number]
        self.guards[index] = None

    def _step(self, index: int, step: Step) -> None:
        match step:
            case AccessStep():
                self._access(step)
            case FenceStep():
                self._add(".".join(step.opcode), self._guard(step), step.position)
            case DecisionStep():
                self._decide(index, step)
            case HoleStep():
                raise AssertionError("the critical section is written by _hole")

    def _guard(self, step: Step) -> str | None:
        return None if step.guard is None else self.guards[step.guard]

    def _hole(self, step: Step, role: Role) -> None:
        assert isinstance(step, HoleStep)
        guard = self._guard(step)
        if role is not Role.HOLDER:
            self.code.marker = self._register(ScalarType.S32)
            self._add(f"mov.s32 {self.code.marker},1", guard)
        for operation in self.section:
            self._operate(operation, guard)

    def _operate(self, operation: Operation, guard: str | None) -> None:
        cache = "" if operation.variable in self.shared else ".cg"
        place = f"[{operation.variable}]"
        value = str(operation.value)
        if operation.kind is not OperationKind.WRITE:
            read = self._register(ScalarType.S32)
            self.code.reads.append(read)
            self._add(f"ld{cache}.s32 {read},{place}", None if self.early else guard)
        if operation.kind is OperationKind.INCREMENT:
            value = self._register(ScalarType.S32)
            self._add(f"add.s32 {value},{read},1", guard)
        if operation.kind is not OperationKind.READ:
            self._add(f"st{cache}.s32 {place},{value}", guard)

    def _access(self, step: AccessStep) -> None:
        guard = self._guard(step)
        operands = [self._operand(source, step) for source in step.sources]
        if step.read is not None:
            self.held[step.read.number] = self._register(ScalarType.S64 if step.read.bits == 64 else ScalarType.S32)
            operands = [self.held[step.read.number], f"[{step.variable}]", *operands]
        else:
            operands = [f"[{step.variable}]", *operands]
        opcode = normal_opcode(step.opcode, step.variable in self.shared)
        self._add(f"{'.'.join(opcode)} {','.join(operands)}", guard, step.position)

    def _decide(self, index: int, step: DecisionStep) -> None:
        truth = rebuilt(step.comparing, self._leaf)
        guard = self._guard(step)
        if isinstance(truth, Number):
            if not truth.value:
                raise Infeasible
            self.guards[index] = guard
            return
        assert isinstance(truth, Comparing)
        comparison = INVERTED[truth.comparison] if truth.inverted else truth.comparison
        left, right = self._operand(truth.left, step), self._operand(truth.right, step)
        predicate = self._register(ScalarType.PRED)
        self._add(f"setp.{comparison}.{truth.type} {predicate},{left},{right}", guard, step.position)
        self.guards[index] = predicate
        plain = comparison is Comparison.EQ and isinstance(truth.left, Read) and isinstance(truth.right, Number)
        self.code.tests.append((left, int(right)) if plain else None)

    def _operand(self, value: Value, step: AccessStep | DecisionStep) -> str:
        value = rebuilt(value, self._leaf)
        match value:
            case Number(value=number):
                return str(number)
            case Read(number=number):
                return self.held[number]
            case Computed():
                return self._compute(value, step)
            case Place() | Given() | Comparing() | Joined() | Opaque():
                raise self._unsupported(value, step)

    def _unsupported(self, value: Value, step: AccessStep | DecisionStep) -> Exception:
        opaque = opaque_in(value)
        program = self.lock.program
        if opaque is not None:
            return program.error_at(opaque.position, f"unsupported instruction `{opaque.opcode}` in a lock")
        return program.error_at(step.position, "unsupported: this lock stores an address")

    def _compute(self, value: Computed, step: AccessStep | DecisionStep) -> str:
        if value not in self.computed:
            operands = [self._operand(source, step) for source in value.sources]
            register = self._register(value.type)
            types = f"{value.type}" if value.source_type is None else f"{value.type}.{value.source_type}"
            self._add(f"{value.operation}.{types} {register},{','.join(operands)}", None, step.position)
            self.computed[value] = register
        return self.computed[value]

    def _leaf(self, leaf: Value) -> Value:
        if isinstance(leaf, Given):
            return Number(given_number(leaf.name, self.turn.given, self.code.thread))
        if isinstance(leaf, Read) and leaf.number in self.constants:
            return Number(self.constants[leaf.number])
        return leaf

    def _register(self, type: ScalarType) -> str:
        letter = "p" if type is ScalarType.PRED else "r"
        name = f"{letter}{sum(known.startswith(letter) for known in self.code.types)}"
        self.code.types[name] = type
        return name

    def _add(self, text: str, guard: str | None, position: int | None = None) -> None:
        text = text if guard is None else f"@{guard} {text}"
        try:
            instruction = build_instruction(parse_instruction(text), self.code.types, self.variables)
        except SyntaxProblem as problem:
            if position is None:
                raise
            shown = self.lock.program.statements[position].text
            message = f"unsupported instruction `{shown}` in a lock: {problem.message}"
            raise self.lock.program.error_at(position, message) from None
        self.code.instructions.append(instruction)
        self.code.lines.append(0 if position is None else self.lock.program.statements[position].line)


def given_number(name: str, given: Mapping[str, int], thread: int) -> int:
    """What a thread is given where nobody chose: its own number for what tells threads apart, else 0."""
    if name in given:
        return given[name]
    return thread if name in ("%tid.x", "%ctaid.x", "%laneid", "%warpid", "%smid") else 0


def normal_opcode(words: tuple[str, ...], shared: bool) -> tuple[str, ...]:
    """One spelling of what is the same to a model; weak accesses of global memory go to L2, as in the literature."""
    kind = words[0]
    signed = kind in SIGNED or not any(word in UNSIGNED_ATOMICS for word in words)
    words = tuple(f"{word[0]}32" if re.fullmatch("[sub](8|16)", word) else word for word in words)
    words = tuple(f"s{word[1:]}" if signed and word[0] in "ub" and word[1:] in ("32", "64") else word for word in words)
    if kind in SIGNED and not shared and not any(word in (*ORDERS, *CACHES) for word in words):
        words = (kind, *(word for word in words[1:-1] if word != "weak"), "cg", words[-1])
    return words
