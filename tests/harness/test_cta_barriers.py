"""Tests that wait at barriers of their CTA: how they are written, placed, and checked, and which are not runnable."""

from __future__ import annotations

import re
from functools import cache

import pytest
from conftest import DATA

from gpudiy.errors import MissingTool
from gpudiy.harness.checking import FUNCTIONS, disassemble_cubin, select_functions
from gpudiy.harness.frame import frame_of
from gpudiy.harness.incantation import Incantation
from gpudiy.harness.launch_plan import DeviceLimits, plan_launch
from gpudiy.harness.module import PtxTest, assembler_for
from gpudiy.harness.shape import shape_of
from gpudiy.harness.source import Dialect, obstacle, render_test
from gpudiy.litmus import Test, read_test
from optcheck.check import check_functions
from optcheck.finding import Check, Finding
from optcheck.listing import read_listing

HEAD = "GPU_PTX T\n{0:.reg .s32 r0; 0:.reg .pred p0; 1:.reg .s32 r0;}\n P0 | P1 ;\n"
ONE_CTA = "(device (kernel (cta (warp P0) (warp P1))))\nx: global\nexists (x=1)"


def barrier_test(one: str, other: str = "bar.sync 0", tree: str = ONE_CTA) -> Test:
    return read_test(f"{HEAD} st.s32 [x],1 | ld.s32 r0,[x] ;\n {one} | {other} ;\n{tree}")


@pytest.mark.parametrize(
    ("test", "why"),
    [
        (barrier_test("bar.sync 0"), None),
        (barrier_test("bar.sync 3,64", "bar.sync 3,64"), None),
        (barrier_test("bar.arrive 3,64", "bar.sync 3,64"), None),
        (barrier_test("bar.sync 0", ""), "not all threads of a CTA come to a barrier that is one of the whole CTA"),
        (barrier_test("bar.sync 1"), "do not all come to the same barriers in the same order"),
        (barrier_test("bar.sync 0,96", "bar.sync 0,96"), "counts 3 threads of the test, and 2 come to it"),
        (barrier_test("bar.sync 15", "bar.sync 15"), "the harness itself uses barrier 15"),
        (barrier_test("@p0 bar.sync 0"), "P0: it waits at a barrier under a condition"),
        (barrier_test("bar.sync r0"), "P0: the number of a barrier, or how many it waits for, is in a register"),
        (
            barrier_test("bar.sync 0", tree=ONE_CTA.replace("(warp P0) (warp P1)", "(warp P0 P1)")),
            "two of its threads are in one warp",
        ),
        (
            read_test(f"{HEAD} bar.sync 0 | bar.sync 0 ;\n @p0 bra L | ;\n L: | ;\n{ONE_CTA}"),
            "P0: it waits at a barrier and branches",
        ),
    ],
)
def test_what_a_gpu_runs(test: Test, why: str | None) -> None:
    found = obstacle(test, Dialect.CUDA)
    assert (found is None) == (why is None) and (why or "") in (found or "")


def test_other_devices_say_why_they_do_not_run_them() -> None:
    test = barrier_test("bar.sync 0")
    for dialect in (Dialect.OPENCL, Dialect.WGSL):
        assert "barrier" in str(obstacle(test, dialect))


def test_a_barrier_is_written_as_it_is_after_one_at_which_the_threads_start() -> None:
    blocks = render_test(barrier_test("bar.arrive 3,64", "bar.sync 3,64"), Dialect.CUDA).blocks
    found = [[line.text for line in block.lines if "bar." in line.text] for block in blocks]
    assert [[re.sub(" //.*", "", line) for line in lines] for lines in found] == [
        ["bar.sync 15,64;", "bar.arrive 3,64;"],
        ["bar.sync 15,64;", "bar.sync 3,64;"],
    ]


def test_nobody_else_is_in_the_cta() -> None:
    shape = shape_of(barrier_test("bar.sync 0"))
    for incantation in (Incantation(), Incantation(group_size=256, meet_every=16)):
        plan = plan_launch(shape, incantation, DeviceLimits(groups=64))
        assert (plan.group_size, plan.warp_groups, plan.lane_groups, plan.batch) == (64, 1, 32, 1)


FAULTS = {
    "the barrier is gone": (r"BAR\.SYNC\S* 0x0 ;", "NOP ;"),
    "another barrier": (r"(BAR\.SYNC\S*) 0x0 ;", r"\1 0x1 ;"),
    "it counts threads": (r"(BAR\.SYNC\S*) 0x0 ;", r"\1 0x0, 0x20 ;"),
    "it only arrives": (r"BAR\.SYNC\S* 0x0 ;", "BAR.ARV 0x0, 0x40 ;"),
    "it votes": (r"BAR\.SYNC\S* 0x0 ;", "BAR.RED.POPC.DEFER_BLOCKING 0x0 ;"),
    "under a predicate": (r"(BAR\.SYNC\S*) 0x0 ;", r"@P0 \1 0x0 ;"),
    "no start": (r"BAR\.SYNC\S* 0xf, 0x40 ;", "NOP ;"),
    "another start": (r"(BAR\.SYNC\S*) 0xf, 0x40 ;", r"\1 0xf, 0x60 ;"),
    "a part of the warp": (r"WARPSYNC\S*(?: 0xffffffff)? ;", "WARPSYNC 0xffff ;"),
}


@cache
def listing_of(architecture: str) -> tuple[PtxTest, str]:
    try:
        assembler = assembler_for(architecture)
    except MissingTool:
        pytest.skip("NVRTC and nvJitLink are not there: pip install 'gpudiy[cuda-tools]'")
    code = PtxTest.of(read_test((DATA / "built" / "MP-barrier.litmus").read_text()), architecture)
    return code, select_functions(disassemble_cubin(assembler.compile([code]), architecture), FUNCTIONS)


def check(architecture: str, code: PtxTest, listing: str) -> Check:
    (found,) = check_functions(
        read_listing(listing), {code.function: [code.test]}, architecture, lambda name, test: frame_of(code)
    )
    return found


@pytest.mark.parametrize("architecture", ["sm_75", "sm_90"])
def test_faults_in_barriers_are_found(architecture: str) -> None:
    code, listing = listing_of(architecture)
    assert check(architecture, code, listing).finding is Finding.UNCHANGED
    missed = []
    for name, (old, new) in FAULTS.items():
        places = list(re.finditer(old, listing))
        assert len(places) == 2, name  # one in each thread
        for place in places:
            faulty = listing[: place.start()] + place.expand(new) + listing[place.end() :]
            if check(architecture, code, faulty).finding is Finding.UNCHANGED:
                missed.append((name, place.start()))
    assert not missed
