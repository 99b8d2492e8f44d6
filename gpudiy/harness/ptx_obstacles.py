"""Instructions that models can decide, but no GPU can run."""

from __future__ import annotations

from gpudiy.harness.inline_ptx import Unrealisable
from gpudiy.litmus import instruction as isa
from gpudiy.litmus.access import Proxy, Space

REAL_PROXY_FENCES = frozenset(kind for kind in isa.ProxyFenceKind if kind == "alias" or kind.startswith("async"))


def expect_realisable(thread: int, index: int, instruction: isa.Instruction, space: Space | None) -> None:
    """Raise `Unrealisable` for an instruction that no GPU has; `space` is None if it is unknown."""
    problem = _problem(instruction, space)
    if problem:
        raise Unrealisable(thread, index, problem)


def _problem(instruction: isa.Instruction, space: Space | None) -> str:
    if isinstance(instruction, isa.ProxyFence) and instruction.kind not in REAL_PROXY_FENCES:
        return f"no GPU has a fence.proxy.{instruction.kind}"
    if isinstance(instruction, isa.Reduce) and instruction.access.order.acquires:
        return "no GPU has a reduction that acquires: it reads nothing"
    if isinstance(instruction, (isa.Atomic, isa.Reduce)) and instruction.operation.model_only:
        return f"no GPU has an atomic {instruction.operation}"
    if isinstance(instruction, isa.MemoryInstruction):
        if instruction.access.proxy is not Proxy.GENERIC:
            return f"an access through the {instruction.access.proxy} proxy has no harness"
        if space is None:
            return f"[{instruction.address.name}] may lie in either space"
    return ""
