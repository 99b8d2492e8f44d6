"""How a launch is planned: many rounds rather than many instances side by side, and within the memory of the device."""

from __future__ import annotations

import pytest

from gpudiy.harness.incantation import Incantation
from gpudiy.harness.launch_data import buffer_bytes
from gpudiy.harness.launch_plan import FEWEST_ROUNDS, GPU_ROUNDS, DeviceLimits, plan_launch
from gpudiy.harness.shape import shape_of
from gpudiy.litmus import read_test

TEST = read_test(
    "GPU_PTX SB\n{ }\nP0 | P1 ;\nst.cg.s32 [x],1 | st.cg.s32 [y],1 ;\nld.cg.s32 r0,[y] | ld.cg.s32 r0,[x] ;\n"
    "scopeTree (device (kernel (cta P0) (cta P1)))\nx: global, y: global\nexists (0:r0=0 /\\ 1:r0=0)"
)
SHAPE = shape_of(TEST)
BIG = DeviceLimits(groups=1296, memory_bytes=1 << 30)  # an A100


@pytest.mark.parametrize("iterations", [50_000, 100_000, 1_000_000, None])
def test_a_launch_on_a_big_gpu_has_many_rounds(iterations: int | None) -> None:
    plan = plan_launch(SHAPE, Incantation(), BIG, iterations)
    assert FEWEST_ROUNDS <= plan.rounds <= GPU_ROUNDS
    if iterations is not None:
        assert 0.95 * iterations < plan.instances < 1.2 * iterations  # memory may not have room for more
    assert sum(buffer_bytes(SHAPE, plan, Incantation()).values()) < BIG.memory_bytes
    assert plan.groups > plan.testing_groups  # the others still stress


def test_a_launch_uses_the_whole_device_when_there_is_enough_to_do() -> None:
    roomy = DeviceLimits(groups=1296, memory_bytes=16 << 30)
    plan = plan_launch(SHAPE, Incantation(), roomy)
    assert plan.rounds == GPU_ROUNDS
    assert plan.groups == 1296


def test_testing_groups_that_are_given_are_kept() -> None:
    assert plan_launch(SHAPE, Incantation(testing_groups=100), BIG, 1000).testing_groups == 100


def test_few_iterations_are_run_by_one_group_of_ctas() -> None:
    plan = plan_launch(SHAPE, Incantation(), BIG, 10)
    assert (plan.cta_groups, plan.rounds) == (1, 1)
