"""Stale lines of L1 are provoked: on a host build with an incoherent L1, and only there, weak outcomes are seen."""

from __future__ import annotations

import pytest
from harness_host import SMALL, HostModule
from stale_l1 import give_l1

from gpudiy.harness.host_build import compile_host
from gpudiy.harness.incantation import Incantation
from gpudiy.harness.launch_plan import LaunchPlan
from gpudiy.harness.source import Dialect, module_source, render_test
from gpudiy.litmus import read_test

MP = """GPU_PTX MP
{{0:.reg .s32 r0; 1:.reg .s32 r0; 1:.reg .s32 r1;}}
 P0 | P1 ;
 st.cg.s32 [x],1 | ld.{first}.s32 r0,[y] ;
 st.cg.s32 [y],1 | ld.{second}.s32 r1,[x] ;
(device (kernel (cta (warp P0)) (cta (warp P1))))
x: global, y: global
exists (1:r0=1 /\\ 1:r1=0)
"""
TESTS = [
    read_test(MP.format(first=first, second=second)) for first, second in (("cg", "ca"), ("ca", "ca"), ("cg", "cg"))
]
CA_SECOND, CA_BOTH, CG = range(3)
WEAK = (1, 0)
COMMON = {"group_size": 8, "instances": 240, "meet_every": 1, "stress_iterations": 4, "pre_stress_iterations": 2}
NOTHING = {"warm_percent": 0, "reuse_percent": 0, "location_stride": 64}  # each line is read once: as in version 0.2
SEEDS = range(12)


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> HostModule:
    rendered = [render_test(test, Dialect.HOST) for test in TESTS]
    library = tmp_path_factory.mktemp("l1") / "tests.so"
    compile_host(give_l1(module_source(rendered, Dialect.HOST)), library)
    return HostModule(library, rendered)


def count_weak(module: HostModule, test: int, incantation: Incantation, until_seen: bool = True) -> int:
    weak = 0
    for seed in SEEDS:
        counted, _ = module.run(test, incantation, seed, SMALL)
        weak += counted.outcomes.get(WEAK, 0)
        if weak and until_seen:
            break
    return weak


@pytest.mark.parametrize("test", [CA_SECOND, CA_BOTH])
def test_the_defaults_show_stale_lines(module: HostModule, test: int) -> None:
    assert count_weak(module, test, Incantation(**COMMON))


@pytest.mark.parametrize(
    "changes", [{"warm_percent": 100}, {"location_stride": 2}, {"location_stride": 1, "reuse_percent": 100}],
    ids=["warm reads", "near instances", "lines of earlier rounds"],
)  # fmt: skip
def test_each_of_the_ways_alone_shows_stale_lines(module: HostModule, changes: dict[str, int]) -> None:
    assert count_weak(module, CA_SECOND, Incantation(**COMMON | NOTHING | changes))


def test_without_them_no_line_is_ever_stale(module: HostModule) -> None:
    """A run as of version 0.2 says "not observed" of what every chip with such an L1 does."""
    for test in (CA_SECOND, CA_BOTH):
        assert count_weak(module, test, Incantation(**COMMON | NOTHING), until_seen=False) == 0


def test_loads_that_l1_does_not_answer_are_never_stale(module: HostModule) -> None:
    assert count_weak(module, CG, Incantation(**COMMON), until_seen=False) == 0


def test_warm_reads_are_counted(module: HostModule) -> None:
    def run(percent: int) -> tuple[int, LaunchPlan]:
        counted, plan = module.run(CG, Incantation(**COMMON | {"warm_percent": percent}), 3, SMALL)
        return counted.warmed, plan

    reads, plan = run(100)
    most = plan.instances * plan.variables * 2  # by two threads
    assert run(0)[0] == 0 < run(50)[0] < reads
    assert most // 3 < reads < most * 2 // 3  # each thread chooses its variables
