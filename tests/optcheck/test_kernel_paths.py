"""Kernels that gpudiy did not write: no path may run a part of a thread, or anything else among its accesses.

The cases are those of functions that gpudiy wrote, read as if it had not: their frame is not known. So faults of
the frame, of where locations, constants and results are, are not found; each of them is named here.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from gpudiy.litmus import read_test
from optcheck.check import check_kernels
from optcheck.finding import Check, Finding

FOLDER = Path(__file__).parents[1] / "data" / "sass" / "faults"
CASES = json.loads((FOLDER / "cases.json").read_text())
KNOWN_TO_PASS = ("MP-sm_75", "MP-sm_90", "dependencies-sm_75", "dependencies-sm_90")
OF_THE_FRAME = {
    "both stores run under a predicate",  # as if it chose the thread
    "the threads are exchanged",
    "the loop over instances runs once",
    "the loop over instances skips one",
    "the addresses of two stores are exchanged",
    "an address has an offset",
    "a location is computed with another mask",
    "the pitch is taken from elsewhere",
    "another constant is stored",
    "the added value is another",
    "a fence is added",  # after the last access
    "a fence is in the next round of the specification",
    "another register is stored as a result",
    "the results are exchanged",
    "a result is not stored",
    "a result is stored in another place",
    "a result is stored in the place of another instance",
    "the function leaves instead of returning",
    "a register of the caller is lost",
    # before the thread begins, or the value of an access that does not run
    "a scaled sum has a modifier that no chip has",
    "a branch has a modifier that no chip has",
    "a yield has a modifier that no chip has",
    "a product of halves of zero, one of which no chip can name",
}
FRAGMENT = """\
ST.E [R4], R16
LD.E R0, [R6]
IADD32I R5, R16, 0x07f3a000
IADD32I R12, R0, 0x07f3a011
"""


def check_listing(listing: str, edits: dict[str, list[str]], *, with_test: bool = True) -> Check:
    text = (FOLDER / f"{listing}.sass").read_text()
    for address, codes in edits.items():
        new = "\n".join(f"        /*{address}*/                   {code} ;" for code in codes)
        text = re.sub(rf"^\s*/\*{address}\*/.*$", lambda _, new=new: new, text, flags=re.MULTILINE)  # type: ignore[misc]
    function = re.search(r"^\.text\.(\w+):", text, re.MULTILINE)
    assert function is not None
    test = read_test((FOLDER / f"{listing.partition('-')[0]}.litmus").read_text())
    (found,) = check_kernels(text, {function[1]: test} if with_test else {})
    return found


def check_fragment(text: str) -> Check:
    (found,) = check_kernels(text, {}, "sm_35")
    return found


@pytest.mark.parametrize("listing", KNOWN_TO_PASS)
def test_kernels_are_unchanged(listing: str) -> None:
    found = check_listing(listing, {})
    assert found.finding is Finding.UNCHANGED, found.deviations


@pytest.mark.parametrize("listing", ["MP-sm_75", "MP-sm_90"])
def test_kernels_are_unchanged_without_their_test(listing: str) -> None:
    assert check_listing(listing, {}, with_test=False).finding is Finding.UNCHANGED


def test_all_faults_but_those_of_the_frame_are_found() -> None:
    cases = [case for case in CASES if case["listing"] in KNOWN_TO_PASS]
    passed = {
        case["name"] for case in cases if check_listing(case["listing"], case["edits"]).finding is Finding.UNCHANGED
    }
    assert len(cases) > 40
    assert passed == OF_THE_FRAME


@pytest.mark.parametrize(
    "line",
    ["@P0 BRA 0x5c0", "@P0 EXIT", "EXIT", "@P0 LDG.E.STRONG.GPU R7, desc[UR4][R4.64]", "UBLKCP [UR50], [UR52], UR60"],
)
def test_without_the_test_accesses_must_still_run_together(line: str) -> None:
    assert check_listing("MP-sm_90", {"0530": [line]}, with_test=False).finding is not Finding.UNCHANGED


def test_a_conditional_access_is_not_passed_without_the_test() -> None:
    assert check_listing("dependencies-sm_90", {}, with_test=False).finding is not Finding.UNCHANGED


def test_a_fragment_needs_no_end() -> None:
    assert check_fragment(FRAGMENT).finding is Finding.UNCHANGED


@pytest.mark.parametrize("line", ["@P0 LD.E R0, [R6]", "@P0 EXIT\nLD.E R0, [R6]", "ST.E [R8], R16\nLD.E R0, [R6]"])
def test_a_fragment_with_a_fault_is_not_unchanged(line: str) -> None:
    assert check_fragment(FRAGMENT.replace("LD.E R0, [R6]", line)).finding is not Finding.UNCHANGED
