"""The literals of specifications: immediates that no other code uses, so that they can be found in the SASS.

A literal has 32 bits: the prefix 0x07f3a, then the thread (3 bits), the type of the access (5) and its position among
the accesses of its thread (4). For thread 0 this is the layout of the thesis: `07f3a | type | position`. Types from 32
on have the prefix 0x07f3c.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpudiy.litmus.access import ACCESS_SCOPES, Access, CacheOperator, Order, Scope
from gpudiy.litmus.instruction import MemoryInstruction
from gpudiy.litmus.traits import literal_name

PREFIX = 0x07F3A
SECOND_PREFIX = 0x07F3C  # types 32 to 63
STRESS_PREFIX = 0x07F3B  # values that a stressing thread stores, to find its loop in the SASS: `07f3b | pattern`
PREFIXES = (PREFIX, SECOND_PREFIX, STRESS_PREFIX)
THREADS, TYPES, POSITIONS = 8, 64, 16

# The spelling of each type without space, width and operation; its index is its number.
TYPE_NAMES = (
    "st.wb", "ld.ca", "st", "ld", "st.cg", "ld.cg", "st.wt", "ld.cv", "st.cs", "ld.cs", "ld.lu",
    "st.volatile", "ld.volatile",
    *(f"{word}.{scope.word}"
      for word in ("st.relaxed", "ld.relaxed", "st.release", "ld.acquire") for scope in ACCESS_SCOPES),
    "atom", "red", "st.mmio.relaxed.sys", "ld.mmio.relaxed.sys",
)  # fmt: skip
_NUMBERS = {name: number for number, name in enumerate(TYPE_NAMES)}


@dataclass(frozen=True, slots=True)
class Literal:
    """The access number `position` of `thread` has the type TYPE_NAMES[type]."""

    thread: int
    type: int
    position: int

    def encode(self) -> int:
        """The immediate of 32 bits."""
        prefix = PREFIX if self.type < 32 else SECOND_PREFIX
        return prefix << 12 | self.thread << 9 | (self.type & 31) << 4 | self.position

    @property
    def type_name(self) -> str:
        return TYPE_NAMES[self.type] if self.type < len(TYPE_NAMES) else f"type {self.type}"


def decode_literal(value: int) -> Literal | None:
    """The literal of an immediate; None if it is not one."""
    if value >> 12 not in (PREFIX, SECOND_PREFIX):
        return None
    more = 0 if value >> 12 == PREFIX else 32
    return Literal(value >> 9 & 7, (value >> 4 & 31) + more, value & 15)


def stress_literal(pattern: int) -> int:
    """The value that a stressing thread stores in pattern number `pattern`: 0 st-st, 1 st-ld, 2 ld-st, 3 ld-ld."""
    return STRESS_PREFIX << 12 | pattern


def stress_pattern(value: int) -> int | None:
    """The number of the stress pattern of an immediate; None if it is not a stress literal."""
    return value & 0xFFF if value >> 12 == STRESS_PREFIX else None


def type_number(instruction: MemoryInstruction) -> int:
    """The number of the type of an access in a literal."""
    return _NUMBERS[literal_name(instruction)]


def cache_or_order(type_name: str) -> Access | None:
    """The attributes of a load or store, from the name of its type; None for atomics."""
    word, _, suffix = type_name.partition(".")
    if word not in ("ld", "st"):
        return None
    if not suffix:
        return Access()
    for named in Order:
        if named.implied_scope is not None and f".{suffix}" == named.spelling:
            return Access(order=named)
    order, _, scope = suffix.partition(".")
    if scope:
        return Access(order=Order(order), scope=Scope[scope.upper()])
    return Access(cache=CacheOperator(suffix))
