"""From PTX to SASS: the opcodes, strengths and fences of each architecture."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gpudiy.litmus.access import Access, CacheOperator, Order, Scope, Space
from gpudiy.litmus.instruction import AtomicOperation
from optcheck.sass import WORD, SassInstruction, Touch
from optcheck.specification import AccessKind, ExpectedAccess

STRENGTHS = ("CTA", "SM", "GPU", "SYS", "VC")
EVICTION = {CacheOperator.CS: "EF", CacheOperator.LU: "LU"}
OPERATIONS = {operation: operation.value.upper() for operation in AtomicOperation}


class Generation(StrEnum):
    """The oldest architecture of each group that translates PTX in the same way."""

    KEPLER = "sm_35"
    MAXWELL = "sm_50"
    PASCAL = "sm_60"
    VOLTA = "sm_70"
    AMPERE = "sm_80"
    HOPPER = "sm_90"


@dataclass(frozen=True, slots=True)
class SassMapping:
    """The SASS of accesses and fences in one generation."""

    generation: Generation

    @property
    def modern(self) -> bool:
        """Whether accesses have strengths and fences have kinds."""
        return self.generation is not Generation.KEPLER and not self.has_condition_code

    @property
    def has_condition_code(self) -> bool:
        """sm_50 to sm_62: carries are in the condition code, generic accesses have a predicate, jumps 32 bits."""
        return self.generation in (Generation.MAXWELL, Generation.PASCAL)

    @property
    def shared_window(self) -> int | None:
        """Where bank 0 of constant memory has the start of shared memory; None if addresses do not contain it."""
        if self.generation is Generation.PASCAL:
            return 0
        return 0x18 if self.generation in (Generation.VOLTA, Generation.AMPERE) else None

    @property
    def shared_mask(self) -> int:
        """The bits of a generic address of shared memory that are its address there."""
        return 0xFFFFFF if self.generation is Generation.MAXWELL else WORD

    def strength(self, access: Access) -> str:
        """The strength of a global access in SASS: `STRONG.GPU`, `MMIO.SYS`, `CG`, or nothing."""
        scope = (access.cache and access.cache.scope) or access.effective_scope
        if scope is None:
            return ""
        if self.modern:
            return f"{'MMIO' if access.order is Order.MMIO else 'STRONG'}.{self._scope_word(scope)}"
        if scope is Scope.CTA:
            return ""
        return "CG" if scope is Scope.GPU else "CV"

    def _scope_word(self, scope: Scope) -> str:
        if scope is Scope.CTA:
            return "CTA" if self.generation is Generation.VOLTA else "SM"
        return "SYS" if scope is Scope.SYS else "GPU"


def mapping_for(architecture: str) -> SassMapping:
    """The mapping of an architecture such as sm_86; a newer architecture has the mapping of the newest known one."""
    digits = "".join(character for character in architecture.removeprefix("sm_") if character.isdigit())
    number = int(digits) if digits else 90
    for least, generation in (
        (90, Generation.HOPPER),
        (80, Generation.AMPERE),
        (70, Generation.VOLTA),
        (60, Generation.PASCAL),
        (50, Generation.MAXWELL),
    ):
        if number >= least:
            return SassMapping(generation)
    return SassMapping(Generation.KEPLER)


def find_difference(expected: ExpectedAccess, found: SassInstruction, mapping: SassMapping) -> str:
    """How the instruction differs from the expected access; empty if it does not."""
    if not _same_kind(expected, found):
        return f"the {expected.kind} became {found.opcode}, {_with_article(found)}"
    if expected.space is not None and found.space not in _space_words(expected.space, mapping):
        return f"the access is to {expected.space} memory, {found.opcode} to {found.space or 'another'} memory"
    if expected.operation is not None:
        word = OPERATIONS[expected.operation]
        if word not in found.modifiers and not _is_cas_loop(found):
            return f"an atomic {expected.operation} became {'.'.join((found.opcode, *found.modifiers))}"
    if found.space == "shared" or expected.space is Space.SHARED:
        return ""
    expected_strength = mapping.strength(expected.access)
    if found.touch in (Touch.ATOMIC, Touch.REDUCE):
        if not mapping.modern:
            return ""
    elif not mapping.modern and expected_strength == "CV" and found.touch is Touch.STORE:
        expected_strength = "WT"
    has = _found_strength(found, mapping)
    if has != expected_strength:
        return f"expected strength {expected_strength or 'weak'}, found {has or 'weak'}"
    eviction = EVICTION.get(expected.access.cache) if expected.access.cache else None
    if eviction and mapping.modern and eviction not in found.modifiers:
        return f"its cache operator {expected.access.cache} is lost"
    return ""


def _with_article(found: SassInstruction) -> str:
    return f"{'an' if found.touch is Touch.ATOMIC else 'a'} {found.touch}"


def words_of(expected: ExpectedAccess) -> int:
    """The number of 32-bit registers of an access."""
    return 2 if expected.access.type.bits == 64 else 1


def _same_kind(expected: ExpectedAccess, found: SassInstruction) -> bool:
    if expected.kind is AccessKind.REDUCE:  # a reduction in shared memory is an atomic whose result is dropped
        return found.touch is Touch.REDUCE or (found.touch is Touch.ATOMIC and not found.writes)
    return {
        AccessKind.LOAD: Touch.LOAD,
        AccessKind.STORE: Touch.STORE,
        AccessKind.ATOMIC: Touch.ATOMIC,
    }[expected.kind] is found.touch


def _space_words(space: Space, mapping: SassMapping) -> tuple[str, ...]:
    """Kepler has one opcode for global and generic accesses; atomics go by ATOM until sm_60."""
    if space is Space.SHARED:
        return ("shared",)
    return ("global",) if mapping.modern else ("global", "generic")


def _is_cas_loop(found: SassInstruction) -> bool:
    return "CAST" in found.modifiers


def _found_strength(found: SassInstruction, mapping: SassMapping) -> str:
    modifiers = found.modifiers
    if mapping.modern:
        strong = next((word for word in modifiers if word in ("STRONG", "MMIO")), "")
        scope = next((word for word in modifiers if word in STRENGTHS), "")
        return f"{strong}.{scope}" if strong else ""
    return next((word for word in modifiers if word in ("CG", "CV", "WT")), "")
