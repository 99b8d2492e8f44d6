"""The strength of fences and accesses, and its cost: cta < gpu < sys, relaxed < acquire, acq_rel < sc."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gpudiy.litmus.access import Order, Scope
from gpudiy.litmus.instruction import Atomic, Fence, FenceKind, Load, Reduce, Store
from gpudiy.litmus.traits import opcode_of
from gpudiy.locks.lock_program import read_statement, split_statement
from gpudiy.models.minimal import FENCE_COST, ORDER_COST, SCOPE_COST
from gpudiy.ptx import PtxStatement


class StrengthKind(StrEnum):
    """The kinds of fences and accesses; `atomic` is an atomic that replaces a plain access."""

    WEAK = "weak"
    RELAXED = "relaxed"
    VOLATILE = "volatile"
    ATOMIC = "atomic"
    ACQUIRE = "acquire"
    RELEASE = "release"
    ACQ_REL = "acq_rel"
    FENCE_ACQ_REL = "fence.acq_rel"
    FENCE_SC = "fence.sc"
    MEMBAR = "membar"


_COSTS_AND_WEAKER = {  # the cost of a kind, and the kinds that it includes
    StrengthKind.WEAK: (0, ()),
    StrengthKind.RELAXED: (ORDER_COST[Order.RELAXED], ("weak",)),
    StrengthKind.VOLATILE: (ORDER_COST[Order.RELAXED], ("weak", "relaxed")),
    StrengthKind.ATOMIC: (4, ("weak", "relaxed")),
    StrengthKind.ACQUIRE: (ORDER_COST[Order.ACQUIRE], ("weak", "relaxed")),
    StrengthKind.RELEASE: (ORDER_COST[Order.RELEASE], ("weak", "relaxed")),
    StrengthKind.ACQ_REL: (ORDER_COST[Order.ACQ_REL], ("weak", "relaxed", "acquire", "release")),
    StrengthKind.FENCE_ACQ_REL: (FENCE_COST[FenceKind.ACQ_REL], ()),
    StrengthKind.FENCE_SC: (FENCE_COST[FenceKind.SC], ("fence.acq_rel", "membar")),
    StrengthKind.MEMBAR: (FENCE_COST[FenceKind.MEMBAR], ("fence.acq_rel", "fence.sc")),
}
KIND_COST = {kind: cost for kind, (cost, _) in _COSTS_AND_WEAKER.items()}
WEAKER = {kind: frozenset(map(StrengthKind, weaker)) for kind, (_, weaker) in _COSTS_AND_WEAKER.items()}
UNUSED = "%gpudiy"  # prefix of registers whose value is not used
STRENGTH_WORDS = frozenset((
    "weak", "relaxed", "volatile", "acquire", "release", "acq_rel", "cta", "cluster", "gpu", "gl", "sys",
    "cg", "ca", "wb", "cv", "wt",
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Strength:
    """The strength of a fence or an access."""

    kind: StrengthKind
    scope: Scope | None = None  # weak accesses have none

    @property
    def cost(self) -> int:
        """The order in which repairs are tried."""
        return KIND_COST[self.kind] + (0 if self.scope is None else SCOPE_COST[self.scope])

    def includes(self, other: Strength) -> bool:
        """Whether this is at least as strong as the other."""
        kinds = self.kind is other.kind or other.kind in WEAKER[self.kind]
        return kinds and (other.scope is None or (self.scope is not None and other.scope <= self.scope))


def strength_of(statement: PtxStatement) -> Strength:
    """The strength of a fence or an access."""
    match statement.instruction:
        case Fence(kind=FenceKind.MEMBAR, scope=scope):
            return Strength(StrengthKind.MEMBAR, scope)
        case Fence(kind=kind, scope=scope):
            return Strength(StrengthKind.FENCE_SC if kind is FenceKind.SC else StrengthKind.FENCE_ACQ_REL, scope)
        case Load(access=access) | Store(access=access) | Atomic(access=access) | Reduce(access=access):
            return Strength(StrengthKind(access.order.value), access.effective_scope)
        case _:
            raise AssertionError(statement.text)


def strengthen(statement: PtxStatement, strength: Strength) -> PtxStatement:
    """The statement with another strength, by other words in its opcode."""
    guard, opcode, operands = split_statement(statement.text)
    kind, *others = (word for word in opcode.split(".") if word not in STRENGTH_WORDS)
    if strength.kind in (StrengthKind.MEMBAR, StrengthKind.FENCE_SC, StrengthKind.FENCE_ACQ_REL):
        new = fence_text(strength)
    elif strength.kind is StrengthKind.VOLATILE:
        new = ".".join((kind, "volatile", *others))
    elif strength.kind is StrengthKind.ATOMIC:
        new, operands = _make_atomic(statement, others, operands, strength)
    else:
        scope = () if strength.scope is None else (strength.scope.word,)
        new = ".".join((kind, strength.kind.value, *scope, *others))
    return read_statement(f"{guard}{new}{operands}", statement.place)


def fence_text(strength: Strength) -> str:
    """A fence of this strength as PTX."""
    assert strength.scope is not None
    if strength.kind is StrengthKind.MEMBAR:
        return opcode_of(Fence(FenceKind.MEMBAR, strength.scope))
    return opcode_of(Fence(FenceKind(strength.kind.removeprefix("fence.")), strength.scope))


def _make_atomic(statement: PtxStatement, words: list[str], operands: str, strength: Strength) -> tuple[str, str]:
    """The opcode and operands of a store as an exchange without result, or of a load as an addition of 0."""
    assert strength.scope is not None
    *spaces, type = words
    scopes = () if strength.scope is Scope.GPU else (strength.scope.word,)
    if isinstance(statement.instruction, Store):
        opcode = ".".join(("atom", *scopes, *spaces, "exch", f"b{type[1:]}"))
        return opcode, f" {UNUSED}{statement.place.line},{operands}"
    return ".".join(("atom", *scopes, *spaces, "add", f"u{type[1:]}")), f"{operands}, 0"
