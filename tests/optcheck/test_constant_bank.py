"""Constants of bank 2: written into the listing as one word; operands of two words stay, and are read from the bank."""

from __future__ import annotations

import pytest

from optcheck import constant_bank

BANK = bytes.fromhex("1c000000000000002a000000")


@pytest.mark.parametrize(
    ("line", "written"),
    [
        (
            "        /*0010*/                   MOV R4, c[0x2][0x8] ;",
            "        /*0010*/                   MOV R4, 0x2a ;",
        ),
        ("        /*0020*/                   ULDC.64 UR4, c[0x2][0x0] ;", None),
        ("        /*0030*/               @P0 ULDC.64 UR4, c[0x2][0x0] ;", None),
        (
            "        /*0040*/                   IADD3 R4, R36, c[0x2][0x0], RZ ;",
            "        /*0040*/                   IADD3 R4, R36, 0x1c, RZ ;",
        ),
    ],
)
def test_only_one_word_becomes_a_number(line: str, written: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constant_bank, "read_sections", lambda cubin: {".nv.constant2.run": BANK})
    assert constant_bank.write_constants(line, b"", "run") == (line if written is None else written)
