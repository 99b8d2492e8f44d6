"""Listings of Fermi and Kepler, written after the published syntax, with their faults: each read, with its finding.

No tool that is a wheel disassembles these chips: the compiler of CUDA 11 makes their code, but only its text is read.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from gpudiy.litmus import read_test
from optcheck.check import check_kernels
from optcheck.finding import Check, Finding

FOLDER = Path(__file__).parents[1] / "data" / "sass" / "kepler"
CASES = json.loads((FOLDER / "cases.json").read_text())
GOOD = ("MP-sm_35", "SB-sm_20", "LB-sm_30", "CAS-sm_35")


def check(listing: str, edits: dict[str, list[str]]) -> Check:
    text = (FOLDER / f"{listing}.sass").read_text()
    for address, codes in edits.items():
        new = "\n".join(
            [f"        /*{address}*/     {codes[0]};", *(f"                     {code};" for code in codes[1:])]
        )
        text, count = re.subn(rf"^\s*/\*{address}\*/.*$", lambda _, new=new: new, text, flags=re.MULTILINE)  # type: ignore[misc]
        assert count == 1, address
    name = listing.partition("-")[0]
    (found,) = check_kernels(text, {name: read_test((FOLDER / f"{name}.litmus").read_text())})
    return found


@pytest.mark.parametrize("listing", GOOD)
def test_the_listings_themselves_are_unchanged(listing: str) -> None:
    found = check(listing, {})
    assert found.finding is Finding.UNCHANGED, found.deviations
    assert found.architecture == listing.partition("-")[2]


@pytest.mark.parametrize("case", CASES, ids=[f"{case['listing']}: {case['name']}" for case in CASES])
def test_a_fault_is_found(case: dict[str, object]) -> None:
    listing, edits = case["listing"], case["edits"]
    assert isinstance(listing, str) and isinstance(edits, dict)
    found = check(listing, edits)
    assert found.finding == case["finding"], found.deviations
