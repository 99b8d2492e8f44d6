"""Bank 2 of constant memory, whose words a listing of code does not contain: tables of jumps, and constants.

Compilers put the tables of jumps there and, for sm_62 and older chips, constants.
"""

from __future__ import annotations

import re

from optcheck.binary import read_sections

SECTION = re.compile(r"^\s*\.section\s+\.text\.([\w$.]+)", re.MULTILINE)
CONSTANT = re.compile(r"(?<![-~|\w])c\[0x2\] ?\[0x([0-9a-f]+)\](?![.\w])")
WIDE = re.compile(r"\*/\s+(?:@\S+\s+)?[A-Z]\w*(?:\.\w+)*\.64\s")
BANK = ".nv.constant2."  # of a kernel; the functions that it calls use the same
WORD_BYTES = 4
BANK_LINE = "//## c[0x2]: "  # before the words of the bank, in a listing that has jumps through tables
JUMPS = re.compile(r"\b(?:BRX|JMX)U?\b")


def write_constants(listing: str, cubin: bytes, kernel: str = "") -> str:
    """A listing with the words of bank 2 in place of the operands that name them, and with the bank for its jumps.

    The bank is that of the function, or of the kernel that calls it. If that is not given, a word is only written
    if all kernels that have one at its place agree.
    """
    if "c[0x2]" not in listing:
        return listing
    banks = {
        name.removeprefix(BANK): content for name, content in read_sections(cubin).items() if name.startswith(BANK)
    }
    found = list(SECTION.finditer(listing))
    starts = [0, *(one.start() for one in found)]
    ends = [*starts[1:], len(listing)]
    names = ["", *(one[1] for one in found)]
    parts = zip(starts, ends, names, strict=True)
    return _write_tables(listing, banks, kernel) + "".join(
        _write_part(listing[start:end], _banks_of(name, kernel, banks)) for start, end, name in parts
    )


def _write_tables(listing: str, banks: dict[str, bytes], kernel: str) -> str:
    """The line with the bank of all kernels that may call the functions; nothing if these differ."""
    callers = {content for name, content in banks.items() if name.startswith(kernel)}
    return f"{BANK_LINE}{callers.pop().hex()}\n" if len(callers) == 1 and JUMPS.search(listing) else ""


def _banks_of(function: str, kernel: str, banks: dict[str, bytes]) -> list[bytes]:
    for name in (function, kernel):
        if name in banks:
            return [banks[name]]
    return list(banks.values())


def _write_part(text: str, banks: list[bytes]) -> str:
    def write(match: re.Match[str]) -> str:
        if WIDE.search(text, text.rfind("\n", 0, match.start()) + 1, match.start()):
            return match[0]  # two words, and an operand that is a number is one
        place = int(match[1], 16)
        words = {bank[place : place + WORD_BYTES] for bank in banks if place + WORD_BYTES <= len(bank)}
        return hex(int.from_bytes(words.pop(), "little")) if len(words) == 1 else match[0]

    return CONSTANT.sub(write, text) if "c[0x2]" in text else text
