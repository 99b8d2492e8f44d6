"""Reading a cubin: its architecture, and the tests that the harness put into it as data."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from gpudiy.errors import InputError
from gpudiy.litmus.reader import read_test
from gpudiy.litmus.test import Test

MAGIC = b"\x7fELF"
CUDA_MACHINE = 190
TEXT_SUFFIX = "_text"  # a function `f` with one test has its text in the array `f_text`
TESTS = "gpudiy_tests"  # or all texts are in this array, each after the name of its function and ended by a zero
NOBITS = 8
OBJECT = 1
NEW_FLAGS_FROM = 8  # this ABI version moved the architecture in the flags of the header
HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")


class BinaryError(InputError):
    """A file that is not a whole cubin."""


@dataclass(frozen=True, slots=True)
class SassBinary:
    """The architecture of a cubin, and its tests by the name of their function."""

    architecture: str
    tests: dict[str, list[Test]]


@dataclass(frozen=True, slots=True)
class Section:
    """A section of an ELF file: where its bytes are, and the section that it belongs to."""

    name: str
    type: int
    offset: int
    size: int
    link: int
    info: int


def is_cubin(data: bytes) -> bool:
    """Whether the data is an ELF file for a GPU."""
    return data[:4] == MAGIC and len(data) >= HEADER.size and HEADER.unpack_from(data)[2] == CUDA_MACHINE


def read_binary(data: bytes, path: str = "<binary>") -> SassBinary:
    """Read a cubin; raises `BinaryError` if the data is not a cubin or is cut short."""
    if not is_cubin(data):
        raise BinaryError("this is not a cubin", path=path)
    try:
        tests: dict[str, list[Test]] = {}
        for function, text in _read_tests(data):
            tests.setdefault(function, []).append(read_test(text, f"{path} ({function})"))
        return SassBinary(read_architecture(data), tests)
    except (struct.error, IndexError, ValueError, UnicodeDecodeError):
        raise BinaryError("this cubin is damaged: its tables point outside the file", path=path) from None


def read_architecture(data: bytes) -> str:
    """The architecture of a cubin, such as `sm_80`."""
    header = HEADER.unpack_from(data)
    identification, flags = header[0], header[7]
    number = flags >> 8 & 0xFF if identification[8] >= NEW_FLAGS_FROM else flags & 0xFF
    return f"sm_{number}"


def read_sections(data: bytes) -> dict[str, bytes]:
    """The contents of the sections of a cubin, by name."""
    return {one.name: data[one.offset : one.offset + one.size] for one in list_sections(data) if one.type != NOBITS}


def list_sections(data: bytes) -> list[Section]:
    """The sections of an ELF file, in order."""
    header = HEADER.unpack_from(data)
    start, size, count, names = header[6], header[11], header[12], header[13]
    raw = [SECTION.unpack_from(data, start + number * size) for number in range(count)]
    strings = raw[names]
    return [
        Section(read_string(data, strings[4] + entry[0]), entry[1], entry[4], entry[5], entry[6], entry[7])
        for entry in raw
    ]


def _read_tests(data: bytes) -> Iterator[tuple[str, str]]:
    """Names of functions, each with the text of one of its tests."""
    for name, array in _read_arrays(data):
        if name == TESTS:
            for entry in filter(None, array.decode("utf-8").split("\0")):
                function, _, text = entry.partition("\n")
                yield function, text
        elif name.endswith(TEXT_SUFFIX):
            yield name.removesuffix(TEXT_SUFFIX), array.rstrip(b"\0").decode("utf-8")


def _read_arrays(data: bytes) -> Iterator[tuple[str, bytes]]:
    sections = list_sections(data)
    for table in sections:
        if table.name != ".symtab":
            continue
        strings = sections[table.link]
        for offset in range(table.offset, table.offset + table.size, SYMBOL.size):
            name_at, info, _, section, value, size = SYMBOL.unpack_from(data, offset)
            if info & 15 != OBJECT or not 0 < section < len(sections) or sections[section].type == NOBITS:
                continue
            start = sections[section].offset + value
            if start + size > len(data):
                raise ValueError
            yield read_string(data, strings.offset + name_at), data[start : start + size]


def read_string(data: bytes, start: int) -> str:
    """The string that begins at an offset."""
    end = data.index(b"\0", start)
    return data[start:end].decode("utf-8")
