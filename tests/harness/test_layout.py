"""Where locations lie: every location has a word of its own, and lines are shared exactly when a layout says so."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudiy.harness.incantation import Incantation
from gpudiy.harness.launch_data import buffer_bytes, launch_bytes
from gpudiy.harness.launch_layout import LINE_BYTES, LaunchLayout, draw_layout
from gpudiy.harness.launch_plan import DeviceLimits, LaunchPlan, plan_launch
from gpudiy.harness.shape import shape_of
from gpudiy.litmus import read_test

TEXT = "GPU_PTX any\n{ }\nP0 | P1 ;\nst.cg.s32 [v0],1 | ld.cg.s32 r0,[v0] ;\n"
TREE = "scopeTree (device (kernel (cta P0) (cta P1)))\n"
SMALL = DeviceLimits(groups=8, group_size=64, warp_size=4)
TEST = read_test(f"{TEXT}{TREE}v0: global, v1: global\nexists (1:r0=1)")
PLAN = plan_launch(shape_of(TEST), Incantation(), SMALL)

PLANS = st.builds(
    lambda groups, rounds, batch, variables, word_bytes, strides: replace(
        PLAN, cta_groups=groups, warp_groups=1, lane_groups=1, rounds=rounds, batch=batch, variables=variables,
        word_bytes=word_bytes, strides=strides,
    ),
    groups=st.integers(1, 9),
    rounds=st.integers(1, 6),
    batch=st.integers(1, 4),
    variables=st.integers(1, 5),
    word_bytes=st.sampled_from([4, 8]),
    strides=st.one_of(st.just(PLAN.strides), st.integers(1, 40).map(lambda stride: (stride,))),
)  # fmt: skip
INCANTATIONS = st.builds(
    Incantation,
    randomisation=st.booleans(),
    location_spread=st.integers(1, 200),
    reuse_percent=st.sampled_from([0, 50, 100]),
)
DICE = st.integers(0, 1 << 32).map(random.Random)


def instances_by_place(plan: LaunchPlan, layout: LaunchLayout) -> dict[int, tuple[int, int]]:
    """The round and the instance group of each instance, as the kernels number them."""
    return {
        round * layout.round_step + group * layout.group_step + number * layout.instance_step: (round, group)
        for round in range(plan.rounds)
        for group in range(plan.instance_groups)
        for number in range(plan.batch)
    }


def offset_of(layout: LaunchLayout, instance: int, variable: int) -> int:
    return (instance ^ layout.masks[variable]) * layout.pitch + variable * layout.location_bytes


@given(PLANS, INCANTATIONS, DICE)
def test_every_location_has_its_own_word_in_the_buffer(
    plan: LaunchPlan, incantation: Incantation, dice: random.Random
) -> None:
    layout = draw_layout(plan, incantation, dice)
    instances = instances_by_place(plan, layout)
    assert set(instances) == set(range(plan.instances))
    places = [offset_of(layout, instance, variable) for instance in instances for variable in range(plan.variables)]
    assert len(set(places)) == len(places)
    assert all(place % plan.word_bytes == 0 for place in places)
    room = plan.slots * plan.variables * plan.location_bytes
    assert all(0 <= place <= room - plan.word_bytes for place in places)


@given(PLANS, INCANTATIONS, DICE)
def test_lines_are_shared_exactly_when_the_layout_says_so(
    plan: LaunchPlan, incantation: Incantation, dice: random.Random
) -> None:
    layout = draw_layout(plan, incantation, dice)
    lines = defaultdict(set)
    for instance in range(plan.instances):
        for variable in range(plan.variables):
            lines[offset_of(layout, instance, variable) // LINE_BYTES].add(instance)
    assert layout.near == any(len(instances) > 1 for instances in lines.values())


@given(PLANS, DICE)
def test_a_launch_that_reuses_lines_has_consecutive_rounds_in_them(plan: LaunchPlan, dice: random.Random) -> None:
    plan = replace(plan, rounds=16, batch=1, variables=2, strides=PLAN.strides)
    layout = draw_layout(plan, Incantation(reuse_percent=100), dice)
    assert layout.reuse and layout.near and layout.stride < 32
    instances = instances_by_place(plan, layout)
    lines = defaultdict(set)
    for instance, place in instances.items():
        lines[offset_of(layout, instance, 0) // LINE_BYTES].add(place)
    rounds = {(group, round) for places in lines.values() for round, group in places if (round + 1, group) in places}
    assert len(rounds) >= plan.instance_groups * plan.rounds // 2 - plan.instance_groups


def test_the_defaults_draw_near_and_far_strides_and_reuse_lines() -> None:
    plan = replace(PLAN, rounds=8)
    layouts = [draw_layout(plan, Incantation(), random.Random(seed)) for seed in range(200)]
    assert {layout.stride for layout in layouts} == {1, 2, 4, 8, 64}
    assert {layout.stride for layout in layouts if layout.reuse} == {1, 2}
    assert 60 < sum(layout.reuse for layout in layouts) < 140
    assert {layout.near for layout in layouts if layout.stride < 4} == {True}
    assert {layout.near for layout in layouts if layout.stride > 4} == {False}
    assert {layout.near for layout in layouts if layout.stride == 64} == {False}


@pytest.mark.parametrize("stride", [1, 3, 64])
def test_a_stride_that_is_given_is_used(stride: int) -> None:
    incantation = Incantation(location_stride=stride)
    plan = plan_launch(shape_of(TEST), incantation, SMALL)
    assert {draw_layout(plan, incantation, random.Random(seed)).stride for seed in range(20)} == {stride}


def test_a_layout_follows_from_the_seed_of_the_launch() -> None:
    shape, incantation = shape_of(TEST), Incantation()
    one, same, other = (launch_bytes(TEST, shape, PLAN, incantation, seed) for seed in (1, 1, 2))
    assert one == same != other
    assert buffer_bytes(shape, PLAN, incantation)["locations"] == PLAN.slots * PLAN.variables * PLAN.location_bytes
