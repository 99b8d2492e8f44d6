"""Loops end after so many passes; the instances in which one did are discarded, and nothing else changes."""

from __future__ import annotations

import pytest
from harness_host import SMALL, HostModule
from stale_l1 import give_l1

from gpudiy.harness.host_build import compile_host
from gpudiy.harness.incantation import Incantation
from gpudiy.harness.loop_bounds import END_OF_PASSES, MOST_PASSES, bound_loops, count_cut_flags
from gpudiy.harness.source import Dialect, module_source, render_test
from gpudiy.litmus import Test, print_test, read_test
from gpudiy.models.library import load_model
from gpudiy.models.verdict import outcomes

HEAD = "GPU_PTX {name}\n{{0:.reg .s32 r0; 1:.reg .s32 r0; 1:.reg .s32 r1; 1:.reg .pred p0;}}\n P0 | P1 ;\n"
TAIL = "(device (kernel (cta (warp P0)) (cta (warp P1))))\nx: global, y: global\nexists (1:r1=0)\n"


def waiting(name: str, load: str = "ld.relaxed.gpu", back: str = "@p0 bra L", compare: str = "eq", y: int = 1) -> Test:
    """P1 waits until it sees y, which P0 writes after x."""
    return read_test(
        HEAD.format(name=name)
        + f" st.relaxed.gpu.s32 [x],1 | L: ;\n st.release.gpu.s32 [y],{y} | {load}.s32 r0,[y] ;\n"
        f" | setp.{compare}.s32 p0,r0,0 ;\n | {back} ;\n | ld.relaxed.gpu.s32 r1,[x] ;\n{TAIL}"
    )


SEEN, NEGATED, STALE, NEVER, ALWAYS = (
    waiting("seen"),
    waiting("negated", back="@!p0 bra L", compare="ne"),
    waiting("stale", load="ld.ca"),
    waiting("never", y=0),
    waiting("always", back="bra L"),
)
QUICK = Incantation(group_size=8, instances=64, stress_iterations=4, pre_stress_iterations=2, warm_percent=100)


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> HostModule:
    """The tests as the host runs them, with an L1 that keeps lines; loops are cut early, since it is slow."""
    rendered = [render_test(test, Dialect.HOST) for test in (SEEN, NEGATED, STALE, NEVER, ALWAYS)]
    source = give_l1(module_source(rendered, Dialect.HOST))
    library = tmp_path_factory.mktemp("loops") / "tests.so"
    compile_host(source, library)
    return HostModule(library, rendered)


@pytest.mark.parametrize("number", [0, 1])
def test_a_loop_that_ends_is_not_cut(module: HostModule, number: int) -> None:
    counted, plan = module.run(number, QUICK, 1, SMALL)
    assert counted.discarded + sum(counted.outcomes.values()) == plan.instances
    assert set(counted.outcomes) <= {(1,)} and counted.outcomes


def test_a_spin_on_a_stale_line_ends(module: HostModule) -> None:
    """It hung for ever before: the line was read before the test, and no load after that goes to memory."""
    counted, plan = module.run(2, QUICK, 1, SMALL)
    assert counted.discarded > 0
    assert counted.discarded + sum(counted.outcomes.values()) == plan.instances


@pytest.mark.parametrize("number", [3, 4])
def test_a_loop_without_end_is_cut_in_every_instance(module: HostModule, number: int) -> None:
    counted, plan = module.run(number, QUICK, 1, SMALL)
    assert counted.discarded == plan.instances and not counted.outcomes


def test_a_test_without_loops_runs_as_it_is() -> None:
    forward = read_test(
        HEAD.format(name="forward") + f" st.s32 [x],1 | @p0 bra L ;\n | ld.s32 r1,[x] ;\n | L: ;\n{TAIL}"
    )
    assert bound_loops(forward) is forward and count_cut_flags(forward) == 0


@pytest.mark.parametrize("test", [SEEN, NEGATED])
def test_a_bounded_loop_means_the_same(test: Test) -> None:
    """All outcomes of runs that end in few passes are the same; the flags say that none was cut."""
    model = load_model("sc")
    bounded = bound_loops(test)
    assert bounded.observed[: len(test.observed)] == test.observed and len(bounded.observed) == len(test.observed) + 1
    assert {(*outcome, 0) for outcome in outcomes(test, model, unroll=3)} == set(outcomes(bounded, model, unroll=3))


def test_the_counter_ends_where_it_should() -> None:
    (declared,) = [found for found in bound_loops(SEEN).registers if found.name == "passes"]
    assert declared.initial == END_OF_PASSES - MOST_PASSES and MOST_PASSES == 1 << 14


def test_names_do_not_clash() -> None:
    text = print_test(SEEN).replace("1:.reg .s32 r1;", "1:.reg .s32 r1;\n1:.reg .s32 passes;")
    names = [found.name for found in bound_loops(read_test(text)).registers]
    assert len(names) == len({(found.thread, found.name) for found in bound_loops(read_test(text)).registers})
    assert "passes_0" in names
