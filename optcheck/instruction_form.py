"""The opcode and modifiers by which each access is written: nothing may be missing, nothing added."""

from __future__ import annotations

from gpudiy.litmus.access import Space
from gpudiy.litmus.instruction import AtomicOperation
from optcheck.mapping import EVICTION, Generation, SassMapping, find_difference
from optcheck.sass import SassInstruction, Touch
from optcheck.specification import AccessKind, ExpectedAccess

HALVES = ("U16", "S16")  # a store cuts both in the same way
SIGNED = (AtomicOperation.MIN, AtomicOperation.MAX)


def find_form_difference(expected: ExpectedAccess, found: SassInstruction, mapping: SassMapping) -> str:
    """How the instruction differs from the expected access; empty if it does not."""
    different = find_difference(expected, found, mapping)
    if different:
        return different
    needed, optional = _modifiers(expected, found, mapping)
    missing = [word for word in needed if word not in found.modifiers]
    added = [word for word in found.modifiers if word not in needed and word not in optional]
    if len(set(found.modifiers)) < len(found.modifiers):
        return f"{found.opcode} has a modifier twice"
    if missing:
        return f"{'.'.join((found.opcode, *found.modifiers))} lacks {', '.join(missing)}"
    return f"{'.'.join((found.opcode, *found.modifiers))} has another form: {', '.join(added)}" if added else ""


def _modifiers(expected: ExpectedAccess, found: SassInstruction, mapping: SassMapping) -> tuple[list[str], list[str]]:
    """The modifiers that the instruction must have, and those that it may have."""
    needed: list[str] = []
    optional: list[str] = []
    type = expected.access.type
    shared = expected.space is Space.SHARED
    if not shared:
        needed.append("E")
        strength = mapping.strength(expected.access)
        if found.touch in (Touch.ATOMIC, Touch.REDUCE):
            needed += strength.split(".") if strength and mapping.modern else []
        elif not mapping.modern and strength == "CV" and found.touch is Touch.STORE:
            needed.append("WT")
        else:
            needed += strength.split(".") if strength else []
        if not strength and mapping.generation is Generation.VOLTA:
            needed.append("SYS")
    elif found.touch is Touch.LOAD and (mapping.generation is Generation.VOLTA or mapping.has_condition_code):
        optional += ["U", "32"]
    if expected.access.cache in EVICTION and mapping.modern and not shared:
        needed.append(EVICTION[expected.access.cache])
    if expected.kind in (AccessKind.ATOMIC, AccessKind.REDUCE) and expected.operation is not None:
        needed.append(expected.operation.value.upper())
        if expected.operation in SIGNED and type[0] == "s":
            needed.append(f"S{type.bits}")
        elif expected.operation not in SIGNED:
            optional += [f"S{type.bits}", f"U{type.bits}"]
        if type.bits == 64:
            optional.append("64")
    elif type.bits == 64:
        needed.append("64")
    elif type.bits == 16:
        if found.touch is Touch.LOAD:
            needed.append("S16" if "S16" in found.modifiers and type[0] == "s" else "U16")
        else:
            needed.append(next((word for word in HALVES if word in found.modifiers), "16"))
    return needed, optional
