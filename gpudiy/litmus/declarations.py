"""The declarations before the program: registers with types and initial values, initial memory, aliases."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from gpudiy.litmus.access import ScalarType
from gpudiy.litmus.condition import AddressOf, Value
from gpudiy.litmus.grammar import RawDeclaration, SyntaxProblem, find_token, parse_declaration, parse_piece
from gpudiy.litmus.opcode import TYPES
from gpudiy.litmus.test import InitialMemory, RegisterDeclaration


class RegisterTypes:
    """The types of the registers of a thread; hashed once, because caches use it as a key."""

    __slots__ = ("hash", "items", "of")

    def __init__(self, items: Iterable[tuple[str, ScalarType]] = ()) -> None:
        self.items = tuple(items)
        self.of = dict(self.items)
        self.hash = hash(self.items)

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, RegisterTypes) and self.items == other.items)


class TextPiece(NamedTuple):
    """A part of a text and its offset."""

    text: str
    offset: int


@dataclass(frozen=True, slots=True)
class Declarations:
    """The declarations of a test. `typed`: whether any register is declared with its type."""

    pieces: tuple[tuple[TextPiece, RawDeclaration], ...]
    registers: tuple[RegisterDeclaration, ...]
    init: tuple[InitialMemory, ...]
    types: dict[int, RegisterTypes]
    typed: bool


@lru_cache(1 << 14)
def read_declarations(text: str) -> Declarations:
    """The declarations of a text, each ended by a semicolon, which the last one may omit."""
    pieces = []
    start = 0
    while start < len(text):
        stop = text.find(";", start)
        stop = len(text) if stop < 0 else stop
        piece = text[start:stop].strip()
        if piece:
            offset = text.index(piece, start)
            pieces.append((TextPiece(piece, offset), parse_piece(parse_declaration, piece, offset)))
        start = stop + 1
    registers = sorted(_registers(pieces), key=lambda declaration: declaration.thread)
    types: dict[int, list[tuple[str, ScalarType]]] = {}
    for declaration in registers:
        types.setdefault(declaration.thread, []).append((declaration.name, declaration.type))
    typed = any(raw.type is not None for _, raw in pieces)
    return Declarations(tuple(pieces), tuple(registers), _init(pieces), _frozen(types), typed)


def _frozen(types: dict[int, list[tuple[str, ScalarType]]]) -> dict[int, RegisterTypes]:
    return {thread: RegisterTypes(items) for thread, items in types.items()}


def _init(pieces: list[tuple[TextPiece, RawDeclaration]]) -> tuple[InitialMemory, ...]:
    """The initial memory; variables with the value 0 are left out."""
    values: dict[str, Value] = {}
    for piece, raw in pieces:
        if raw.thread is None and raw.aliases is None:
            if raw.name in values:
                raise SyntaxProblem(f"{raw.name} is initialised twice", piece.offset)
            values[raw.name] = 0 if raw.value is None else raw.value
    return tuple(InitialMemory(name, value) for name, value in values.items() if value != 0)


def _registers(pieces: list[tuple[TextPiece, RawDeclaration]]) -> list[RegisterDeclaration]:
    """Declared registers; `0:r0=1` gives a declared register its value, and declares any other one."""
    typed = {(raw.thread, raw.name) for _, raw in pieces if raw.type is not None}
    values = _values(pieces)
    registers = []
    for piece, raw in pieces:
        key = (raw.thread, raw.name)
        if raw.thread is None or (raw.type is None and key in typed):
            continue
        value = values.get(key, 0)
        registers.append(RegisterDeclaration(raw.thread, raw.name, _type(piece, raw, value), value))
    return registers


def _values(pieces: list[tuple[TextPiece, RawDeclaration]]) -> dict[tuple[int | None, str], Value]:
    """The initial values of registers, at most one for each."""
    values: dict[tuple[int | None, str], Value] = {}
    for piece, raw in pieces:
        key = (raw.thread, raw.name)
        if raw.thread is None or raw.value is None:
            continue
        if key in values:
            offset = piece.offset + find_token(piece.text, raw.name)
            raise SyntaxProblem(f"register {raw.name} of P{raw.thread} is initialised twice", offset)
        values[key] = raw.value
    return values


def _type(piece: TextPiece, raw: RawDeclaration, value: Value) -> ScalarType:
    if raw.type is None:
        return ScalarType.B64 if isinstance(value, AddressOf) else ScalarType.S32
    if raw.type[1:] not in TYPES:
        hint = "types: " + ", ".join(f".{name}" for name in TYPES)
        raise SyntaxProblem(f"unknown type {raw.type}", piece.offset + piece.text.index(raw.type) + 1, hint=hint)
    return TYPES[raw.type[1:]]
