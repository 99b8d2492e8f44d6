"""Kernels beside a second compilation: what tests add to a module is not a difference, a changed constant is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpudiy.harness.kernel_reference import reference_for
from gpudiy.harness.module import PtxTest, assembler_for
from gpudiy.harness.source import PREFIX
from gpudiy.litmus import read_test
from optcheck.cubin_code import CubinCode, read_code

JUMPS = """\
GPU_PTX chosen

0:.reg .s32 r0;
1:.reg .s32 r0;

P0              : P1                     : P2              : P3
st.cg.s32 [x],2 : atom.exch.b32 r0,[x],3 : st.cg.s32 [y],2 : st.cg.s32 [x],4
                : st.cg.s32 [y],1        : st.cg.s32 [x],1 : membar.sys

(system (device (kernel (cta (warp P0)) (cta (warp P1) (warp P3)))) (device (kernel (cta (warp P2)))))

x: global, y: global

x=2 /\\ y=1
"""  # no results: only then the compiler makes a table


@pytest.fixture(scope="module")
def code() -> CubinCode:
    """A module with a test whose function jumps by a table, which is in the bank of the kernel."""
    codes = [PtxTest.of(read_test(JUMPS), "sm_80")]
    return read_code(assembler_for("sm_80").compile(codes), PREFIX)


def test_tables_of_tests_are_no_difference(code: CubinCode) -> None:
    reference = reference_for(assembler_for("sm_80"))
    (bank,) = code.own_banks
    assert len(code.own_banks[bank]) > len(reference.code.own_banks[bank])
    assert reference.find_difference(code) == ""


def test_a_changed_constant_of_a_kernel_is_a_difference(code: CubinCode) -> None:
    (bank,) = code.own_banks
    changed = bytes([code.own_banks[bank][0] ^ 1]) + code.own_banks[bank][1:]
    found = reference_for(assembler_for("sm_80")).find_difference(replace(code, own_banks={bank: changed}))
    assert found == f"kernels: a second compilation gives other constants for {bank}"
    assert reference_for(assembler_for("sm_80")).find_difference(replace(code, own_banks={}))
