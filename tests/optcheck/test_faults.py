"""Random faults in the machine code of real tests: none may pass as unchanged, unless a machine sees no difference.

The faults know nothing of what optcheck looks at, and the machine nothing of how: see `sass_faults` and `sass_machine`.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from difflib import unified_diff
from functools import cache
from itertools import islice
from random import Random

import pytest
from cuda_12 import expect_cuda_12
from sass_faults import make_fault
from sass_machine import MOST_STEPS, Inputs, SassMachine

from gpudiy.diy.families import FAMILIES
from gpudiy.diy.generator import Generator
from gpudiy.harness.checking import FUNCTIONS, disassemble_cubin, select_functions
from gpudiy.harness.frame import frame_of
from gpudiy.harness.host_side import LAUNCH_FIELDS
from gpudiy.harness.module import Assembler, PtxTest
from gpudiy.harness.spelling import Spelling, spelling_for
from gpudiy.litmus import Test
from optcheck.check import check_kernels
from optcheck.constant_bank import BANK_LINE
from optcheck.finding import Finding
from optcheck.listing import SassError, read_listing

PART = re.compile(r"^\.text\.(test_\w+):\n(.*?)(?=^\s*\.section|\Z)", re.MULTILINE | re.DOTALL)
NAMES = ("classic", "rmw", "dependencies", "modern", "coherence", "scoped", "thesis")
OLD_NAMES = ("classic", "rmw", "dependencies", "coherence", "thesis")  # without relaxed accesses
OLD_ARCHITECTURES = ("sm_60", "sm_70")  # of CUDA 12
TOGETHER = re.compile(r"(?<=\*/)(\s+)\{|\s*\}\s*$", re.MULTILINE)  # two instructions that are issued together
ARCHITECTURES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")


@cache
def sample(family: str) -> tuple[Test, ...]:
    blueprints = islice(Generator(FAMILIES[family].recipe()).blueprints(), 0, 1200, 37)
    return tuple(blueprint.test() for blueprint in blueprints)


def codes_of(architecture: str, count: int, dice: Random) -> list[PtxTest]:
    names = OLD_NAMES if is_old(architecture) else NAMES
    tests = [test for name in names for test in dice.sample(sample(name), min(count, len(sample(name))))]
    if len(architecture) == 5 and architecture < "sm_90":
        tests = [test for test in tests if "cluster" not in test.name]
    return list({code.function: code for code in (PtxTest.of(test, architecture) for test in tests)}.values())


def is_old(architecture: str) -> bool:
    """Whether an architecture has no relaxed accesses: some tests are reordered there."""
    return spelling_for(architecture) is Spelling.VOLATILE


def parts_of(codes: list[PtxTest], architecture: str) -> dict[str, str]:
    listing = select_functions(disassemble_cubin(Assembler(architecture).compile(codes), architecture), FUNCTIONS)
    listing = TOGETHER.sub(lambda found: f"{found[1]} " if found[1] else " ;", listing)
    tables = "".join(f"{line}\n" for line in listing.split("\n") if line.startswith(BANK_LINE))
    return {part[1]: f"{tables}\t.target\t{architecture}\n{part[0]}" for part in PART.finditer(listing)}


def launch_of(code: PtxTest, dice: Random) -> dict[int, int]:
    launch = {offset: dice.getrandbits(32) for offset in range(0, 0x800, 4)}
    offset = 0
    for field in LAUNCH_FIELDS:
        if field.name == "zeros":
            launch |= dict.fromkeys(range(offset, offset + 256, 4), 0)
        if field.name == "constants":
            for number, constant in enumerate(code.constants):
                launch[offset + 8 * number] = constant & 0xFFFFFFFF
                launch[offset + 8 * number + 4] = constant >> 32 & 0xFFFFFFFF
        offset += struct.calcsize(f"<{field.format}")
    return launch


def inputs_of(code: PtxTest, dice: Random) -> list[Inputs]:
    found = []
    for thread in range(len(code.test.threads) + 1):
        for specification in (0, 0x7300_0000_0010, 0x10, 0x7300_0000_0000):
            for _ in range(4):
                pool = [0, 0, 1, 2, 0x80000000, 0xFFFFFFFF, dice.getrandbits(32), dice.getrandbits(31)]
                first = dice.getrandbits(31)
                end = dice.choice((first, first + 1, first + 1, first + dice.getrandbits(30)))
                reads = [dice.choice(pool) for _ in range(40)]
                found.append(Inputs(thread, specification, first, end, launch_of(code, dice), reads))
    return found


def is_unchanged(text: str, code: PtxTest) -> bool:
    try:
        checks = list(check_kernels(text, {code.function: code.test}, frames=lambda name, test: frame_of(code)))
    except SassError:
        return False
    return all(check.finding is Finding.UNCHANGED for check in checks)


def runs_of(text: str, inputs: list[Inputs], most_steps: int) -> list[list[tuple[object, ...]]]:
    (function,) = read_listing(text)
    return [SassMachine(function, one, most_steps).run() for one in inputs]


def short_runs(text: str, inputs: list[Inputs]) -> tuple[list[Inputs], list[list[tuple[object, ...]]]]:
    """The inputs with which a function ends before the machine gives up, and what it does then.

    Others show nothing: one instruction less in each round lets the machine reach the end. For the same reason, code
    with a fault may take more steps.
    """
    runs = runs_of(text, inputs, MOST_STEPS)
    pairs = [(one, run) for one, run in zip(inputs, runs, strict=True) if ("never ends",) not in run]
    assert len(pairs) > len(inputs) / 2
    return [one for one, _ in pairs], [run for _, run in pairs]


def show_difference(clean: str, text: str) -> str:
    """The lines of a listing that a fault changed."""
    lines = unified_diff(clean.split("\n"), text.split("\n"), n=0, lineterm="")
    return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))


def hunt(architecture: str, tests: int, faults: int, seed: str = "") -> tuple[Counter[str], list[str]]:
    """How many faults there were, found, and equal in all runs; and those that were missed."""
    dice = Random(architecture + seed)
    counts: Counter[str] = Counter()
    missed = []
    codes = codes_of(architecture, tests, dice)
    parts = parts_of(codes, architecture)
    for code in codes:
        clean = parts[code.function]
        if is_old(architecture) and not is_unchanged(clean, code):
            counts["refused"] += 1
            continue
        assert is_unchanged(clean, code), (code.test.name, architecture)
        inputs, expected = short_runs(clean, inputs_of(code, dice))
        for _ in range(faults):
            what, text = make_fault(clean, dice)
            counts["faults"] += 1
            if not is_unchanged(text, code):
                counts["found"] += 1
            elif text == clean or runs_of(text, inputs, 8 * MOST_STEPS) == expected:
                counts["equal"] += 1
            else:
                missed.append(f"{what} in {code.test.name}, {architecture}:\n{show_difference(clean, text)}")
    return counts, missed


def test_no_fault_passes() -> None:
    counts, missed = hunt("sm_90", 1, 25)
    assert not missed, missed
    assert counts["found"] > counts["faults"] / 2


@pytest.mark.heavy
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_no_fault_passes_on_any_architecture(architecture: str) -> None:
    counts, missed = hunt(architecture, 2, 20)
    assert not missed, missed
    assert counts["found"] > counts["faults"] / 2


@pytest.mark.heavy
@pytest.mark.parametrize("architecture", OLD_ARCHITECTURES)
def test_no_fault_passes_on_old_architectures(architecture: str) -> None:
    expect_cuda_12(architecture)
    counts, missed = hunt(architecture, 2, 20)
    assert not missed, missed
    assert counts["found"] > counts["faults"] / 2 > 0 and counts["refused"] < 3
