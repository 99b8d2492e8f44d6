"""Instructions that models can decide, but no GPU can run."""

from __future__ import annotations

from gpudiy.harness.inline_ptx import Unrealisable
from gpudiy.litmus.access import Order, Proxy, Space
from gpudiy.litmus.instruction import (
    Atomic,
    AtomicOperation,
    Instruction,
    MemoryInstruction,
    ProxyFence,
    ProxyFenceKind,
    Reduce,
)

MODEL_ONLY = (AtomicOperation.SUB, AtomicOperation.MUL, AtomicOperation.DIV)
REAL_PROXY_FENCES = frozenset(kind for kind in ProxyFenceKind if kind == "alias" or kind.startswith("async"))


def expect_realisable(thread: int, index: int, instruction: Instruction, space: Space | None) -> None:
    """Raise `Unrealisable` for an instruction that no GPU has; `space` is None if it is unknown."""
    problem = _problem(instruction, space)
    if problem:
        raise Unrealisable(thread, index, problem)


def _problem(instruction: Instruction, space: Space | None) -> str:
    if isinstance(instruction, ProxyFence) and instruction.kind not in REAL_PROXY_FENCES:
        return f"no GPU has a fence.proxy.{instruction.kind}"
    if isinstance(instruction, Reduce) and instruction.access.order in (Order.ACQUIRE, Order.ACQ_REL):
        return "no GPU has a reduction that acquires: it reads nothing"
    if isinstance(instruction, (Atomic, Reduce)) and instruction.operation in MODEL_ONLY:
        return f"no GPU has an atomic {instruction.operation}"
    if isinstance(instruction, MemoryInstruction):
        if instruction.access.proxy is not Proxy.GENERIC:
            return f"an access through the {instruction.access.proxy} proxy has no harness"
        if space is None:
            return f"[{instruction.address.name}] may lie in either space"
    return ""
