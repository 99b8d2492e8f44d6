"""How strong fences and accesses are, and what strength costs: cta < gpu < sys, relaxed < acquire, acq_rel < sc."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from gpudiy.litmus.access import Scope
from gpudiy.locks.program import Statement


class Kind(StrEnum):
    """What a fence or an access can be made; `atomic` stands for an atomic in the place of a plain access."""

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


SCOPES = (Scope.CTA, Scope.GPU, Scope.SYS)
SCOPE_COST = {Scope.CTA: 1, Scope.CLUSTER: 2, Scope.GPU: 3, Scope.SYS: 5}
KIND_COST = {
    Kind.WEAK: 0, Kind.RELAXED: 2, Kind.VOLATILE: 2, Kind.ATOMIC: 4, Kind.ACQUIRE: 5, Kind.RELEASE: 5, Kind.ACQ_REL: 8,
    Kind.FENCE_ACQ_REL: 10, Kind.FENCE_SC: 20, Kind.MEMBAR: 20,
}  # fmt: skip
BELOW = {
    Kind.WEAK: (), Kind.RELAXED: (Kind.WEAK,), Kind.VOLATILE: (Kind.WEAK, Kind.RELAXED),
    Kind.ATOMIC: (Kind.WEAK, Kind.RELAXED), Kind.ACQUIRE: (Kind.WEAK, Kind.RELAXED),
    Kind.RELEASE: (Kind.WEAK, Kind.RELAXED), Kind.ACQ_REL: (Kind.WEAK, Kind.RELAXED, Kind.ACQUIRE, Kind.RELEASE),
    Kind.FENCE_ACQ_REL: (), Kind.FENCE_SC: (Kind.FENCE_ACQ_REL, Kind.MEMBAR),
    Kind.MEMBAR: (Kind.FENCE_ACQ_REL, Kind.FENCE_SC),
}  # fmt: skip
SCOPE_WORDS = {"cta": Scope.CTA, "cluster": Scope.CLUSTER, "gpu": Scope.GPU, "gl": Scope.GPU, "sys": Scope.SYS}
ORDER_WORDS = ("weak", "relaxed", "volatile", "acquire", "release", "acq_rel")


@dataclass(frozen=True, slots=True)
class Strength:
    kind: Kind
    scope: Scope | None = None  # weak accesses have none

    @property
    def cost(self) -> int:
        return KIND_COST[self.kind] + (0 if self.scope is None else SCOPE_COST[self.scope])

    def includes(self, other: Strength) -> bool:
        """Whether this does all that the other does."""
        kinds = self.kind is other.kind or other.kind in BELOW[self.kind]
        return kinds and (other.scope is None or (self.scope is not None and other.scope <= self.scope))

    @property
    def text(self) -> str:
        return f"{self.kind}" if self.scope is None else f"{self.kind}.{self.scope.word}"


def strength_of(statement: Statement) -> Strength:
    """How strong a fence or an access is as it stands."""
    words = statement.opcode
    scope = next((SCOPE_WORDS[word] for word in words if word in SCOPE_WORDS), None)
    if words[0] == "membar":
        return Strength(Kind.MEMBAR, scope)
    if words[0] == "fence":
        return Strength(Kind.FENCE_SC if "sc" in words else Kind.FENCE_ACQ_REL, scope)
    order = next((word for word in ORDER_WORDS if word in words), None)
    if words[0] in ("atom", "red"):
        return Strength(Kind(order or "relaxed"), scope or Scope.GPU)
    if order == "volatile":
        return Strength(Kind.VOLATILE, Scope.SYS)
    return Strength(Kind(order or "weak"), scope)


def strengthened(statement: Statement, strength: Strength) -> Statement:
    """The statement with this strength."""
    scope = "" if strength.scope is None else strength.scope.word
    if strength.kind in (Kind.MEMBAR, Kind.FENCE_SC, Kind.FENCE_ACQ_REL):
        return replace(statement, opcode=fence_words(strength))
    bare = [word for word in statement.opcode if word not in (*ORDER_WORDS, *SCOPE_WORDS, "cg", "ca", "wb", "cv", "wt")]
    if strength.kind is Kind.VOLATILE:
        return replace(statement, opcode=(bare[0], "volatile", *bare[1:]))
    if strength.kind is Kind.ATOMIC:
        return _atomic(statement, bare, scope)
    return replace(statement, opcode=(bare[0], strength.kind.value, scope, *bare[1:]))


def fence_words(strength: Strength) -> tuple[str, ...]:
    assert strength.scope is not None
    if strength.kind is Kind.MEMBAR:
        return ("membar", "gl" if strength.scope is Scope.GPU else strength.scope.word)
    return ("fence", "sc" if strength.kind is Kind.FENCE_SC else "acq_rel", strength.scope.word)


def _atomic(statement: Statement, bare: list[str], scope: str) -> Statement:
    """A store as an exchange whose result nobody wants, a load as an addition of 0."""
    bits, spaces = bare[-1][1:], bare[1:-1]
    scopes = [] if scope == "gpu" else [scope]
    if statement.kind == "st":
        register = f"%gpudiy{statement.line}"
        return replace(
            statement, opcode=("atom", *scopes, *spaces, "exch", f"b{bits}"), operands=(register, *statement.operands)
        )
    return replace(statement, opcode=("atom", *scopes, *spaces, "add", f"u{bits}"), operands=(*statement.operands, "0"))
