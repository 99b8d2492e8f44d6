"""What today's compiler really does to tests, in kernels that leave it free to: no fault here is injected."""

from __future__ import annotations

import pytest
from optcheck_kernels import checked

from gpudiy.litmus import Test, read_test
from optcheck.finding import Check, Finding

OTHERS = [pytest.param(name, marks=pytest.mark.heavy) for name in ("sm_75", "sm_80", "sm_120")]
ARCHITECTURES = pytest.mark.parametrize("architecture", ["sm_90", *OTHERS])
ONE_THREAD = """GPU_PTX {name}
{{ }}
 P0 ;
{rows}
scopeTree (device (kernel (cta (warp P0))))
{spaces}
exists ({condition})
"""
TWO = "x: global, y: global"


def thread(name: str, rows: list[str], spaces: str, condition: str) -> Test:
    body = "\n".join(f" {row} ;" for row in rows)
    return read_test(ONE_THREAD.format(name=name, rows=body, spaces=spaces, condition=condition))


def assert_found(check: Check, finding: Finding, *words: str) -> None:
    assert check.finding is finding, check
    deviation = next(deviation for deviation in check.deviations if deviation.finding is finding)
    assert deviation.sass and deviation.ptx and all(word in deviation.explanation for word in words), deviation


@ARCHITECTURES
def test_loads_without_a_fence_are_swapped(architecture: str) -> None:
    """Only the second value is wanted, so it is asked for first."""
    loads = [f"ld.cg.s32 r{number},[{name}]" for number, name in enumerate("xy")]
    assert_found(checked(thread("RR", loads, TWO, "0:r1=0"), architecture), Finding.REORDERED, "access 1 now comes")


@ARCHITECTURES
def test_loads_with_a_fence_are_not(architecture: str) -> None:
    loads = ["ld.cg.s32 r0,[x]", "membar.gl", "ld.cg.s32 r1,[y]"]
    assert checked(thread("RmR", loads, TWO, "0:r1=0"), architecture).finding is Finding.UNCHANGED


@ARCHITECTURES
def test_a_load_is_moved_before_a_store(architecture: str) -> None:
    rows = ["st.cg.s32 [x],1", "ld.cg.s32 r0,[y]"]
    assert_found(checked(thread("WR", rows, TWO, "0:r0=0"), architecture), Finding.REORDERED)


@ARCHITECTURES
def test_weak_stores_are_swapped(architecture: str) -> None:
    """The value of the first must be waited for."""
    rows = ["ld.s32 r0,[z]", "add.s32 r1,r0,1", "st.s32 [x],r1", "st.s32 [y],1"]
    check = checked(thread("WW", rows, f"{TWO}, z: global", "x=1"), architecture)
    assert_found(check, Finding.REORDERED, "access 2 now comes before access 1")


@ARCHITECTURES
@pytest.mark.parametrize(
    ("suffix", "finding"), [("", Finding.MERGED), (".cg", Finding.MERGED), (".volatile", Finding.UNCHANGED)]
)
def test_loads_of_one_location_become_one(suffix: str, finding: Finding, architecture: str) -> None:
    loads = [f"ld{suffix}.s32 r0,[x]", f"ld{suffix}.s32 r1,[x]"]
    assert checked(thread("CoRR", loads, "x: global", "0:r0=1 /\\ 0:r1=0"), architecture).finding is finding


@ARCHITECTURES
@pytest.mark.parametrize(
    ("suffix", "finding"),
    [("", Finding.REMOVED), (".relaxed.gpu", Finding.REMOVED), (".volatile", Finding.UNCHANGED)],
)
def test_the_first_of_two_stores_is_removed(suffix: str, finding: Finding, architecture: str) -> None:
    rows = [f"st{suffix}.s32 [x],1", f"st{suffix}.s32 [x],2"]
    assert checked(thread("CoWW", rows, "x: global", "x=1"), architecture).finding is finding


@ARCHITECTURES
def test_a_load_takes_its_value_from_a_store(architecture: str) -> None:
    rows = ["st.cg.s32 [x],1", "ld.cg.s32 r0,[x]"]
    assert_found(checked(thread("CoWR", rows, "x: global", "0:r0=0"), architecture), Finding.REMOVED, "from the store")


@ARCHITECTURES
@pytest.mark.parametrize("rows", [["st.s32 [x],1", "st.s32 [y],1"], ["ld.s32 r0,[x]", "ld.s32 r1,[y]"]])
def test_neighbours_in_shared_memory_become_one_access(rows: list[str], architecture: str) -> None:
    condition = "x=1" if "st" in rows[0] else "0:r0=1 /\\ 0:r1=0"
    check = checked(thread("near", rows, "x: shared, y: shared", condition), architecture)
    assert_found(check, Finding.WIDENED, "of 32 bits is now part of one of 64")


@ARCHITECTURES
@pytest.mark.parametrize(
    ("operation", "finding"),
    [
        ("xor.b32 r1,r0,r0", Finding.DEPENDENCY_BROKEN),
        ("and.b32 r1,r0,0", Finding.DEPENDENCY_BROKEN),
        ("and.b32 r1,r0,0x80000000", Finding.UNCHANGED),
        ("shr.u32 r1,r0,31", Finding.UNCHANGED),
    ],
)
def test_false_dependencies(operation: str, finding: Finding, architecture: str) -> None:
    rows = ["ld.volatile.s32 r0,[x]", operation, "add.s32 r2,r1,1", "st.volatile.s32 [y],r2"]
    assert checked(thread("LB0", rows, TWO, "0:r0=1"), architecture).finding is finding


@ARCHITECTURES
@pytest.mark.parametrize("row", ["atom.add.s32 r0,[x],1", "red.add.s32 [x],1"])
def test_atomics_of_a_warp_become_one(row: str, architecture: str) -> None:
    test = thread("sum", [row, "ld.volatile.s32 r1,[y]"], TWO, "0:r1=0")
    assert_found(checked(test, architecture, uniform=True), Finding.MERGED, "of the threads of a warp became one")
    assert checked(test, architecture).finding is Finding.UNCHANGED


@ARCHITECTURES
def test_all_widths(architecture: str) -> None:
    rows = ["ld.volatile.s64 r0,[x]", "st.volatile.s64 [y],r1", "ld.volatile.s16 r2,[z]", "st.volatile.s16 [z],r2"]
    declared = "0:.reg .s64 r0;\n0:.reg .s64 r1 = 5;\n0:.reg .s16 r2;"
    tree, spaces = "(device (kernel (cta (warp P0))))", f"{TWO}, z: global"
    test = read_test("\n".join(("GPU_PTX widths", declared, "P0", *rows, tree, spaces, "0:r2=0")))
    assert checked(test, architecture).finding is Finding.UNCHANGED
