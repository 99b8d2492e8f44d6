"""How an access is written in inline PTX so that the assembler keeps it in its place.

The assembler may reorder weak accesses, and `.cg` only says where a weak access looks for its value. It never reorders
relaxed ones. From sm_70 on `ld.cg` and `ld.relaxed.gpu` are one machine instruction, bit for bit, and so it is with all
cache operators that have a scope; so the harness writes the relaxed one. A weak access to global memory has no such
twin.
"""

from __future__ import annotations

from dataclasses import replace

from gpudiy.litmus.access import Access, Order, Proxy, Scope, Space

FIRST_WITH_ORDERS = 70  # sm_70 is the first architecture with relaxed accesses


def has_orders(architecture: str) -> bool:
    """Whether an architecture such as `sm_80` has relaxed accesses."""
    return int(architecture.strip("sm_af")) >= FIRST_WITH_ORDERS


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
