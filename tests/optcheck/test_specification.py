"""Literals, what a test specifies, and the inline PTX that carries it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from optcheck_kernels import checked

from gpudiy.harness.thread_ptx import InputKind, Unrealisable, threads_ptx
from gpudiy.litmus import read_test
from gpudiy.litmus.instruction_text import instruction_text
from optcheck.finding import Finding
from optcheck.literal import TYPE_NAMES, Literal, decode_literal, stress_literal, stress_pattern
from optcheck.specification import Dependency, DependencyKind, specify

HEAD = "GPU_PTX some\n{ }\n"
TAIL = "scopeTree (device (kernel (cta (warp P0))))\n"
EVERYTHING = f"""{HEAD} P0 ;
 ld.relaxed.gpu.s32 r0,[x] ;
 setp.lt.s32 p0,r0,7 ;
 @p0 bra L1 ;
 st.release.sys.s32 [y],r0 ;
 st.cg.s32 [x],r0 ;
 L1: ;
 @!p0 ld.acquire.cta.s32 r1,[y] ;
 fence.sc.gpu ;
 atom.acq_rel.gpu.cas.b32 r2,[x],0,1 ;
 membar.cta ;
 red.add.s32 [y],3 ;
 ld.shared.s32 r3,[z] ;
 add.s32 r4,r3,1 ;
 st.shared.s32 [z],r4 ;
 fence.acq_rel.sys ;
 atom.shared.exch.b32 r5,[z],2 ;
{TAIL}x: global, y: global, z: shared
exists (0:r0=1 /\\ 0:r1=0 /\\ 0:r2=0 /\\ 0:r5=1)
"""


def test_the_literals_of_the_thesis() -> None:
    found = [Literal(0, TYPE_NAMES.index(name), position) for position, name in enumerate(("st.wb", "ld.ca", "st.wb"))]
    assert [literal.encode() for literal in found] == [0x07F3A000, 0x07F3A011, 0x07F3A002]


@given(st.integers(0, 7), st.integers(0, 63), st.integers(0, 15))
def test_literals_come_back(thread: int, type: int, position: int) -> None:
    literal = Literal(thread, type, position)
    assert decode_literal(literal.encode()) == literal
    assert stress_pattern(literal.encode()) is None


@given(st.integers(0, (1 << 32) - 1))
def test_other_numbers_are_no_literals(value: int) -> None:
    found = decode_literal(value)
    assert (found is None) == (value >> 12 not in (0x07F3A, 0x07F3C))
    assert decode_literal(stress_literal(value % 4)) is None and stress_pattern(stress_literal(value % 4)) == value % 4


def test_dependencies_are_found() -> None:
    (thread,) = specify(read_test(EVERYTHING)).threads
    assert len(thread.accesses) == 9 and [fence.after for fence in thread.fences] == [4, 5, 8]
    assert set(thread.dependencies) == {
        Dependency(DependencyKind.CONTROL, 0, 1),
        Dependency(DependencyKind.DATA, 0, 1),
        Dependency(DependencyKind.CONTROL, 0, 2),
        Dependency(DependencyKind.DATA, 0, 2),
        Dependency(DependencyKind.CONTROL, 0, 3),
        Dependency(DependencyKind.DATA, 6, 7),
    }


@pytest.mark.parametrize("architecture", ["sm_75", "sm_90", "sm_120"])
def test_every_kind_of_instruction_survives(architecture: str) -> None:
    check = checked(read_test(EVERYTHING), architecture)
    assert check.finding in (Finding.UNCHANGED, Finding.REORDERED), check
    assert not [deviation for deviation in check.deviations if deviation.finding is Finding.UNVERIFIABLE], check


def test_lines_lead_back_to_instructions() -> None:
    test = read_test(EVERYTHING)
    block = threads_ptx(test)[0]
    indexes = [line.instruction for line in block.lines if line.instruction is not None]
    assert indexes == sorted(indexes) and set(indexes) == set(range(len(test.threads[0])))
    for line in block.lines:
        if line.instruction is not None and line.text.startswith("ld"):
            assert instruction_text(test.threads[0][line.instruction]).split(".")[0].endswith("ld")
    assert [entry.value for entry in block.inputs if entry.kind is InputKind.VALUE] == [0, 0, 1, 3, 1, 2]


def test_constants_have_inputs_of_their_own() -> None:
    rows = " P0 ;\n mov.s32 r0,1 ;\n st.s32 [x],r0 ;\n st.s32 [y],r0 ;\n st.s32 [x],1 ;\n"
    block = threads_ptx(read_test(f"{HEAD}{rows}{TAIL}x: global, y: global\nexists (x=1)"))[0]
    assert block.values == (1, 1, 1)


def test_what_no_gpu_has() -> None:
    text = f"{HEAD} P0 ;\n red.acquire.gpu.add.s32 [x],1 ;\n{TAIL}x: global\nexists (x=1)"
    with pytest.raises(Unrealisable, match="no GPU has a reduction that acquires"):
        threads_ptx(read_test(text))


def test_what_a_literal_cannot_hold() -> None:
    rows = "".join(f" ld.s32 r{number},[x] ;\n" for number in range(17))
    test = read_test(f"{HEAD} P0 ;\n{rows}{TAIL}x: global\nexists (0:r0=1)")
    assert "17 accesses; literals can name 16" in specify(test).problem
