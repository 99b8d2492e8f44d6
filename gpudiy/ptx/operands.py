"""Operands of PTX instructions: registers, literals, names of variables, addresses in brackets, vectors in braces."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass

from gpudiy.litmus.instruction import Immediate, Operand, Register, Variable
from gpudiy.ptx.statement import PtxAddress

NAME = r"[%$A-Za-z_][\w$%.]*"
INTEGER = re.compile(r"([-+~]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)U?\Z")
FLOAT = re.compile(r"(?:0[fF]([0-9a-fA-F]{8})|0[dD]([0-9a-fA-F]{16}))\Z")
PLAIN_NAME = re.compile(rf"{NAME}\Z")
ADDRESS = re.compile(rf"\[\s*({NAME}|-?\d\w*)\s*(?:([-+])\s*(-?\w+)\s*)?\]\Z")
SPLIT = re.compile(r"[^,\[\]{}()]+|\[[^\]]*\]|\{[^}]*\}|\([^)]*\)|,")
PIECE = re.compile(rf"{NAME}|(?<![\w.])[-+]?\d\w*(?!\w*\.\d)")


@dataclass(frozen=True, slots=True)
class OperandGroup:
    """Several operands in the place of one: a vector, a pair, the parts of a texture access, arguments."""

    parts: tuple[Operand, ...]


ReadOperand = Register | Immediate | Variable | PtxAddress | OperandGroup


def split_operands(text: str) -> list[str]:
    """The operands of an instruction, split at the commas that are not inside brackets, braces or parentheses."""
    if "[" not in text and "{" not in text and "(" not in text:
        return [part.strip() for part in text.split(",")] if text else []
    found, current = [], ""
    for piece in SPLIT.findall(text):
        if piece == ",":
            found.append(current.strip())
            current = ""
        else:
            current += piece
    return [*found, current.strip()]


class OperandReader:
    """Reads operands of one function; `registers` are its declared names that do not begin with %."""

    def __init__(self, registers: Container[str] = ()) -> None:
        self.registers = registers
        self.known: dict[str, ReadOperand] = {}

    def read(self, text: str) -> ReadOperand:
        """Read an operand; results are remembered, because most texts occur many times."""
        found = self.known.get(text)
        if found is None:
            found = self.known[text] = self._read(text)
        return found

    def _read(self, text: str) -> ReadOperand:
        if PLAIN_NAME.match(text):
            return self._resolve_name(text)
        number = read_number(text)
        if number is not None:
            return Immediate(number)
        address = ADDRESS.match(text)
        if address is not None:
            return self._address(address)
        return OperandGroup(tuple(self._parts(text)))

    def _address(self, match: re.Match[str]) -> ReadOperand:
        base, sign, distance = match.groups()
        offset = 0 if distance is None else read_number(distance)
        start = read_number(base)
        if offset is None:
            return OperandGroup((self._resolve_name(base),))
        offset = -offset if sign == "-" else offset
        return PtxAddress(None, start + offset) if start is not None else PtxAddress(self._resolve_name(base), offset)

    def _parts(self, text: str) -> Iterator[Operand]:
        for piece in PIECE.findall(text):
            number = read_number(piece)
            if number is not None:
                yield Immediate(number)
            elif piece != "_" and PLAIN_NAME.match(piece):
                yield self._resolve_name(piece)

    def _resolve_name(self, name: str) -> Register | Variable:
        return Register(name) if name[0] == "%" or name in self.registers else Variable(name)


def read_number(text: str) -> int | None:
    """The value of an integer literal, or the bits of a float literal in hexadecimal; None if it is neither."""
    match = INTEGER.match(text)
    if match is not None:
        sign, digits = match.groups()
        octal = len(digits) > 1 and digits[0] == "0" and digits.isdigit()
        if octal and not set(digits) <= set("01234567"):
            return None
        value = int(digits, 8) if octal else int(digits, 0)
        return -value if sign == "-" else ~value if sign == "~" else value
    bits = FLOAT.match(text)
    return None if bits is None else int(bits[1] or bits[2], 16)
