"""Faults in the machine code of real tests that a check of patterns passed: each is found, and so is what it is.

A case names lines of a listing by their addresses, with the code that takes their place.
"""

from __future__ import annotations

import json

import pytest
from fault_listings import FOLDER, NAMES, check, edited

from optcheck.execution import SILENT
from optcheck.finding import Finding
from optcheck.listing import SassError
from optcheck.modifiers import FORMS
from optcheck.opcodes import COMPUTING, OPCODES
from optcheck.semantics import PURE, SEMANTICS

CASES = json.loads((FOLDER / "cases.json").read_text())


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


def test_the_modifiers_of_every_opcode_that_is_understood_are_known() -> None:
    assert {*SEMANTICS, *PURE, *SILENT} <= FORMS.keys()
