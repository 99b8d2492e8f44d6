"""The traits of instructions: their facts apart from their meaning.

`Traits` are the same for all instructions of one class. The functions are of one instruction: its opcode, its words in
a hash, its name among the literals of optcheck, its words in a picture. What it reads and writes is in
`gpudiy.litmus.instruction`, beside the classes. Every match here is exhaustive: mypy names each trait that a new class
of instruction still needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gpudiy.litmus.access import Access, CacheOperator, Order, Proxy, Scope
from gpudiy.litmus.instruction import (
    Alu,
    AluOperation,
    Atomic,
    Barrier,
    Branch,
    Fence,
    FenceKind,
    Instruction,
    Label,
    Load,
    MemoryInstruction,
    ProxyFence,
    Reduce,
    SetPredicate,
    Store,
)

_READ_ONLY = (Order.WEAK, Order.RELAXED, Order.ACQUIRE, Order.VOLATILE, Order.MMIO)
_WRITE_ONLY = (Order.WEAK, Order.RELAXED, Order.RELEASE, Order.VOLATILE, Order.MMIO)
_BOTH = (Order.RELAXED, Order.ACQUIRE, Order.RELEASE, Order.ACQ_REL)


@dataclass(frozen=True, slots=True)
class Traits:
    """The traits of all instructions of one class.

    `words` are the opcodes of an access by its proxy, `orders` and `cache_operators` those it can have. `direction` is
    what an access is called in the names of tests: R, W, or A for an atomic that returns what it read.
    """

    colour: str = ""  # in a terminal
    generated: bool = True  # whether generated tests have it
    reads: bool = False  # memory
    writes: bool = False  # memory
    direction: str = ""
    words: Mapping[Proxy, str] = field(default_factory=dict)
    orders: tuple[Order, ...] = ()
    cache_operators: tuple[CacheOperator, ...] = ()


LOAD = Traits(
    colour="cyan",
    reads=True,
    direction="R",
    words={Proxy.GENERIC: "ld", Proxy.TEXTURE: "tld", Proxy.SURFACE: "suld", Proxy.CONSTANT: "cold"},
    orders=_READ_ONLY,
    cache_operators=(CacheOperator.CA, CacheOperator.CG, CacheOperator.CS, CacheOperator.CV, CacheOperator.LU),
)
STORE = Traits(
    colour="green",
    writes=True,
    direction="W",
    words={Proxy.GENERIC: "st", Proxy.SURFACE: "sust"},
    orders=_WRITE_ONLY,
    cache_operators=(CacheOperator.WB, CacheOperator.CG, CacheOperator.CS, CacheOperator.WT),
)
ATOMIC = Traits(
    colour="magenta",
    reads=True,
    writes=True,
    direction="A",
    words={Proxy.GENERIC: "atom", Proxy.SURFACE: "suatom"},
    orders=_BOTH,
)
REDUCE = Traits(
    colour="magenta",
    generated=False,
    reads=True,
    writes=True,
    direction="W",
    words={Proxy.GENERIC: "red", Proxy.SURFACE: "sured"},
    orders=_BOTH,
)
FENCE = Traits(colour="bold yellow")
PROXY_FENCE = Traits(colour="bold yellow", generated=False)
BARRIER = Traits(colour="bold yellow")
COMPUTATION = Traits()
BRANCH = Traits()
LABEL = Traits(colour="bold")


def traits_of(instruction: Instruction) -> Traits:
    """The traits of the class of an instruction."""
    match instruction:
        case Load():
            return LOAD
        case Store():
            return STORE
        case Atomic():
            return ATOMIC
        case Reduce():
            return REDUCE
        case Fence():
            return FENCE
        case ProxyFence():
            return PROXY_FENCE
        case Barrier():
            return BARRIER
        case Alu() | SetPredicate():
            return COMPUTATION
        case Branch():
            return BRANCH
        case Label():
            return LABEL


def opcode_of(instruction: Instruction) -> str:
    """The opcode with its modifiers: `ld.acquire.gpu.s32`, `membar.gl`, `bar.sync`; a label has its name and a colon.

    What PTX assumes is left out, so that old architectures take it too: `.weak` of loads and stores, `.relaxed.gpu`
    of atomics.
    """
    match instruction:
        case Load(access=access):
            return f"{LOAD.words[access.proxy]}{access.modifiers}.{access.type}"
        case Store(access=access):
            return f"{STORE.words[access.proxy]}{access.modifiers}.{access.type}"
        case Alu(operation=operation, source_type=None):
            return f"{'mul.lo' if operation is AluOperation.MUL else operation}.{instruction.type}"
        case Alu(operation=operation, source_type=source_type):
            return f"{operation}.{instruction.type}.{source_type}"
        case Fence(kind=FenceKind.MEMBAR, scope=scope):
            return f"membar.{'gl' if scope is Scope.GPU else scope.word}"
        case Fence(kind=kind, scope=scope):
            return f"fence.{kind}.{scope.word}"
        case Atomic(operation=operation, access=access):
            return f"{ATOMIC.words[access.proxy]}{_atomic_modifiers(access)}.{operation}.{access.type}"
        case Reduce(operation=operation, access=access):
            return f"{REDUCE.words[access.proxy]}{_atomic_modifiers(access)}.{operation}.{access.type}"
        case SetPredicate(comparison=comparison):
            return f"setp.{comparison}.{instruction.type}"
        case Branch():
            return "bra"
        case Barrier(mode=mode, instance=instance):
            return f"bar.{mode}.inst{instance}" if instance else f"bar.{mode}"
        case ProxyFence(kind=proxy):
            return f"fence.proxy.{proxy}"
        case Label(name=name):
            return f"{name}:"


def hash_words(instruction: Instruction, label_position: Callable[[str], int]) -> str:
    """The instruction in a content hash, without its registers and operands."""
    match instruction:
        case Load(access=access):
            return f"Load {access.hash_words}"
        case Store(access=access):
            return f"Store {access.hash_words}"
        case Atomic(operation=operation, access=access):
            return f"Atomic {operation} {access.hash_words}"
        case Reduce(operation=operation, access=access):
            return f"Reduce {operation} {access.hash_words}"
        case Fence(kind=kind, scope=scope):
            return f"Fence {kind} {scope.word}"
        case ProxyFence(kind=proxy):
            return f"ProxyFence {proxy}"
        case Barrier(mode=mode, instance=instance):
            return f"Barrier {mode} {instance}"
        case Alu():
            return f"Alu {instruction.operation} {instruction.type} {instruction.source_type}"
        case SetPredicate():
            return f"SetPredicate {instruction.comparison} {instruction.type}"
        case Branch(target=target):
            return f"Branch {label_position(target)}"
        case Label():
            return ""


def literal_name(instruction: MemoryInstruction) -> str:
    """The type of an access in the literals of optcheck, without space, width and operation."""
    match instruction:
        case Load(access=access):
            return f"ld{access.strength}"
        case Store(access=access):
            return f"st{access.strength}"
        case Atomic():
            return "atom"
        case Reduce():
            return "red"


def drawn_words(instruction: Instruction) -> str:
    """The words of an event in a picture, after its letter: `.acquire.gpu`, `.membar.gl`, `.sync`."""
    match instruction:
        case Load(access=access) | Store(access=access) | Atomic(access=access) | Reduce(access=access):
            proxy = "" if access.proxy is Proxy.GENERIC else f".{access.proxy}"
            order = "" if access.order is Order.WEAK else f".{access.order}"
            scope = "" if access.scope is None else f".{access.scope.word}"
            return f"{proxy}{order}{scope}{'' if access.cache is None else f'.{access.cache}'}"
        case Fence(kind=FenceKind.MEMBAR):
            return f".{opcode_of(instruction)}"
        case Fence(kind=kind, scope=between):
            return f".{kind}.{between.word}"
        case ProxyFence(kind=other):
            return f".proxy.{other}"
        case Barrier(mode=mode):
            return f".{mode}"
        case Alu() | SetPredicate() | Branch() | Label():
            return ""


def _atomic_modifiers(access: Access) -> str:
    if access.order is Order.RELAXED and access.scope is Scope.GPU:
        return "" if access.space is None else f".{access.space}"
    return access.modifiers
