"""Where the results of an instance are stored: carries between them are in the samples."""

from __future__ import annotations

import re

import pytest

from gpudiy.errors import MissingTool
from gpudiy.harness.checking import FUNCTIONS, disassemble_cubin, select_functions
from gpudiy.harness.frame import frame_of
from gpudiy.harness.module import PtxTest, assembler_for
from gpudiy.litmus import read_test
from optcheck.check import check_functions
from optcheck.finding import Check, Finding
from optcheck.frame import FrameValues
from optcheck.listing import read_listing

THREE_RESULTS = """GPU_PTX three
0:.reg .s32 r0; 0:.reg .s32 r1; 0:.reg .s32 r2;

P0               : P1
ld.cg.s32 r0,[x] : st.cg.s32 [x],1
ld.cg.s32 r1,[y] : st.cg.s32 [y],1
ld.cg.s32 r2,[z] : st.cg.s32 [z],1

(device (kernel (cta (warp P0)) (cta (warp P1))))

x: global, y: global, z: global

exists 0:r0=1 /\\ 0:r1=0 /\\ 0:r2=1
"""
CARRIED = re.compile(r"(LEA\.HI\.X (R\d+), R\d+, \2, R\d+, 0x2), P\d ;")  # the upper word of the address of results

try:
    assembler_for("sm_120")
except MissingTool as missing:
    pytest.skip(str(missing), allow_module_level=True)


def check(code: PtxTest, listing: str) -> Check:
    frame = frame_of(code)
    (found,) = check_functions(read_listing(listing), {code.function: [code.test]}, "sm_120", lambda *_: frame)
    return found


def test_a_lost_carry_into_the_address_of_a_result_is_found() -> None:
    code = PtxTest.of(read_test(THREE_RESULTS), "sm_120")
    listing = select_functions(disassemble_cubin(assembler_for("sm_120").compile([code]), "sm_120"), FUNCTIONS)
    lost, count = CARRIED.subn(r"\1, !PT ;", listing)
    assert count
    assert check(code, listing).finding is Finding.UNCHANGED
    assert check(code, lost).finding is not Finding.UNCHANGED


def test_results_of_an_instance_lie_on_both_sides_of_a_multiple_of_four_gigabytes() -> None:
    frame = frame_of(PtxTest.of(read_test(THREE_RESULTS), "sm_120"))
    rows = {result.row: address for address, result in FrameValues(frame, None, 0).results.items()}
    first, *others = (rows[row] for row in sorted(rows))
    assert others
    for other in others:
        assert any(one >> 32 != two >> 32 for one, two in zip(first, other, strict=True))
