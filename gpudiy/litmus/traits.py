"""The traits of instructions: their facts apart from their meaning.

`Traits` are the same for all instructions of one class. The functions are of one instruction: its opcode, its words in
a hash, its name among the literals of optcheck, its words in a picture. What it reads and writes is in
`gpudiy.litmus.instruction`, beside the classes. Every match here is exhaustive: mypy names each trait that a new class
of instruction still needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gpudiy.litmus import instruction as isa
from gpudiy.litmus.access import MEMBAR_WORDS, Access, CacheOperator, Order, Proxy, Scope

_READ_ONLY = (Order.WEAK, Order.RELAXED, Order.ACQUIRE, Order.VOLATILE, Order.MMIO)
_WRITE_ONLY = (Order.WEAK, Order.RELAXED, Order.RELEASE, Order.VOLATILE, Order.MMIO)
_MEMBAR_WORDS = {scope: word for word, scope in MEMBAR_WORDS.items()}
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


def traits_of(instruction: isa.Instruction) -> Traits:
    """The traits of the class of an instruction."""
    match instruction:
        case isa.Load():
            return LOAD
        case isa.Store():
            return STORE
        case isa.Atomic():
            return ATOMIC
        case isa.Reduce():
            return REDUCE
        case isa.Fence():
            return FENCE
        case isa.ProxyFence():
            return PROXY_FENCE
        case isa.Barrier():
            return BARRIER
        case isa.Alu() | isa.SetPredicate():
            return COMPUTATION
        case isa.Branch():
            return BRANCH
        case isa.Label():
            return LABEL


def opcode_of(instruction: isa.Instruction) -> str:
    """The opcode with its modifiers: `ld.acquire.gpu.s32`, `membar.gl`, `bar.sync`; a label has its name and a colon.

    What PTX assumes is left out, so that old architectures take it too: `.weak` of loads and stores, `.relaxed.gpu`
    of atomics.
    """
    match instruction:
        case isa.Load(access=access):
            return f"{LOAD.words[access.proxy]}{access.modifiers}.{access.type}"
        case isa.Store(access=access):
            return f"{STORE.words[access.proxy]}{access.modifiers}.{access.type}"
        case isa.Alu(operation=operation, source_type=None):
            return f"{'mul.lo' if operation is isa.AluOperation.MUL else operation}.{instruction.type}"
        case isa.Alu(operation=operation, source_type=source_type):
            return f"{operation}.{instruction.type}.{source_type}"
        case isa.Fence(kind=isa.FenceKind.MEMBAR, scope=scope):
            return f"membar.{_MEMBAR_WORDS[scope]}"
        case isa.Fence(kind=kind, scope=scope):
            return f"fence.{kind}.{scope.word}"
        case isa.Atomic(operation=operation, access=access):
            return f"{ATOMIC.words[access.proxy]}{_atomic_modifiers(access)}.{operation}.{access.type}"
        case isa.Reduce(operation=operation, access=access):
            return f"{REDUCE.words[access.proxy]}{_atomic_modifiers(access)}.{operation}.{access.type}"
        case isa.SetPredicate(comparison=comparison):
            return f"setp.{comparison}.{instruction.type}"
        case isa.Branch():
            return "bra"
        case isa.Barrier(mode=mode, instance=instance):
            return f"bar.{mode}.inst{instance}" if instance else f"bar.{mode}"
        case isa.ProxyFence(kind=proxy):
            return f"fence.proxy.{proxy}"
        case isa.Label(name=name):
            return f"{name}:"


def hash_words(instruction: isa.Instruction, label_position: Callable[[str], int]) -> str:
    """The instruction in a content hash, without its registers and operands."""
    match instruction:
        case isa.Load(access=access):
            return f"Load {access.hash_words}"
        case isa.Store(access=access):
            return f"Store {access.hash_words}"
        case isa.Atomic(operation=operation, access=access):
            return f"Atomic {operation} {access.hash_words}"
        case isa.Reduce(operation=operation, access=access):
            return f"Reduce {operation} {access.hash_words}"
        case isa.Fence(kind=kind, scope=scope):
            return f"Fence {kind} {scope.word}"
        case isa.ProxyFence(kind=proxy):
            return f"ProxyFence {proxy}"
        case isa.Barrier(mode=mode, instance=instance):
            return f"Barrier {mode} {instance}"
        case isa.Alu():
            return f"Alu {instruction.operation} {instruction.type} {instruction.source_type}"
        case isa.SetPredicate():
            return f"SetPredicate {instruction.comparison} {instruction.type}"
        case isa.Branch(target=target):
            return f"Branch {label_position(target)}"
        case isa.Label():
            return ""


def literal_name(instruction: isa.MemoryInstruction) -> str:
    """The type of an access in the literals of optcheck, without space, width and operation."""
    match instruction:
        case isa.Load(access=access):
            return f"ld{access.strength}"
        case isa.Store(access=access):
            return f"st{access.strength}"
        case isa.Atomic():
            return "atom"
        case isa.Reduce():
            return "red"


def drawn_words(instruction: isa.Instruction) -> str:
    """The words of an event in a picture, after its letter: `.acquire.gpu`, `.membar.gl`, `.sync`."""
    match instruction:
        case isa.Load(access=access) | isa.Store(access=access) | isa.Atomic(access=access) | isa.Reduce(access=access):
            proxy = "" if access.proxy is Proxy.GENERIC else f".{access.proxy}"
            order = "" if access.order is Order.WEAK else f".{access.order}"
            scope = "" if access.scope is None else f".{access.scope.word}"
            return f"{proxy}{order}{scope}{'' if access.cache is None else f'.{access.cache}'}"
        case isa.Fence(kind=isa.FenceKind.MEMBAR):
            return f".{opcode_of(instruction)}"
        case isa.Fence(kind=kind, scope=between):
            return f".{kind}.{between.word}"
        case isa.ProxyFence(kind=other):
            return f".proxy.{other}"
        case isa.Barrier(mode=mode):
            return f".{mode}"
        case isa.Alu() | isa.SetPredicate() | isa.Branch() | isa.Label():
            return ""


def _atomic_modifiers(access: Access) -> str:
    if access.order is Order.RELAXED and access.scope is Scope.GPU:
        return "" if access.space is None else f".{access.space}"
    return access.modifiers
