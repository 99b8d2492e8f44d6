"""Read the declarations of PTX: parameters, registers and variables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from gpudiy.ptx.kernel import KernelParameter, PtxVariable, RegisterBank
from gpudiy.ptx.operands import read_number
from gpudiy.ptx.statement import SPACES

NAME = re.compile(r"([%$A-Za-z_][\w$%]*)\s*(?:<\s*(\d+)\s*>)?\s*((?:\[[^\]]*\]\s*)*)\Z")
DIMENSION = re.compile(r"\[\s*(\w*)\s*\]")
ATTRIBUTE = re.compile(r"\.(?:attribute\s*\([^)]*\)|align\s+\d+)\s*")
TYPE_BITS = re.compile(r"[subf](\d+)(x2)?\Z")
VECTOR_PARTS = {"v2": 2, "v4": 4, "v8": 8}


def read_parameters(text: str) -> Iterator[KernelParameter]:
    """The parameters between the parentheses of a function."""
    for piece in text.split(",") if text.strip() else ():
        words = ATTRIBUTE.sub(" ", piece).replace("[", " [").split()
        match = NAME.match(" ".join(word for word in words if word[0] != "."))
        types = [word[1:] for word in words if word[0] == "." and type_bytes(word[1:])]
        if match is not None:
            type = types[0] if types else "b64"
            yield KernelParameter(match[1], type, type_bytes(type) * _count(match[3]), ".reg" in words)


def read_registers(text: str) -> Iterator[RegisterBank]:
    """The registers of `.reg .b32 %r<5>, x`."""
    words = text.split(None, 2)
    vector = words[1][1:] in VECTOR_PARTS
    type, names = (words[2].split(None, 1)) if vector else (words[1], words[2])
    for piece in names.split(","):
        match = NAME.match(piece.strip())
        if match is not None:
            yield RegisterBank(match[1], type.lstrip("."), None if match[2] is None else int(match[2]))


def read_variable(text: str) -> PtxVariable | None:
    """Read a declaration such as `.global .align 4 .u32 x[2] = {1, 2}`; None if it declares no variable."""
    declaration, _, value = text.partition("=")
    words = ATTRIBUTE.sub(" ", declaration).replace("[", " [").split()
    space = next((SPACES[word[1:]] for word in words if word[1:] in SPACES), None)
    match = NAME.match(" ".join(word for word in words if word[0] != "."))
    if space is None or match is None:
        return None
    vector = next((VECTOR_PARTS[word[1:]] for word in words if word[1:] in VECTOR_PARTS), 1)
    type = next((word[1:] for word in words if type_bytes(word[1:])), "b64")
    bytes = type_bytes(type) * vector * _count(match[3])
    return PtxVariable(match[1], space, type, bytes, tuple(_values(value)))


def _values(text: str) -> Iterator[int | str]:
    for piece in text.replace("{", " ").replace("}", " ").split(","):
        word = piece.strip()
        if word:
            number = read_number(word)
            yield word if number is None else number


def _count(dimensions: str) -> int:
    """The number of elements of an array; 0 without a size."""
    count = 1
    for size in DIMENSION.findall(dimensions):
        count *= (read_number(size) or 0) if size else 0
    return count


@lru_cache(64)
def type_bytes(type: str) -> int:
    """The size of a PTX type such as u32 or f16x2; 0 for any other word."""
    match = TYPE_BITS.match(type)
    return 0 if match is None else int(match[1]) // 8 * (2 if match[2] else 1)
