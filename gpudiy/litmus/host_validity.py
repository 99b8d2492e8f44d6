"""What threads on the host may do: the CPU has no cache operators, no proxies, no CTA, and no scope but the system."""

from __future__ import annotations

from gpudiy.litmus import instruction as isa
from gpudiy.litmus.access import MEMBAR_WORDS, Access, Order, Proxy, Scope, Space
from gpudiy.litmus.instruction_validity import Problem
from gpudiy.litmus.memory_map import MappedVariable

ORDERS = (Order.WEAK, Order.VOLATILE, Order.RELAXED, Order.ACQUIRE, Order.RELEASE, Order.ACQ_REL)
ON_HOST = "{thread} is on the host"


def check_host_instruction(instruction: isa.Instruction) -> Problem | None:
    """Why a thread on the host cannot have this instruction, which a thread on a GPU can have."""
    match instruction:
        case isa.Load() | isa.Store() | isa.Atomic() | isa.Reduce():
            return _check_access(instruction.access)
        case isa.Fence(kind=isa.FenceKind.MEMBAR, scope=scope):
            return None if scope is Scope.SYS else _narrow_scope(_membar_word(scope), "write membar.sys")
        case isa.Fence(kind=kind, scope=scope):
            return None if scope is Scope.SYS else _narrow_scope(scope.word, f"write fence.{kind}.sys")
        case isa.ProxyFence(kind=proxy):
            hint = "leave it out, or put the thread on a device"
            return Problem(f"{ON_HOST}, which has no proxies to order", str(proxy).partition(".")[0], hint)
        case isa.Barrier():
            hint = "let the threads wait for a value in memory, or put the thread on a device"
            return Problem(f"{ON_HOST}, which has no barriers of a CTA", None, hint)
        case isa.Alu() | isa.SetPredicate() | isa.Branch() | isa.Label():
            return None


def check_host_target(access: Access, variable: MappedVariable) -> Problem | None:
    """Why a thread on the host cannot access this variable."""
    if variable.aliases is not None:
        problem = f"{ON_HOST}, which cannot access {variable.name}: an alias is for proxies of a GPU"
        return Problem(problem, None, f"access {variable.aliases}, or put the thread on a device")
    if Space.SHARED in (access.space, variable.space):
        hint = "shared memory belongs to a CTA: use global space, or put the thread on a device"
        return Problem(f"{ON_HOST}, which cannot access {variable.name} in shared space", None, hint)
    return None


def _check_access(access: Access) -> Problem | None:
    if access.cache is not None:
        hint = f"leave out .{access.cache}, or put the thread on a device"
        return Problem(f"{ON_HOST}, which has no cache operators", access.cache, hint)
    if access.proxy is not Proxy.GENERIC:
        return Problem(f"{ON_HOST}, which has no {access.proxy} proxy", None, "use ld, st, atom or red")
    if access.order not in ORDERS:
        hint = "orders it can have: " + ", ".join(ORDERS)
        return Problem(f"{ON_HOST}, which has no .{access.order} accesses", access.order, hint)
    if access.scope not in (None, Scope.SYS):
        return _narrow_scope(access.scope.word, f"write .{access.order}.sys")
    return None


def _narrow_scope(word: str, hint: str) -> Problem:
    return Problem(f"{ON_HOST}: its scope is .sys, not .{word}", word, hint)


def _membar_word(scope: Scope) -> str:
    return next(word for word, known in MEMBAR_WORDS.items() if known is scope)
