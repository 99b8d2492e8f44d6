"""Tests that lose their meaning in C11 atomics. `TABLE` says what each access and fence of PTX becomes there."""

from __future__ import annotations

from gpudiy.harness.c11_folding import known_result, needless_branch
from gpudiy.harness.thread_c11 import ATOMICS, ORDERS, order_and_scope
from gpudiy.litmus import instruction as isa
from gpudiy.litmus.access import Order, Proxy, Scope
from gpudiy.litmus.flow import memory_uses
from gpudiy.litmus.test import Test

TABLE = (
    (
        "ld, st",
        "volatile access",
        "the compiler keeps it; the memory system may treat it as a weak access",
    ),
    ("ld.cg, st.cg", "relaxed, device", "at the level of memory that all groups share"),
    ("ld.cv, st.wt, volatile", "relaxed, all devices", "never cached"),
    ("ld.ca, ld.cs, ld.lu, st.wb, st.cs", "not runnable", "no operation names the cache of one group"),
    ("relaxed, acquire, release, acq_rel", "the same order", ""),
    (".cta, .gpu, .sys", "work-group, device, all devices", ""),
    (".cluster", "not runnable", "there are no clusters"),
    ("membar.S, fence.sc.S", "fence, seq_cst", "a fence without an order does not keep a store before a load"),
    ("fence.acq_rel.S and its halves", "fence of the same order", ""),
    ("atom, red: add and or xor exch cas", "the operation of the same name", ""),
    ("atom, red: min max inc dec", "compare-exchange until it succeeds", "one atomic operation, as before"),
    ("bar.sync, bar.arrive", "not runnable", "a barrier is one of all work-items, at the same place of the kernel"),
    ("fence.proxy, other proxies", "not runnable", ""),
    ("xor r1,r0,r0 and the like", "not runnable", "a C compiler knows the result, and would remove the dependency"),
)


def obstacle(test: Test) -> str | None:
    """Why OpenCL cannot keep the meaning of the test; None if it can."""
    if test.scope_tree.host is not None:
        return "one of its threads runs on the host: only CUDA devices run threads of the host beside their own"
    if test.scope_tree.has_clusters:
        return "its threads are in a cluster of CTAs, which OpenCL does not have"
    for number, thread in enumerate(test.threads):
        for instruction in thread:
            found = _obstacle(instruction)
            if found is not None:
                return f"P{number}: {found}"
        if found := _lost_dependency(test, number):
            return found
    return obstacle_on_host(test)


def obstacle_of_host_threads(test: Test) -> str | None:
    """Why the threads of a test that run on the host, beside a GPU, would lose their meaning; None if they do not."""
    if test.scope_tree.host is None:
        return None
    numbers = filter(test.scope_tree.is_on_host, range(len(test.threads)))
    return next(filter(None, (_lost_dependency(test, number) for number in numbers)), None) or obstacle_on_host(test)


def _lost_dependency(test: Test, number: int) -> str | None:
    if needless_branch(test.threads[number]):
        return f"P{number}: both ways of a branch do the same, so a C compiler would remove the dependency"
    known = known_result(test, number)
    if known is None:
        return None
    operation, value = known
    return f"P{number}: a C compiler knows that this {operation} gives {value}, and would remove the dependency"


def obstacle_on_host(test: Test) -> str | None:
    """Why the host build, which has neither scopes nor cache operators, cannot run the test; None if it can."""
    for number, thread in enumerate(test.threads):
        for instruction in thread:
            if isinstance(instruction, isa.ProxyFence) or (
                isinstance(instruction, isa.MemoryInstruction) and instruction.access.proxy is not Proxy.GENERIC
            ):
                return f"P{number}: there are no proxies"
            access = isa.access_of(instruction)
            if access is not None and access.order is not Order.WEAK and access.order not in ORDERS:
                return f"P{number}: there is nothing like .{access.order}"
            if isinstance(instruction, (isa.Atomic, isa.Reduce)) and instruction.operation not in ATOMICS:
                return f"P{number}: there is no atomic {instruction.operation}"
    for use in memory_uses(test):
        if len({test.memory_map.space_of(name) for name in use.targets}) > 1:
            return f"P{use.thread}: [{use.instruction.address.name}] may lie in either space"
    return None


def _obstacle(instruction: isa.Instruction) -> str | None:
    match instruction:
        case isa.Load() | isa.Store() | isa.Atomic() | isa.Reduce():
            return _obstacle_of_access(instruction)
        case isa.Fence(scope=Scope.CLUSTER):
            return "OpenCL has no scope .cluster"
        case isa.ProxyFence():
            return "OpenCL has no fence.proxy"
        case isa.Barrier():
            return "a barrier of OpenCL is one of all work-items, at the same place of the kernel"
        case isa.Fence() | isa.Alu() | isa.SetPredicate() | isa.Branch() | isa.Label():
            return None


def _obstacle_of_access(instruction: isa.MemoryInstruction) -> str | None:
    access = instruction.access
    if access.proxy is not Proxy.GENERIC:
        return f"OpenCL has no {access.proxy} proxy"
    if access.scope is Scope.CLUSTER:
        return "OpenCL has no scope .cluster"
    if access.cache is not None and access.cache.scope in (None, Scope.CTA):
        return f"OpenCL has nothing like the cache operator .{access.cache}"
    if access.type.bits == 16 and order_and_scope(access) is not None:
        return "OpenCL has no atomics of 16 bits"
    return None
