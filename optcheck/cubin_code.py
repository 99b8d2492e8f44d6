"""What is in a cubin besides its tests: the code of the kernels, tables of constant memory, the table of functions."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from hashlib import sha256

from optcheck.binary import NOBITS, SYMBOL, BinaryError, Section, list_sections, read_string
from optcheck.frame import LAUNCH_BANK

RELA, REL = 4, 9  # types of sections
RELOCATION, WITH_ADDEND = struct.Struct("<QQ"), struct.Struct("<QQq")
TEXT = ".text."
CONSTANT = ".nv.constant"
TABLE = "test_functions"
CONSTANT_MEMORY = "constant_memory"  # it begins with the launch
POINTER = 8
KERNEL_BANK = 2  # of which each kernel has its own


@dataclass(frozen=True, slots=True)
class Relocation:
    """A place of a section that will hold the address of a symbol, plus an addend."""

    place: int
    kind: int
    symbol: str
    addend: int


@dataclass(frozen=True, slots=True)
class CubinCode:
    """The code around the tests of a cubin.

    Cubins with equal `key` have the same kernels; `banks` are the tables that they read from constant memory, and
    `functions` is the table by which a kernel calls the test of a number. `texts` are hashes of code, `own_banks` the
    constants of single kernels: after its own, a kernel has the tables of jumps of the tests that it calls.
    `launch` is where the bank of constant memory that functions of tests read has the launch; None if it does not.
    """

    key: str
    banks: dict[int, bytes]
    functions: tuple[str, ...]
    texts: dict[str, str]
    own_banks: dict[str, bytes]
    launch: int | None


def read_code(data: bytes, tests: str) -> CubinCode:
    """Read the code around the tests of a cubin; the functions of tests have names that begin with `tests`."""
    try:
        return _read_code(data, tests)
    except (struct.error, IndexError, ValueError, UnicodeDecodeError):
        raise BinaryError("this cubin is damaged: its tables point outside the file", path="<binary>") from None


def _read_code(data: bytes, tests: str) -> CubinCode:
    sections = list_sections(data)
    names, places = _read_symbols(data, sections)
    relocations: dict[int, list[Relocation]] = {}
    for section in sections:
        if section.type in (REL, RELA):
            relocations.setdefault(section.info, []).extend(_read_relocations(data, section, names))
    digest = sha256()
    texts: dict[str, str] = {}
    banks: dict[int, bytes] = {}
    own_banks: dict[str, bytes] = {}
    for number, section in enumerate(sections):
        content = b"" if section.type == NOBITS else data[section.offset : section.offset + section.size]
        bank = section.name.removeprefix(CONSTANT)
        whole_bank = section.name.startswith(CONSTANT) and bank.isdigit()
        if whole_bank:
            banks[int(bank)] = content
        of_kernel = section.name.startswith(f"{CONSTANT}{KERNEL_BANK}.")
        if of_kernel:
            own_banks[section.name] = content
        own = section.name.startswith(TEXT) and not section.name.startswith(TEXT + tests)
        if own or whole_bank or of_kernel:
            found = sorted((one.place, one.kind, one.symbol, one.addend) for one in relocations.get(number, ()))
            described = repr((section.name, sha256(content).digest(), found)).encode()
            digest.update(described)
            if own:
                texts[section.name.removeprefix(TEXT)] = sha256(described).hexdigest()
    longest = max(own_banks.values(), key=len, default=b"")
    if longest and all(longest.startswith(content) for content in own_banks.values()):
        banks[KERNEL_BANK] = longest  # else nobody knows whose bank a function reads
    home, start, _ = places.get(CONSTANT_MEMORY, (0, 0, 0))
    named = home < len(sections) and sections[home].name == f"{CONSTANT}{LAUNCH_BANK}"
    launch = start if named else None
    return CubinCode(digest.hexdigest(), banks, _read_functions(places, relocations), texts, own_banks, launch)


def _read_symbols(data: bytes, sections: list[Section]) -> tuple[list[str], dict[str, tuple[int, int, int]]]:
    """The names of symbols by number; and for each name the section, the offset in it, and the size."""
    names: list[str] = []
    places: dict[str, tuple[int, int, int]] = {}
    for table in sections:
        if table.name == ".symtab":
            for offset in range(table.offset, table.offset + table.size, SYMBOL.size):
                name_at, _, _, section, value, size = SYMBOL.unpack_from(data, offset)
                names.append(read_string(data, sections[table.link].offset + name_at))
                places[names[-1]] = section, value, size
    return names, places


def _read_relocations(data: bytes, section: Section, names: list[str]) -> list[Relocation]:
    form = WITH_ADDEND if section.type == RELA else RELOCATION
    found = []
    for offset in range(section.offset, section.offset + section.size, form.size):
        place, info, *addend = form.unpack_from(data, offset)
        found.append(Relocation(place, info & 0xFFFFFFFF, names[info >> 32], addend[0] if addend else 0))
    return found


def _read_functions(
    places: dict[str, tuple[int, int, int]], relocations: dict[int, list[Relocation]]
) -> tuple[str, ...]:
    """The names of the functions in the table, in order."""
    if TABLE not in places:
        return ()
    section, start, size = places[TABLE]
    entries = {one.place - start: one.symbol for one in relocations.get(section, ()) if not one.addend}
    return tuple(entries.get(place, "") for place in range(0, size, POINTER))
