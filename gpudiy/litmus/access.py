"""The attributes of an access: its type, order, scope, space, cache operator and proxy."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum


class ScalarType(StrEnum):
    """A PTX register or access type."""

    S16 = "s16"
    U16 = "u16"
    B16 = "b16"
    S32 = "s32"
    U32 = "u32"
    B32 = "b32"
    S64 = "s64"
    U64 = "u64"
    B64 = "b64"
    PRED = "pred"

    bits: int
    minimum: int  # the smallest literal a register of this type takes
    maximum: int  # the largest: signed types also take the bit pattern of a negative value

    def __init__(self, value: str) -> None:
        self.bits = 1 if value == "pred" else int(value[1:])
        self.minimum = 0 if value[0] in "pu" else -(1 << (self.bits - 1))
        self.maximum = (1 << self.bits) - 1

    def of_kind(self, kind: str) -> ScalarType:
        """The type of the same width and another kind: s, u or b."""
        return ScalarType(f"{kind}{self.bits}")


class Scope(IntEnum):
    """A level of the scope tree, innermost first; accesses and fences name cta, cluster, gpu or sys."""

    WARP = 0
    CTA = 1
    CLUSTER = 2
    KERNEL = 3
    GPU = 4
    SYS = 5

    @property
    def word(self) -> str:
        """The spelling in an instruction."""
        return self.name.lower()


ACCESS_SCOPES = (Scope.CTA, Scope.CLUSTER, Scope.GPU, Scope.SYS)
MEMBAR_WORDS = {"cta": Scope.CTA, "gl": Scope.GPU, "sys": Scope.SYS}
MEMBAR_SCOPES = tuple(MEMBAR_WORDS.values())


class Space(StrEnum):
    """The memory that contains a variable."""

    GLOBAL = "global"
    SHARED = "shared"


class Order(StrEnum):
    """The memory order of an access.

    A volatile access is a relaxed access of scope sys that no compiler may change. The hardware performs an mmio access
    exactly once, neither merged with others nor repeated.
    """

    WEAK = "weak"
    RELAXED = "relaxed"
    ACQUIRE = "acquire"
    RELEASE = "release"
    ACQ_REL = "acq_rel"
    VOLATILE = "volatile"
    MMIO = "mmio"

    @property
    def takes_scope(self) -> bool:
        """Whether an access of this order names its scope."""
        return self is not Order.WEAK and self.implied_scope is None

    @property
    def implied_scope(self) -> Scope | None:
        """The scope of an order that does not name one."""
        match self:
            case Order.VOLATILE | Order.MMIO:
                return Scope.SYS
            case Order.WEAK | Order.RELAXED | Order.ACQUIRE | Order.RELEASE | Order.ACQ_REL:
                return None

    @property
    def acquires(self) -> bool:
        """Whether what follows the access stays behind it."""
        match self:
            case Order.ACQUIRE | Order.ACQ_REL:
                return True
            case Order.WEAK | Order.RELAXED | Order.RELEASE | Order.VOLATILE | Order.MMIO:
                return False

    @property
    def releases(self) -> bool:
        """Whether what precedes the access stays before it."""
        match self:
            case Order.RELEASE | Order.ACQ_REL:
                return True
            case Order.WEAK | Order.RELAXED | Order.ACQUIRE | Order.VOLATILE | Order.MMIO:
                return False

    @property
    def words(self) -> tuple[str, ...]:
        """The order as modifiers; the first one identifies it."""
        return ("mmio", "relaxed", "sys") if self is Order.MMIO else (self.value,)

    @property
    def spelling(self) -> str:
        """The order as it is written; `.weak` is left out."""
        return "" if self is Order.WEAK else "".join(f".{word}" for word in self.words)

    def reaches(self, space: Space) -> bool:
        """Whether accesses of this order can be to memory of this space."""
        match self:
            case Order.WEAK | Order.VOLATILE | Order.RELAXED | Order.ACQUIRE | Order.RELEASE | Order.ACQ_REL:
                return True
            case Order.MMIO:
                return space is Space.GLOBAL


class CacheOperator(StrEnum):
    """The cache operators of PTX loads and stores."""

    CA = "ca"
    CG = "cg"
    CS = "cs"
    CV = "cv"
    LU = "lu"
    WB = "wb"
    WT = "wt"

    @property
    def scope(self) -> Scope | None:
        """The scope of the relaxed access to global memory that is the same machine instruction; None if none is."""
        match self:
            case CacheOperator.CA | CacheOperator.WB:
                return Scope.CTA
            case CacheOperator.CG:
                return Scope.GPU
            case CacheOperator.CV | CacheOperator.WT:
                return Scope.SYS
            case CacheOperator.CS | CacheOperator.LU:
                return None


class Proxy(StrEnum):
    """The path an access takes to memory."""

    GENERIC = "generic"
    TEXTURE = "texture"
    SURFACE = "surface"
    CONSTANT = "constant"


@dataclass(frozen=True, slots=True)
class Access:
    """The attributes of a load, store, atomic or reduction.

    `space` and `cache` are None if the instruction does not state them; `scope` is set exactly when the order takes
    one.
    """

    type: ScalarType = ScalarType.S32
    order: Order = Order.WEAK
    scope: Scope | None = None
    space: Space | None = None
    cache: CacheOperator | None = None
    proxy: Proxy = Proxy.GENERIC

    @property
    def effective_scope(self) -> Scope | None:
        """The scope for memory models: that of volatile is the whole system, weak has none."""
        return self.scope or self.order.implied_scope

    @property
    def strong(self) -> bool:
        return self.order is not Order.WEAK

    @property
    def strength(self) -> str:
        """The modifiers for the strength of the access: `.acquire.gpu`, `.volatile`, `.cg`, or nothing."""
        scope = "" if self.scope is None else f".{self.scope.word}"
        return f"{self.order.spelling}{scope}{'' if self.cache is None else f'.{self.cache}'}"

    @property
    def modifiers(self) -> str:
        """The modifiers in PTX, without the type: `.acquire.gpu.global`."""
        scope = "" if self.scope is None else f".{self.scope.word}"
        space = "" if self.space is None else f".{self.space}"
        return f"{self.order.spelling}{scope}{space}{'' if self.cache is None else f'.{self.cache}'}"

    @property
    def hash_words(self) -> str:
        """The access in a content hash."""
        scope = "-" if self.scope is None else self.scope.word
        return f"{self.type} {self.order} {scope} {self.space or '-'} {self.cache or '-'} {self.proxy}"
