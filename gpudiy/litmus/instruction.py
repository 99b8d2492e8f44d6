"""The closed family of instructions a thread is made of."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gpudiy.litmus.access import Access, ScalarType, Scope
from gpudiy.litmus.comparison import Comparison


@dataclass(frozen=True, slots=True)
class Register:
    """A register of the thread, by name."""

    name: str


@dataclass(frozen=True, slots=True)
class Immediate:
    """A literal."""

    value: int


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of the test; as an operand it means its address."""

    name: str


Operand = Register | Immediate | Variable
Address = Register | Variable  # `[r1]`, through a register that holds an address, or `[x]` directly


@dataclass(frozen=True, slots=True)
class Guard:
    """`@p` or, negated, `@!p`."""

    predicate: Register
    negated: bool = False


class AtomicOperation(StrEnum):
    """The operations of atom and red."""

    CAS = "cas"
    EXCH = "exch"
    ADD = "add"
    INC = "inc"
    DEC = "dec"
    MIN = "min"
    MAX = "max"
    AND = "and"
    OR = "or"
    XOR = "xor"
    SUB = "sub"
    MUL = "mul"
    DIV = "div"

    @property
    def model_only(self) -> bool:
        """Whether models know it and PTX does not."""
        return self in (AtomicOperation.SUB, AtomicOperation.MUL, AtomicOperation.DIV)


class AluOperation(StrEnum):
    """Instructions on registers only."""

    MOV = "mov"
    ADD = "add"
    SUB = "sub"
    MUL = "mul"
    DIV = "div"
    MIN = "min"
    MAX = "max"
    AND = "and"
    OR = "or"
    XOR = "xor"
    NOT = "not"
    SHL = "shl"
    SHR = "shr"
    CVT = "cvt"
    SELP = "selp"

    @property
    def arity(self) -> int:
        """How many sources it takes."""
        if self in (AluOperation.MOV, AluOperation.CVT, AluOperation.NOT):
            return 1
        return 3 if self is AluOperation.SELP else 2


class FenceKind(StrEnum):
    """membar is fence.sc of the same scope from sm_70 on, and the only fence before it."""

    MEMBAR = "membar"
    SC = "sc"
    ACQ_REL = "acq_rel"
    ACQUIRE = "acquire"
    RELEASE = "release"

    @property
    def acquires(self) -> bool:
        """Whether what follows the fence stays behind what was read before it."""
        match self:
            case FenceKind.MEMBAR | FenceKind.SC | FenceKind.ACQ_REL | FenceKind.ACQUIRE:
                return True
            case FenceKind.RELEASE:
                return False

    @property
    def releases(self) -> bool:
        """Whether what precedes the fence stays before what is written after it."""
        match self:
            case FenceKind.MEMBAR | FenceKind.SC | FenceKind.ACQ_REL | FenceKind.RELEASE:
                return True
            case FenceKind.ACQUIRE:
                return False

    @property
    def sequential(self) -> bool:
        """Whether all such fences are in one order: fence.sc, and membar, which is the same on chips that have both."""
        return self in (FenceKind.SC, FenceKind.MEMBAR)


class ProxyFenceKind(StrEnum):
    """The accesses that a fence.proxy orders."""

    ALIAS = "alias"
    GENERIC = "generic"
    TEXTURE = "texture"
    SURFACE = "surface"
    CONSTANT = "constant"
    ASYNC = "async"
    ASYNC_GLOBAL = "async.global"
    ASYNC_SHARED_CTA = "async.shared::cta"
    ASYNC_SHARED_CLUSTER = "async.shared::cluster"


class BarrierMode(StrEnum):
    """sync waits for the other threads, arrive only signals them."""

    SYNC = "sync"
    ARRIVE = "arrive"

    @property
    def waits(self) -> bool:
        """Whether a thread stays at the barrier until the others come."""
        match self:
            case BarrierMode.SYNC:
                return True
            case BarrierMode.ARRIVE:
                return False


PLAIN = Access()


@dataclass(frozen=True, slots=True)
class Load:
    """Reads memory into a register."""

    destination: Register
    address: Address
    access: Access = PLAIN
    guard: Guard | None = None


@dataclass(frozen=True, slots=True)
class Store:
    """Writes a value to memory."""

    address: Address
    source: Operand
    access: Access = PLAIN
    guard: Guard | None = None


@dataclass(frozen=True, slots=True)
class Atomic:
    """Reads memory into `destination` and writes the result of `operation`; cas takes two sources."""

    operation: AtomicOperation
    destination: Register
    address: Address
    sources: tuple[Operand, ...]
    access: Access
    guard: Guard | None = None


@dataclass(frozen=True, slots=True)
class Reduce:
    """An atomic without a result."""

    operation: AtomicOperation
    address: Address
    sources: tuple[Operand, ...]
    access: Access
    guard: Guard | None = None


@dataclass(frozen=True, slots=True)
class Fence:
    """membar or fence, of a scope."""

    kind: FenceKind
    scope: Scope
    guard: Guard | None = None


@dataclass(frozen=True, slots=True)
class ProxyFence:
    """fence.proxy, between accesses through different proxies."""

    kind: ProxyFenceKind
    guard: Guard | None = None


@dataclass(frozen=True, slots=True)
class Barrier:
    """A CTA barrier: `identifier` names it, `count` is how many threads take part (None: all of the CTA).

    `instance` keeps apart barrier statements that may never meet although their identifiers are equal.
    """

    mode: BarrierMode
    identifier: Operand = Immediate(0)
    count: Operand | None = None
    instance: int = 0
    guard: Guard | None = None


@dataclass(frozen=True, slots=True)
class Alu:
    """`source_type` is set for cvt only; the last source of selp is a predicate."""

    operation: AluOperation
    type: ScalarType
    destination: Register
    sources: tuple[Operand, ...]
    source_type: ScalarType | None = None
    guard: Guard | None = None


@dataclass(frozen=True, slots=True)
class SetPredicate:
    """setp: writes the result of a comparison into a predicate."""

    comparison: Comparison
    type: ScalarType
    destination: Register
    sources: tuple[Operand, Operand]
    guard: Guard | None = None


@dataclass(frozen=True, slots=True)
class Branch:
    """bra: jumps to a label, if its guard holds."""

    target: str
    guard: Guard | None = None


@dataclass(frozen=True, slots=True)
class Label:
    """The target of branches."""

    name: str


MemoryInstruction = Load | Store | Atomic | Reduce
Instruction = MemoryInstruction | Fence | ProxyFence | Barrier | Alu | SetPredicate | Branch | Label


def guard_of(instruction: Instruction) -> Guard | None:
    """The predicate under which the instruction runs; None if it always runs."""
    return None if isinstance(instruction, Label) else instruction.guard


def destination_of(instruction: Instruction) -> Register | None:
    """The register the instruction writes."""
    match instruction:
        case Load() | Atomic() | Alu() | SetPredicate():
            return instruction.destination
        case Store() | Reduce() | Fence() | ProxyFence() | Barrier() | Branch() | Label():
            return None


def operands_of(instruction: Instruction) -> tuple[Operand, ...]:
    """The values the instruction reads, without its guard and its address."""
    match instruction:
        case Store():
            return (instruction.source,)
        case Atomic() | Reduce() | Alu() | SetPredicate():
            return instruction.sources
        case Barrier(identifier=identifier, count=count):
            return (identifier,) if count is None else (identifier, count)
        case Load() | Fence() | ProxyFence() | Branch() | Label():
            return ()


def address_of(instruction: Instruction) -> Address | None:
    """The address of a memory instruction."""
    match instruction:
        case Load() | Store() | Atomic() | Reduce():
            return instruction.address
        case Fence() | ProxyFence() | Barrier() | Alu() | SetPredicate() | Branch() | Label():
            return None


def access_of(instruction: Instruction) -> Access | None:
    """The attributes of a memory instruction."""
    match instruction:
        case Load() | Store() | Atomic() | Reduce():
            return instruction.access
        case Fence() | ProxyFence() | Barrier() | Alu() | SetPredicate() | Branch() | Label():
            return None


def scope_of(instruction: Instruction) -> Scope | None:
    """The scope for memory models."""
    match instruction:
        case Load() | Store() | Atomic() | Reduce():
            return instruction.access.effective_scope
        case Fence():
            return instruction.scope
        case ProxyFence() | Barrier() | Alu() | SetPredicate() | Branch() | Label():
            return None


def operand_type(instruction: Instruction) -> ScalarType | None:
    """The type of the values the instruction takes; None for counts, which are never negative, and for nothing."""
    match instruction:
        case Store() | Atomic() | Reduce():
            return instruction.access.type
        case Alu():
            return instruction.source_type or instruction.type
        case SetPredicate():
            return instruction.type
        case Load() | Fence() | ProxyFence() | Barrier() | Branch() | Label():
            return None
