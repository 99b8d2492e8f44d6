"""The instructions by which each fence is written, in their order."""

from __future__ import annotations

from collections.abc import Sequence

from gpudiy.litmus.access import Scope, Space
from gpudiy.litmus.barrier_count import WARP_SIZE, count_threads
from gpudiy.litmus.instruction import Barrier, Fence, FenceKind, Immediate, ProxyFence
from optcheck.mapping import Generation, SassMapping
from optcheck.sass import NumberOperand, SassInstruction, Touch, successor
from optcheck.sass_grammar import parse_instruction
from optcheck.specification import AccessKind, ExpectedAccess

Ordering = Fence | ProxyFence | Barrier
Fences = tuple[str, ...]
ESCORT = "MEMBAR.ALL.CTA"
INVALIDATE = "CCTL.IVALL"
INVALIDATE_LINE = "CCTL.E.IV"


def fence_text(instruction: SassInstruction) -> str:
    """A fence as it is compared: with all its modifiers and numbers."""
    numbers = [str(one.value) for one in instruction.operands if isinstance(one, NumberOperand)]
    others = [str(one) for one in instruction.operands if not isinstance(one, NumberOperand)]
    return " ".join((".".join((instruction.opcode, *instruction.modifiers)), *numbers, *others))


def find_fence(instructions: list[SassInstruction], index: int) -> SassInstruction:
    """A fence of a function; sm_35 invalidates the line of an atomic, which is written here without its address."""
    fence, before = instructions[index], instructions[max(index - 1, 0)]
    address = before.address
    if before.touch is not Touch.ATOMIC or address is None or fence.guard != before.guard:
        return fence
    names = {successor(one.name, word) for one in address.registers for word in (0, 1)}
    same = fence.opcode == "CCTL" and fence.modifiers == ("E", "IV") and fence.operands == (address,)
    return parse_instruction(INVALIDATE_LINE) if same and not names & {*before.writes} else fence


def expected_fences(
    mapping: SassMapping,
    earlier: ExpectedAccess | None,
    fences: Sequence[Ordering],
    later: ExpectedAccess | None,
) -> set[Fences]:
    """All ways to write the fences between two accesses, with those that acquire and release need."""
    parts: list[set[Fences]] = []
    if earlier is not None:
        parts.append(_acquire(mapping, earlier))
    parts += [_fence(mapping, one) for one in fences]
    if later is not None:
        parts.append(_release(mapping, later))
    found: set[Fences] = {()}
    for part in parts:
        found = {(*one, *other) for one in found for other in part}
    return found


def _acquire(mapping: SassMapping, access: ExpectedAccess) -> set[Fences]:
    scope = access.access.scope
    if (
        mapping.generation is Generation.KEPLER
        and access.kind is AccessKind.ATOMIC
        and access.space is not Space.SHARED
    ):
        return {(INVALIDATE_LINE,)}
    if not access.access.order.acquires or scope is None:
        return {()}
    if scope is Scope.CTA or (access.space is Space.SHARED and mapping.generation is not Generation.HOPPER):
        return {()}
    return {(INVALIDATE,)}


def _release(mapping: SassMapping, access: ExpectedAccess) -> set[Fences]:
    scope = access.access.scope
    if not access.access.order.releases or scope is None:
        return {()}
    return _membar(mapping, "ALL", scope, False)


def _fence(mapping: SassMapping, fence: Ordering) -> set[Fences]:
    match fence:
        case Fence(kind=kind, scope=scope):
            match kind:
                case FenceKind.MEMBAR | FenceKind.SC:
                    return _membar(mapping, "SC", scope, scope is not Scope.CTA)
                case FenceKind.ACQ_REL:
                    return _membar(mapping, "ALL", scope, scope is not Scope.CTA)
                case FenceKind.RELEASE:
                    return _membar(mapping, "ALL", scope, False)
                case FenceKind.ACQUIRE:
                    return {(INVALIDATE,)} if scope is not Scope.CTA else {()}
        case Barrier():
            return _barrier(mapping, fence)
        case ProxyFence(kind=kind_of_proxy):
            return {(INVALIDATE,) if kind_of_proxy == "alias" else ("FENCE.VIEW.ASYNC",)}


def _barrier(mapping: SassMapping, barrier: Barrier) -> set[Fences]:
    """A barrier counts the threads of whole warps; a thread of the test is one warp."""
    numbers = [one.value for one in (barrier.identifier, barrier.count) if isinstance(one, Immediate)]
    if len(numbers) == 2:
        numbers[1] = WARP_SIZE * count_threads(numbers[1])
    operands = "".join(f" {number}" for number in numbers)
    if not barrier.mode.waits:
        return {(f"BAR.ARV{operands}",)}
    waits = ("BAR.SYNC", "BAR.SYNC.DEFER_BLOCKING") if mapping.modern else ("BAR.SYNC",)
    return {(f"{opcode}{operands}",) for opcode in waits}


def _membar(mapping: SassMapping, kind: str, scope: Scope, invalidates: bool) -> set[Fences]:
    if not mapping.modern:
        word = {Scope.CTA: "CTA", Scope.SYS: "SYS"}.get(scope, "GL")
        if scope is Scope.CTA:
            return {("MEMBAR.CTA",)}
        return {(f"MEMBAR.{word}.IVALLD",), (f"MEMBAR.{word}", INVALIDATE)}
    word = {Scope.CTA: "CTA", Scope.SYS: "SYS"}.get(scope, "GPU")
    after = (INVALIDATE,) if invalidates else ()
    if scope is Scope.CTA:
        return {(f"MEMBAR.{kind}.CTA",)}
    errors = ("ERRBAR", "CGAERRBAR") if mapping.generation is Generation.HOPPER else ("ERRBAR",)
    fence = (f"MEMBAR.{kind}.{word}", *errors, *after)
    return {fence, (ESCORT, *fence)} if mapping.generation is Generation.HOPPER else {fence}
