"""Threads that are chosen by a table of jumps: the table in the cubin must lead each to its own code.

The compiler makes one if threads leave no results, as here: two devices have no clock in common.
"""

from __future__ import annotations

from functools import cache
from itertools import permutations

import pytest

from gpudiy.harness.checking import FUNCTIONS, disassemble_cubin, select_functions
from gpudiy.harness.frame import frame_of
from gpudiy.harness.module import Assembler, PtxTest
from gpudiy.litmus import read_test
from optcheck.check import check_kernels
from optcheck.constant_bank import BANK_LINE
from optcheck.finding import Check, Finding
from optcheck.listing import SassError

ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_120")
SMALLEST_PLACE = 0x100  # of code that a table leads to
TEST = read_test("""\
GPU_PTX chosen

0:.reg .s32 r0;
1:.reg .s32 r0;
2:.reg .s32 r0;
3:.reg .s32 r0;
3:.reg .s32 r1;

P0              : P1                     : P2              : P3
st.cg.s32 [x],2 : atom.exch.b32 r0,[x],3 : st.cg.s32 [y],2 : ld.volatile.s32 r0,[x]
                : st.cg.s32 [y],1        : st.cg.s32 [x],1 : membar.sys
                :                        :                 : ld.volatile.s32 r1,[x]

(system (device (kernel (cta (warp P0)) (cta (warp P1) (warp P3)))) (device (kernel (cta (warp P2)))))

x: global, y: global

x=2 /\\ y=1
""")


@cache
def compiled(architecture: str) -> tuple[PtxTest, str]:
    code = PtxTest.of(TEST, architecture)
    cubin = Assembler(architecture).compile([code])
    return code, select_functions(disassemble_cubin(cubin, architecture), FUNCTIONS)


def check(code: PtxTest, listing: str) -> Check:
    (found,) = check_kernels(listing, {code.function: code.test}, frames=lambda name, test: frame_of(code))
    return found


def split_bank(listing: str) -> tuple[list[str], str]:
    """The words of the bank, and the rest of the listing."""
    line, rest = listing.split("\n", 1)
    assert line.startswith(BANK_LINE)
    digits = line.removeprefix(BANK_LINE)
    return [digits[place : place + 8] for place in range(0, len(digits), 8)], rest


def table_places(words: list[str]) -> range:
    """Where the table is in the bank: before it are constants of the kernel, which are small."""
    found = [
        place for place, word in enumerate(words) if int.from_bytes(bytes.fromhex(word), "little") >= SMALLEST_PLACE
    ]
    assert found == list(range(found[0], found[-1] + 1)) and len(found) >= 3
    return range(found[0], found[-1] + 1)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_other_table_is_found(architecture: str) -> None:
    code, listing = compiled(architecture)
    assert "BRX" in listing
    assert check(code, listing).finding is Finding.UNCHANGED
    words, rest = split_bank(listing)
    table = slice(table_places(words).start, table_places(words).stop)
    before, after = words[: table.start], words[table.stop :]
    others = {(*before, *other, *after) for other in permutations(words[table]) if list(other) != words[table]}
    assert others
    for other in others:
        assert check(code, f"{BANK_LINE}{''.join(other)}\n{rest}").finding is not Finding.UNCHANGED, other


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_table_that_leads_out_of_the_code_or_ends_early_is_found(architecture: str) -> None:
    code, listing = compiled(architecture)
    words, rest = split_bank(listing)
    for place in table_places(words):
        wrong = [*words[:place], "00ffff00", *words[place + 1 :]]
        assert check(code, f"{BANK_LINE}{''.join(wrong)}\n{rest}").finding is Finding.CHANGED
    assert check(code, f"{BANK_LINE}{''.join(words[: table_places(words)[-1]])}\n{rest}").finding is Finding.CHANGED


def test_without_the_table_the_test_is_not_verifiable() -> None:
    code, listing = compiled("sm_90")
    found = check(code, split_bank(listing)[1])
    assert found.finding is Finding.UNVERIFIABLE
    assert "give the binary instead" in found.deviations[0].explanation


def test_a_broken_table_has_a_place() -> None:
    code, listing = compiled("sm_90")
    with pytest.raises(SassError, match=r"<text>:1:\d+: error: expected the bytes of a bank"):
        check(code, f"{BANK_LINE}0x12\n{split_bank(listing)[1]}")
