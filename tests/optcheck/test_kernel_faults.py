"""The kernels around tests: their machine code does what the templates mean, and random faults in it are found."""

from __future__ import annotations

import re
from collections import Counter
from random import Random

import pytest
from kernel_faults import KernelListing, kernel_listing, random_fault

CASES = {  # a function, a pattern in its code, what replaces it, and how the reason begins
    "a store of stress deleted": ("stress", r"STG\.E\.STRONG\.SYS [^;]*;", "NOP ;", "stress: "),
    "a store of stress is weak": ("stress", r"STG\.E\.STRONG\.SYS", "STG.E", "stress: "),
    "another pattern": ("stress", "0x7f3b002", "0x7f3b001", "stress: "),
    "another address": ("stress", r"(LDG\.E\.STRONG\.SYS R\d+, \S*\[R\d+\.64)\]", r"\1+0x4]", ""),
    "stress is not called": ("only_stress", r"CALL\.ABS\.NOINC [^;]*;", "NOP ;", ""),
    "nobody announces itself": ("meet", r"ATOMG\.E\.ADD\.STRONG\.GPU [^;]*;", "NOP ;", ""),
    "a look is weak": ("meet", r"LDG\.E\.STRONG\.SYS", "LDG.E", "meeting: "),
    "the limit is another": ("meet", r"ISETP\.NE\.AND P0, PT, R8, R3, PT", "ISETP.NE.AND P0, PT, R8, R0, PT", ""),
    "threads leave without the barrier": ("meet", r"@P0 BREAK B1 ;", "NOP ;", "kernels: threads wait for ever"),
    "another location": ("reset", r"STG\.E (\S*)\[(R\d+)\.64\]", r"STG.E \1[\2.64+0x4]", ""),
}  # fmt: skip
QUICK = ("a store of stress deleted", "the limit is another", "another location")


def find_function(listing: KernelListing, name: str) -> str:
    return next(one for one in listing.texts if re.search(rf"(?:^|\d){name}(?:E|$)", one))


@pytest.mark.parametrize("case", [one if one in QUICK else pytest.param(one, marks=pytest.mark.heavy) for one in CASES])
def test_a_fault_in_a_kernel_is_found(case: str) -> None:
    listing = kernel_listing("sm_80")
    function, old, new, reason = CASES[case]
    name = find_function(listing, function)
    text, count = re.subn(old, new, listing.texts[name], count=1)
    assert count == 1
    wrong = listing.check(name, text)
    assert wrong and wrong.startswith(reason), wrong


@pytest.mark.heavy
@pytest.mark.parametrize("architecture", ["sm_75", "sm_80", "sm_90", "sm_120"])
def test_most_random_faults_in_kernels_are_found(architecture: str) -> None:
    """Those that pass change nothing that a launch can notice: docs/optcheck.md says of which kinds they are."""
    listing, dice = kernel_listing(architecture), Random(architecture)
    counts: Counter[bool] = Counter()
    for _ in range(25):
        name, _, text = random_fault(listing, dice)
        counts[bool(listing.check(name, text))] += 1
    assert counts[True] > 15, counts
