"""Faults in the machine code of real tests that a check of patterns passed: each is found, and so is what it is.

A case names lines of a listing by their addresses, with the code that takes their place.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from gpudiy.litmus import Test, read_test
from optcheck.check import check_kernels
from optcheck.execution import SILENT
from optcheck.finding import Check, Finding
from optcheck.frame import Frame, StoredResult
from optcheck.listing import SassError
from optcheck.opcodes import COMPUTING, OPCODES

FOLDER = Path(__file__).parents[1] / "data" / "sass" / "faults"
CASES = json.loads((FOLDER / "cases.json").read_text())
NAMES = sorted(path.stem for path in FOLDER.glob("*.sass"))


def frame_of(name: str) -> Frame:
    given = json.loads((FOLDER / "frames.json").read_text())[name]
    results = tuple(tuple(StoredResult(**one) for one in thread) for thread in given["results"])
    lists = {key: tuple(given[key]) for key in ("constants", "variables", "shared")}
    return Frame(**{**given, **lists, "results": results, "offsets": tuple(map(tuple, given["offsets"]))})


def read_case(listing: str) -> Test:
    return read_test((FOLDER / f"{listing.partition('-')[0]}.litmus").read_text())


def check(listing: str, text: str) -> Check:
    test, frame = read_case(listing), frame_of(listing.partition("-")[0])
    function = re.search(r"^\.text\.(\w+):", text, re.MULTILINE)
    assert function is not None
    (found,) = check_kernels(text, {function[1]: test}, frames=lambda name, test: frame)
    return found


def edited(listing: str, edits: dict[str, list[str]]) -> str:
    text = (FOLDER / f"{listing}.sass").read_text()
    for address, codes in edits.items():
        new = "\n".join(f"        /*{address}*/                   {code} ;" for code in codes)
        text, count = re.subn(rf"^\s*/\*{address}\*/.*$", lambda _, new=new: new, text, flags=re.MULTILINE)  # type: ignore[misc]
        assert count == 1, address
    return text


@pytest.mark.parametrize("listing", NAMES)
def test_the_listings_themselves_are_unchanged(listing: str) -> None:
    found = check(listing, edited(listing, {}))
    assert found.finding is Finding.UNCHANGED, found.deviations


@pytest.mark.parametrize("case", CASES, ids=[f"{case['listing']}: {case['name']}" for case in CASES])
def test_a_fault_is_found(case: dict[str, object]) -> None:
    listing, edits = case["listing"], case["edits"]
    assert isinstance(listing, str) and isinstance(edits, dict)
    found = check(listing, edited(listing, edits))
    assert found.finding == case["finding"], found.deviations


@pytest.mark.parametrize("operands", ["", "R4", "[R4]", "[R4], R5", "R5, [R4]", "[UR4], [UR6]"])
def test_no_opcode_that_may_do_more_than_compute_is_passed_over(operands: str) -> None:
    passed = []
    others = sorted(OPCODES - COMPUTING - SILENT)
    for opcode in others:
        try:
            found = check("waiting-sm_90", edited("waiting-sm_90", {"0610": [f"{opcode} {operands}".strip()]}))
        except SassError:
            continue
        if found.finding is Finding.UNCHANGED:
            passed.append(opcode)
    assert len(others) > 100
    assert passed == []
