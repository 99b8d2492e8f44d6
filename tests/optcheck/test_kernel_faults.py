"""The kernels around tests: their machine code does what the templates mean, and random faults in it are found."""

from __future__ import annotations

import re
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
    "a warm read deleted": ("warm_lines", r"LDG\.E\.STRONG\.SM [^;]*;", "NOP ;", "warm reads: "),
    "a warm read that L1 does not cache": ("warm_lines", r"LDG\.E\.STRONG\.SM", "LDG.E.STRONG.GPU", "warm reads: "),
    "another line is warmed": (
        "warm_lines", r"(LDG\.E\.STRONG\.SM R\d+, \S*\[R\d+\.64)\]", r"\1+0x4]", "",
    ),
    "warm reads are not called": ("run", r"CALL\.[A-Z.]+ (?=[^;]*warm_lines)[^;]*;", "NOP ;", ""),
    "a counter of one GPU": ("run", r"(ATOMG|RED)\.E\.ADD\.STRONG\.SYS", r"\1.E.ADD.STRONG.GPU", ""),
    "a result goes elsewhere": ("reset", r"IMAD\.WIDE\.U32 R\d+,", "IMAD.WIDE.U32 R200,", "kernels: nobody reads"),
    "threads run apart": ("meet", r"BSYNC B\d ;", "NOP ;", "kernels: threads separate here and do not meet"),
    "a modifier of nothing": ("meet", r" YIELD ;", " YIELD.CTA ;", "kernels: YIELD is not understood"),
    "a store of shared stress deleted": ("stress_shared", r"STS [^;]*;", "NOP ;", ""),
    "a load of shared stress deleted": ("stress_shared", r"LDS [^;]*;", "NOP ;", ""),
    "another word of shared memory is stressed": ("stress_shared", r"STS \[(R\d+)\]", r"STS [\1+0x4]", ""),
    "another location": ("reset", r"STG\.E (\S*)\[(R\d+)\.64\]", r"STG.E \1[\2.64+0x4]", ""),
}  # fmt: skip
ONCE_MISSED = {  # faults that passed once, by architecture: no launch had the numbers that show them
    "a product of sizes is left out": ("sm_80", "end_shared", r"(?<=/\*0090\*/) +IMAD R3, R3, R12, RZ ;", " NOP ;"),
    "a thread leaves in stress": ("sm_80", "stress", r"(?=\n[^\n]*/\*15b0\*/)", "\n /*15b0*/ @P1 EXIT ;"),
    "a loop does not end": ("sm_80", "reduce", r"(?<=/\*0960\*/) +ISETP.NE.AND P1, PT, R10, 0x1, PT ;", " NOP ;"),
    "an address of reset is another": ("sm_80", "reset", r"(?<=/\*0d40\*/) +@P1 IMAD R14, R13, R14, RZ ;", " NOP ;"),
    "half of a register": ("sm_80", "reset", r"(?<=/\*0200\*/) +LDG.E R6,", " LDG.E R6.H1,"),
    "a carry is lost": ("sm_80", "count_outcome", r"(?<=/\*1ca0\*/) +IADD3 R56, P3,", " IADD3 R56, P2,"),
    "an upper word is old": ("sm_90", "count_outcome", r"(?<=/\*23f0\*/) +IADD3.X R58,", " @!PT IADD3.X R58,"),
    "a comparison is left out": ("sm_90", "count_outcome", r"(?<=/\*1500\*/) +ISETP.NE", " @!PT ISETP.NE"),
    "a zero is left out": ("sm_90", "count_outcome", r"(?<=/\*1330\*/) +IMAD.MOV", " @!P2 IMAD.MOV"),
    "a copy of nothing known": ("sm_120", "count_outcome", r"@!P(\d) MOV R(\d+), (?=R)", r"@!P\1 MOV.MRG R\2, "),
    "the wrong threads clear a word": ("sm_90", "reduce", r"(?<=/\*2540\*/) +@!P0 IMAD.MOV", " @P0 IMAD.MOV"),
}  # fmt: skip
QUICK = ("a store of stress deleted", "a warm read deleted", "another location", "a result goes elsewhere")
MORE_SEEDS = range(50, 52)
FAULTS = 12


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
@pytest.mark.parametrize("case", ONCE_MISSED)
def test_a_fault_that_passed_once_is_found(case: str) -> None:
    architecture, function, old, new = ONCE_MISSED[case]
    listing = kernel_listing(architecture)
    name = find_function(listing, function)
    text, count = re.subn(old, new, listing.texts[name], count=1)
    if not count:
        pytest.skip("this version of the compiler writes other code")
    assert listing.check(name, text)


@pytest.mark.heavy
@pytest.mark.parametrize("architecture", ["sm_75", "sm_80", "sm_90", "sm_120"])
def test_random_faults_in_kernels_are_found_or_change_nothing(architecture: str) -> None:
    """What passes is proved equal, or does the same as the original code in launches that the check does not have."""
    listing, dice = kernel_listing(architecture), Random(architecture)
    found, missed = 0, []
    for _ in range(FAULTS):
        name, what, text = random_fault(listing, dice)
        if listing.check(name, text):
            found += 1
        elif not listing.is_equal(name, text) and (difference := listing.find_difference(name, text, 2)):
            missed.append(f"{name}: {what}: {difference}")
    assert not missed
    assert found > FAULTS // 2


@pytest.mark.heavy
@pytest.mark.parametrize("architecture", ["sm_75", "sm_80", "sm_90", "sm_120"])
def test_kernels_do_what_the_templates_mean_in_many_more_launches(architecture: str) -> None:
    listing = kernel_listing(architecture)
    for seed in MORE_SEEDS:
        assert not listing.try_seed(seed)


def test_equal_code_is_proved_equal_and_other_code_is_not() -> None:
    listing = kernel_listing("sm_80")
    name = find_function(listing, "reset")
    lines = listing.texts[name].split("\n")
    at = next(place for place, line in enumerate(lines) if " IMAD.WIDE.U32 " in line and "@" not in line)
    assert listing.is_equal(name, listing.texts[name])
    assert listing.is_equal(name, "\n".join([*lines[:at], " /*0000*/ MOV R250, RZ ;", *lines[at:]]))
    assert not listing.is_equal(name, "\n".join([*lines[:at], *lines[at + 1 :]]))
    assert not listing.is_equal(name, "\n".join([*lines[:at], lines[at].replace("U32", "U32.X"), *lines[at + 1 :]]))


@pytest.mark.parametrize("seeds", [1, pytest.param(4, marks=pytest.mark.heavy)])
def test_original_kernels_do_not_differ_from_themselves(seeds: int) -> None:
    listing = kernel_listing("sm_80")
    name = find_function(listing, "reset")
    assert not listing.find_difference(name, listing.texts[name], seeds)
    changed = re.sub(r"(?:@!?P\d )?STG\.E [^;]*;", "NOP ;", listing.texts[name], count=1)
    assert changed != listing.texts[name]
    assert listing.find_difference(name, changed, seeds)
