"""Tests that lose their meaning in WGSL. `WGSL_TABLE` says what each access and fence of PTX becomes there."""

from __future__ import annotations

from gpudiy.harness.c11_folding import known_result, needless_branch
from gpudiy.harness.shape import Shape
from gpudiy.harness.thread_wgsl import ATOMICS
from gpudiy.harness.wgsl_addresses import find_misuse
from gpudiy.litmus import instruction as isa
from gpudiy.litmus.access import Order, Proxy, ScalarType, Scope, Space
from gpudiy.litmus.condition import AddressOf
from gpudiy.litmus.flow import memory_uses
from gpudiy.litmus.test import Test

WGSL_TABLE = (
    ("relaxed.gpu, relaxed.sys, volatile", "relaxed atomic", "its scope is the device, and a launch has one device"),
    ("ld.cg, st.cg, ld.cv, st.wt", "relaxed atomic", "at the level of memory that all workgroups share"),
    ("relaxed.S of shared memory", "relaxed atomic", "its scope is the workgroup, which is all that sees the memory"),
    ("atom, red: add and or xor exch cas, min max of u32", "the operation of the same name", ""),
    ("atom, red: min max of s32, inc dec", "compare-exchange until it succeeds", "one atomic operation, as before"),
    ("ld, st without an order", "not runnable", "a relaxed atomic is stronger: what it does not show is no evidence"),
    ("ld.ca, ld.cs, ld.lu, st.wb, st.cs", "not runnable", "no operation names the cache of one workgroup"),
    ("relaxed.cta, .cluster of global memory", "not runnable", "the scope of the device is stronger"),
    ("acquire, release, acq_rel, mmio", "not runnable", "there are relaxed atomics only"),
    ("membar, fence", "not runnable", "there are no fences; a barrier also makes threads wait"),
    ("bar, fence.proxy, other proxies, clusters", "not runnable", ""),
    ("16 and 64 bits, addresses as values", "not runnable", "atomics have 32 bits, and there are no pointers"),
    ("two threads of one warp", "not runnable", "nothing makes lanes of a subgroup run at the same time"),
    ("xor r1,r0,r0 and the like", "not runnable", "a compiler knows the result, and would remove the dependency"),
)
DEVICE_CACHES = (Scope.GPU, Scope.SYS)


def wgsl_obstacle(test: Test, shape: Shape) -> str | None:
    """Why WGSL cannot keep the meaning of the test; None if it can."""
    if test.scope_tree.host is not None:
        return "one of its threads runs on the host: only CUDA devices run threads of the host beside their own"
    if test.scope_tree.has_clusters:
        return "its threads are in a cluster of CTAs, which WGSL does not have"
    if shape.lanes > 1:
        return "two of its threads are in one warp; lanes of a subgroup would run one after another"
    if shape.wide or any(isinstance(entry.value, AddressOf) for entry in test.init):
        return "a location or an observed value has 64 bits, atomics of WGSL have 32"
    for number, thread in enumerate(test.threads):
        found = _obstacle_of_thread(test, number, thread)
        if found is not None:
            return f"P{number}: {found}"
    for use in memory_uses(test):
        found = _obstacle_of_access(test, use.instruction, use.targets)
        if found is not None:
            return f"P{use.thread}: {found}"
    return None


def _obstacle_of_thread(test: Test, number: int, thread: tuple[isa.Instruction, ...]) -> str | None:
    found = next(filter(None, map(_obstacle, thread)), None) or find_misuse(test, number)
    if found is not None:
        return found
    if any(register.type.bits == 16 for register in test.registers_of(number)):
        return "WGSL has no registers of 16 bits"
    if needless_branch(thread):
        return "both ways of a branch do the same, so a compiler would remove the dependency"
    known = known_result(test, number)
    if known is not None:
        operation, value = known
        return f"a compiler knows that this {operation} gives {value}, and would remove the dependency"
    return None


def _obstacle(instruction: isa.Instruction) -> str | None:
    match instruction:
        case isa.Fence():
            return "WGSL has no fences; its barriers also make the threads of a workgroup wait for each other"
        case isa.ProxyFence():
            return "WGSL has no fence.proxy"
        case isa.Barrier():
            return "a barrier of WGSL is one of all threads of a workgroup, in which other instances run too"
        case isa.SetPredicate(type=type) if type not in (ScalarType.S32, ScalarType.U32, ScalarType.B32):
            return f"WGSL compares numbers of 32 bits, not {type}"
        case isa.Atomic() | isa.Reduce() if instruction.operation not in ATOMICS:
            return f"there is no atomic {instruction.operation}"
        case (
            isa.Load() | isa.Store() | isa.Atomic() | isa.Reduce() | isa.Alu()
            | isa.SetPredicate() | isa.Branch() | isa.Label()
        ):  # fmt: skip
            return None


def _obstacle_of_access(test: Test, instruction: isa.MemoryInstruction, targets: frozenset[str]) -> str | None:
    access = instruction.access
    spaces = {test.memory_map.space_of(name) for name in targets}
    if len(spaces) != 1:
        return f"[{instruction.address.name}] may lie in either space"
    if access.proxy is not Proxy.GENERIC:
        return f"WGSL has no {access.proxy} proxy"
    if access.type.bits != 32:
        return f"WGSL has no atomics of {access.type.bits} bits"
    if access.order not in (Order.WEAK, Order.RELAXED, Order.VOLATILE):
        return f"WGSL has relaxed atomics only, nothing like .{access.order}"
    if Space.SHARED in spaces:
        weak = access.order is Order.WEAK and not isinstance(instruction, (isa.Atomic, isa.Reduce))
        return _explain_weakness("relaxed.cta") if weak else None
    return _obstacle_of_global(instruction)


def _obstacle_of_global(instruction: isa.MemoryInstruction) -> str | None:
    access = instruction.access
    scope = access.effective_scope
    if scope in (Scope.CTA, Scope.CLUSTER):
        return f"atomics of WGSL in global memory have the scope of the device, which is stronger than .{scope.word}"
    if access.cache is not None and access.cache.scope not in DEVICE_CACHES:
        return f"WGSL has nothing like the cache operator .{access.cache}"
    if access.order is Order.WEAK and access.cache is None and not isinstance(instruction, (isa.Atomic, isa.Reduce)):
        return _explain_weakness("relaxed.gpu")
    return None


def _explain_weakness(spelling: str) -> str:
    return f"a weak access would be a relaxed atomic, which is stronger; write .{spelling} if that is what you ask"
