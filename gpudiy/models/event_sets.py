"""The sets of events that models can name, and which of them an event belongs to."""

from __future__ import annotations

from gpudiy.litmus import instruction as isa
from gpudiy.litmus.access import ACCESS_SCOPES, CacheOperator, Order, Proxy, Scope, Space
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


def _fence_sets(kind: isa.FenceKind) -> tuple[str, ...]:
    """The sets of the fences of a kind."""
    match kind:
        case isa.FenceKind.SC:
            return ("SC",)
        case isa.FenceKind.ACQ_REL:
            return ("ACQ_REL",)
        case isa.FenceKind.ACQUIRE:
            return ("ACQ",)
        case isa.FenceKind.RELEASE:
            return ("REL",)
        case isa.FenceKind.MEMBAR:
            return ("MEMBAR", "SC")


def _proxy_set(proxy: Proxy) -> str:
    """The set of the accesses through a proxy."""
    match proxy:
        case Proxy.GENERIC:
            return "GEN"
        case Proxy.TEXTURE:
            return "TEX"
        case Proxy.SURFACE:
            return "SUR"
        case Proxy.CONSTANT:
            return "CON"


FENCE_SETS = {kind: _fence_sets(kind) for kind in isa.FenceKind}
PROXY_SETS = {proxy: _proxy_set(proxy) for proxy in Proxy}


def _proxy_fence_set(kind: isa.ProxyFenceKind) -> str:
    """The set of the proxy fences of a kind."""
    match kind:
        case isa.ProxyFenceKind.ALIAS:
            return "PF-ALIAS"
        case isa.ProxyFenceKind.GENERIC:
            return "PF-GEN"
        case isa.ProxyFenceKind.TEXTURE:
            return "PF-TEX"
        case isa.ProxyFenceKind.SURFACE:
            return "PF-SUR"
        case isa.ProxyFenceKind.CONSTANT:
            return "PF-CON"
        case (
            isa.ProxyFenceKind.ASYNC
            | isa.ProxyFenceKind.ASYNC_GLOBAL
            | isa.ProxyFenceKind.ASYNC_SHARED_CTA
            | isa.ProxyFenceKind.ASYNC_SHARED_CLUSTER
        ):
            return "PF-ASYNC"


PROXY_FENCE_SETS = {kind: _proxy_fence_set(kind) for kind in isa.ProxyFenceKind}
SCOPE_SETS = {scope: scope.name for scope in ACCESS_SCOPES}
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
    access = None if event.instruction is None else isa.access_of(event.instruction)
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
        case isa.Load(access=access) | isa.Store(access=access):
            names += [ORDER_SETS[access.order], PROXY_SETS[access.proxy]]
        case isa.Atomic(access=access) | isa.Reduce(access=access):
            reduces = isinstance(instruction, isa.Reduce)
            names += ["RMW", _atomic_set(event.kind, access.order, reduces), PROXY_SETS[access.proxy]]
            names += ["RED"] if reduces else []
        case isa.Fence(kind=kind):
            names += FENCE_SETS[kind]
        case isa.ProxyFence(kind=proxy):
            names.append(PROXY_FENCE_SETS[proxy])
        case isa.Barrier() | isa.Alu() | isa.SetPredicate() | isa.Branch() | isa.Label():
            pass
    return names


def _atomic_set(kind: EventKind, order: Order, reduces: bool) -> str:
    """The read of an atomic acquires, its write releases, as its order says; the read of red acquires nothing."""
    if kind is EventKind.READ and order.acquires and not reduces:
        return "ACQ"
    return "REL" if kind is EventKind.WRITE and order.releases else "RLX"
