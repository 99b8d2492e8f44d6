"""Types for registers without declaration, as in the figures of the literature and in the dat3m format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpudiy.litmus.access import ScalarType
from gpudiy.litmus.grammar import RawInstruction
from gpudiy.litmus.opcode import ALU, TYPES


def infer_types(
    cells: Iterable[RawInstruction], known: dict[str, ScalarType], variables: frozenset[str]
) -> dict[str, ScalarType]:
    """A type for every register the cells use: predicates, addresses and explicit types first, .s32 for the rest."""
    types = dict(known)
    cells = [cell for cell in cells if cell.opcode]
    uses = [use for cell in cells for use in _uses(cell) if use[0] not in variables or use[0] in known]
    for name, type in uses:
        if type is not None:
            types.setdefault(name, type)
    _spread_addresses(cells, types, variables)
    for name, _ in uses:
        types.setdefault(name, ScalarType.S32)
    return types


def _uses(cell: RawInstruction) -> Iterator[tuple[str, ScalarType | None]]:
    opcode = cell.opcode[0]
    explicit = [TYPES[word] for word in cell.opcode[1:] if word in TYPES]
    if cell.guard is not None:
        yield cell.guard, ScalarType.PRED
    for position, operand in enumerate(cell.operands):
        if operand.kind == "address":
            yield operand.text, ScalarType.B64
        elif operand.kind == "name" and opcode != "bra":
            yield operand.text, _type_at(opcode, position, explicit)


def _type_at(opcode: str, position: int, explicit: list[ScalarType]) -> ScalarType | None:
    if (opcode == "setp" and position == 0) or (opcode == "selp" and position == 3):
        return ScalarType.PRED
    if opcode == "cvt":
        return explicit[position] if position < len(explicit) else None
    if opcode in ("shl", "shr") and position == 2:
        return ScalarType.B32
    return explicit[0] if explicit else None


def _spread_addresses(cells: list[RawInstruction], types: dict[str, ScalarType], variables: frozenset[str]) -> None:
    """Arithmetic on an address is 64 bits wide in all its registers."""
    waiting = []
    users: dict[str, list[RawInstruction]] = {}
    for cell in cells:
        if cell.opcode[0] in ALU and cell.opcode[0] not in ("cvt", "selp", "shl", "shr") and len(cell.opcode) == 1:
            waiting.append(cell)
            for name in _names(cell):
                users.setdefault(name, []).append(cell)
    waiting.reverse()
    while waiting:
        cell = waiting.pop()
        wide = any(operand.kind == "address-of" for operand in cell.operands) or any(
            types.get(name) is ScalarType.B64 or (name in variables and name not in types) for name in _names(cell)
        )
        fresh = [name for name in _names(cell) if wide and name not in types and name not in variables]
        for name in fresh:
            types[name] = ScalarType.B64
            waiting += users[name]


def _names(cell: RawInstruction) -> list[str]:
    return [operand.text for operand in cell.operands if operand.kind == "name"]
