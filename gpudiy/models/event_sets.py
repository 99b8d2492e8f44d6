"""The sets of events that models can name, and which of them an event belongs to."""

from __future__ import annotations

from gpudiy.litmus.access import CacheOperator, Order, Proxy, Scope, Space
from gpudiy.litmus.instruction import (
    Alu,
    Atomic,
    Barrier,
    Branch,
    Fence,
    FenceKind,
    Label,
    Load,
    ProxyFence,
    ProxyFenceKind,
    Reduce,
    SetPredicate,
    Store,
    access_of,
)
from gpudiy.litmus.instruction import scope_of as instruction_scope
from gpudiy.models.event import Event, EventKind


def _order_set(order: Order) -> str:
    """The set of the loads and stores of an order."""
    match order:
        case Order.WEAK:
            return "WEAK"
        case Order.RELAXED | Order.MMIO:
            return "RLX"
        case Order.ACQUIRE:
            return "ACQ"
        case Order.RELEASE:
            return "REL"
        case Order.VOLATILE:
            return "VOL"
        case Order.ACQ_REL:
            raise AssertionError("no load or store is acq_rel")


ORDER_SETS: dict[Order, str] = {order: _order_set(order) for order in Order if order is not Order.ACQ_REL}
FENCE_SETS = {
    FenceKind.SC: ("SC",), FenceKind.ACQ_REL: ("ACQ_REL",), FenceKind.ACQUIRE: ("ACQ",), FenceKind.RELEASE: ("REL",),
    FenceKind.MEMBAR: ("MEMBAR", "SC"),
}  # fmt: skip
PROXY_SETS = {Proxy.GENERIC: "GEN", Proxy.TEXTURE: "TEX", Proxy.SURFACE: "SUR", Proxy.CONSTANT: "CON"}


def _proxy_fence_set(kind: ProxyFenceKind) -> str:
    """The set of the proxy fences of a kind."""
    match kind:
        case ProxyFenceKind.ALIAS:
            return "PF-ALIAS"
        case ProxyFenceKind.GENERIC:
            return "PF-GEN"
        case ProxyFenceKind.TEXTURE:
            return "PF-TEX"
        case ProxyFenceKind.SURFACE:
            return "PF-SUR"
        case ProxyFenceKind.CONSTANT:
            return "PF-CON"
        case (
            ProxyFenceKind.ASYNC
            | ProxyFenceKind.ASYNC_GLOBAL
            | ProxyFenceKind.ASYNC_SHARED_CTA
            | ProxyFenceKind.ASYNC_SHARED_CLUSTER
        ):
            return "PF-ASYNC"


PROXY_FENCE_SETS = {kind: _proxy_fence_set(kind) for kind in ProxyFenceKind}
SCOPE_SETS = {Scope.CTA: "CTA", Scope.CLUSTER: "CLUSTER", Scope.GPU: "GPU", Scope.SYS: "SYS"}
SPACE_SETS = {space.upper(): space for space in Space}
CACHE_SETS = {operator.upper(): operator for operator in CacheOperator}

SETS = (
    "_", *(kind.value for kind in EventKind), "M", "IW", "RMW", "RED",
    *dict.fromkeys((*ORDER_SETS.values(), *(name for names in FENCE_SETS.values() for name in names))),
    *SCOPE_SETS.values(), *PROXY_SETS.values(), *dict.fromkeys(PROXY_FENCE_SETS.values()), *SPACE_SETS, *CACHE_SETS,
)  # fmt: skip


def scope_of(event: Event) -> Scope | None:
    """The scope of an event; an initial write has none."""
    return None if event.instruction is None else instruction_scope(event.instruction)


def cache_of(event: Event) -> CacheOperator | None:
    """The cache operator of an access."""
    access = None if event.instruction is None else access_of(event.instruction)
    return None if access is None else access.cache


def set_names(event: Event) -> list[str]:
    """The sets that an event belongs to, but for those of spaces and cache operators, which few models ask for."""
    instruction = event.instruction
    names = [event.kind.value]
    if event.kind in (EventKind.READ, EventKind.WRITE):
        names.append("M")
    scope = scope_of(event)
    if scope is not None:
        names.append(SCOPE_SETS[scope])
    match instruction:
        case None:
            names += ["IW", "GEN"]
        case Load(access=access) | Store(access=access):
            names += [ORDER_SETS[access.order], PROXY_SETS[access.proxy]]
        case Atomic(access=access) | Reduce(access=access):
            reduces = isinstance(instruction, Reduce)
            names += ["RMW", _atomic_set(event.kind, access.order, reduces), PROXY_SETS[access.proxy]]
            names += ["RED"] if reduces else []
        case Fence(kind=kind):
            names += FENCE_SETS[kind]
        case ProxyFence(kind=proxy):
            names.append(PROXY_FENCE_SETS[proxy])
        case Barrier() | Alu() | SetPredicate() | Branch() | Label():
            pass
    return names


def _atomic_set(kind: EventKind, order: Order, reduces: bool) -> str:
    """The read of an atomic acquires, its write releases, as its order says; the read of red acquires nothing."""
    if kind is EventKind.READ and order in (Order.ACQUIRE, Order.ACQ_REL) and not reduces:
        return "ACQ"
    return "REL" if kind is EventKind.WRITE and order in (Order.RELEASE, Order.ACQ_REL) else "RLX"
