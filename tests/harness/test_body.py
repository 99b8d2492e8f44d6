"""What happens from the meeting to the end of a test: no loads, a clock before and after, results stored together."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from conftest import DATA
from cuda_standin import sb_test
from harness_host import HostModule

from gpudiy.errors import MissingTool
from gpudiy.harness.checking import FUNCTIONS, disassemble_cubin, select_functions
from gpudiy.harness.frame import frame_of
from gpudiy.harness.host_build import compile_host
from gpudiy.harness.incantation import Incantation
from gpudiy.harness.module import PtxTest, assembler_for
from gpudiy.harness.nvrtc import compiler_for
from gpudiy.harness.source import Dialect, module_source, render_test
from gpudiy.litmus import read_test
from optcheck.check import check_kernels
from optcheck.finding import Finding
from optcheck.listing import SassFunction, read_listing
from optcheck.sass import Touch

try:
    compiler_for("sm_80")
except MissingTool:
    pytest.skip("NVRTC is not there: pip install 'gpudiy[cuda-tools]'", allow_module_level=True)

ORDINARY = ("sm_80", "sm_120")
ARCHITECTURES = [
    pytest.param(one, marks=[] if one in ORDINARY else pytest.mark.heavy)
    for one in ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")
]
TREES = {
    "two-CTAs": "(device (kernel (cta (warp P0)) (cta (warp P1))))",
    "one-CTA": "(device (kernel (cta (warp P0) (warp P1))))",
    "one-warp": "(device (kernel (cta (warp P0 P1))))",
}
CLOCKS = {"two-CTAs": "SR_GLOBALTIMERLO", "one-CTA": "SR_CLOCKLO", "one-warp": "SR_CLOCKLO"}
TEST_ACCESS = re.compile(r"\.STRONG\.GPU|STS|LDS")


@cache
def built(architecture: str) -> tuple[list[PtxTest], str]:
    codes = [PtxTest.of(sb_test(tree, name=name), architecture) for name, tree in TREES.items()]
    codes.append(PtxTest.of(sb_test(TREES["one-CTA"], "shared", "shared"), architecture))
    return codes, disassemble_cubin(assembler_for(architecture).compile(codes), architecture)


@cache
def functions_of(architecture: str) -> dict[str, SassFunction]:
    codes, listing = built(architecture)
    found = {one.name: one for one in read_listing(select_functions(listing, FUNCTIONS))}
    return {code.test.name: found[code.function] for code in codes}


def is_load(function: SassFunction, index: int) -> bool:
    instruction = function.instructions[index]
    return instruction.touch is Touch.LOAD and not instruction.never


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_nothing_is_loaded_between_the_meeting_and_the_first_access(architecture: str) -> None:
    """The function had six loads of parameters before its first access, and the kernel one of its address."""
    for function in functions_of(architecture).values():
        texts = [one.text for one in function.instructions]
        first = next(index for index, text in enumerate(texts) if TEST_ACCESS.search(text))
        assert not [texts[index] for index in range(first) if is_load(function, index)]
    kernel = select_functions(built(architecture)[1], re.compile(r"run\Z")).split("\n")
    met = next(index for index, line in enumerate(kernel) if re.search(r"CALL.*meet", line))
    called = next(index for index in range(met + 1, len(kernel)) if "CALL" in kernel[index])
    assert re.search(r"CALL\S* R\d", kernel[called])  # of the test
    assert not [line for line in kernel[met:called] if re.search(r"\bLD[GLS]?\b", line)]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_results_are_stored_once_behind_all_threads(architecture: str) -> None:
    """Each case stored its own results: threads of a warp waited for what they read before others began."""
    for function in functions_of(architecture).values():
        texts = [one.text for one in function.instructions]
        stores = [index for index, text in enumerate(texts) if re.match(r"(@\S+ )?ST\.E", text)]
        last = max(index for index, text in enumerate(texts) if TEST_ACCESS.search(text))
        assert len(stores) == 3  # two times and a register
        joined = [index for index, text in enumerate(texts) if text.startswith("BSYNC") and last < index < stores[0]]
        assert joined and last < stores[0]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_threads_read_a_clock_around_their_accesses(architecture: str) -> None:
    for name, clock in CLOCKS.items():
        texts = [one.text for one in functions_of(architecture)[name].instructions]
        kinds = ["clock" if clock in text else "access" for text in texts if clock in text or TEST_ACCESS.search(text)]
        assert kinds == ["clock", "access", "access", "clock"] * 2
        assert any("NANOSLEEP" in text for text in texts) == (name == "one-warp")


def check_changed(name: str, architecture: str, pattern: str, change: str) -> tuple[Finding, str]:
    """What optcheck says of a test after the first lines that match a pattern are changed."""
    codes, listing = built(architecture)
    code = next(one for one in codes if one.test.name == name)
    text = select_functions(listing, re.compile(re.escape(code.function)))
    changed, count = re.subn(pattern, change, text, count=1)
    assert count == 1
    (found,) = check_kernels(changed, {code.function: code.test}, frames=lambda name, test: frame_of(code))
    return found.finding, " ".join(one.explanation for one in found.deviations)


FAULTS = {
    "the clock is read among the accesses": (
        "two-CTAs",
        r"S2UR (UR\d+), SR_GLOBALTIMERLO ;([^$]*?)(STG[^;]*STRONG.GPU[^;]*;)",
        r"NOP ;\2\3\n S2UR \1, SR_GLOBALTIMERLO ;",
        "the clock is read among the accesses of the test",
    ),
    "another clock is read": ("two-CTAs", r"SR_GLOBALTIMERLO", "SR_CLOCKLO", "another clock is read"),
    "the clock is read once": ("two-CTAs", r"(S2UR UR\d+, SR_GLOBALTIMERLO ;)", "NOP ;", "among the accesses"),
    "a time is stored as the other": (
        "two-CTAs",
        r"(ST\.E \[[^\]]*\]), (R\d+)(\s*;[^$]*?ST\.E \[[^\]]*\]), (R\d+)",
        r"\1, \4\3, \4",
        "another value is stored as the result %begin",
    ),
    "a register is stored as another": (
        "two-CTAs",
        r"(ST\.E \[[^\]]*\+0x8\]), R\d+",
        r"\1, R11",
        "another value is stored as the result r2",
    ),
    "a thread sleeps among its accesses": (
        "one-warp",
        r"(NANOSLEEP [^;]*;)([^$]*?)(STG[^;]*STRONG.GPU[^;]*;)",
        r"NOP ;\2\3\n \1",
        "a thread sleeps where it should not",
    ),
    "another constant of the launch is stored": (
        "two-CTAs",
        r"c\[0x3\]\[0x200\]",
        "c[0x3][0x6c0]",
        "another value",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_optcheck_finds_a_fault_in_what_is_around_the_accesses(fault: str) -> None:
    name, pattern, change, said = FAULTS[fault]
    finding, explanation = check_changed(name, "sm_80", pattern, change)
    assert finding is not Finding.UNCHANGED
    assert said in explanation


CLOCK = re.compile(r"return \(u32\)std::chrono[^;]*;")
APART = "static thread_local u32 looks = 0; return 1000000 * here.group_number + 10 * looks++ - 5000;"
TOGETHER = "static thread_local u32 looks = 0; return 0xfffffff0u + looks++ % 2 * 100;"


@pytest.mark.parametrize(("clock", "together"), [(APART, False), (TOGETHER, True)], ids=["apart", "together"])
def test_bodies_overlap_if_the_clock_says_so(tmp_path: Path, clock: str, together: bool) -> None:
    """Arrivals at the meeting counted as overlaps before, whatever happened afterwards."""
    rendered = [render_test(read_test((DATA / "harness" / "apart.litmus").read_text()), Dialect.HOST)]
    source, count = CLOCK.subn(clock, module_source(rendered, Dialect.HOST))
    assert count == 1
    compile_host(source, tmp_path / "tests.so")
    counted, plan = HostModule(tmp_path / "tests.so", rendered).run(0, Incantation(group_size=4, instances=64))
    assert counted.timed == plan.instances and len(rendered[0].test.threads) > 1
    assert counted.overlaps == (plan.instances if together else 0)
    if together:
        assert counted.skew == 0 == counted.inversions
    else:
        assert counted.skew >= 900_000 * plan.instances and 0 < counted.inversions <= plan.instances
