"""How an access is written in inline PTX so that the assembler keeps it in its place.

The assembler may reorder weak accesses, and `.cg` only says where a weak access looks for its value. It never reorders
relaxed ones. From sm_70 on `ld.cg` and `ld.relaxed.gpu` are one machine instruction, bit for bit, and so it is with all
cache operators that have a scope; so the harness writes the relaxed one. A weak access to global memory has no such
twin.

Before sm_70 there are no relaxed accesses. Volatile ones keep their order, and those that are the same machine
instruction are written as such: all of shared memory, and `ld.cv` and `st.wt`. `ld.cg` and `st.cg` have no such twin.
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum

from gpudiy.litmus.access import Access, CacheOperator, Order, Proxy, Scope, Space

FIRST_WITH_ORDERS = 70  # sm_70 is the first architecture with relaxed accesses


class Spelling(StrEnum):
    """How accesses are written: as in the test, or as their twins that the assembler keeps in order."""

    AS_WRITTEN = "as written"
    RELAXED = "relaxed"
    VOLATILE = "volatile"


def spelling_for(architecture: str) -> Spelling:
    """How the harness writes accesses for an architecture such as `sm_80`."""
    return Spelling.RELAXED if int(architecture.strip("sm_af")) >= FIRST_WITH_ORDERS else Spelling.VOLATILE


def spell(access: Access, spelling: Spelling) -> Access:
    """A load or store as it is written."""
    match spelling:
        case Spelling.AS_WRITTEN:
            return access
        case Spelling.RELAXED:
            return spell_relaxed(access)
        case Spelling.VOLATILE:
            return spell_volatile(access)


def spell_relaxed(access: Access) -> Access:
    """The relaxed access that is the same machine instruction as this load or store; itself if there is none."""
    scope = None
    if access.proxy is Proxy.GENERIC and access.order in (Order.WEAK, Order.VOLATILE):
        if access.space is Space.SHARED:
            scope = Scope.CTA
        elif access.order is Order.VOLATILE:
            scope = Scope.SYS
        elif access.cache is not None:
            scope = access.cache.scope
    return access if scope is None else replace(access, order=Order.RELAXED, scope=scope, cache=None)


def spell_volatile(access: Access) -> Access:
    """The volatile access that is the same machine instruction before sm_70; itself if there is none."""
    if access.proxy is not Proxy.GENERIC or access.order is not Order.WEAK:
        return access
    if access.space is Space.SHARED or access.cache in (CacheOperator.CV, CacheOperator.WT):
        return replace(access, order=Order.VOLATILE, cache=None)
    return access
