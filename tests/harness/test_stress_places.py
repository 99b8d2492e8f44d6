"""Where stress goes: other lines in every launch, all inside the scratchpad, and no word of a test."""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from gpudiy.harness.frame import OFFSETS
from gpudiy.harness.incantation import Incantation
from gpudiy.harness.launch_data import buffer_bytes, launch_bytes
from gpudiy.harness.launch_plan import DeviceLimits, plan_launch
from gpudiy.harness.shape import shape_of
from gpudiy.litmus import read_test

TEST = read_test(
    "GPU_PTX SB\n{ }\nP0 | P1 ;\nst.cg.s32 [x],1 | ld.cg.s32 r0,[x] ;\nst.cg.s32 [s],1 | ld.cg.s32 r1,[s] ;\n"
    "scopeTree (device (kernel (cta (warp P0) (warp P1))))\nx: global, s: shared\nexists (1:r0=1 /\\ 1:r1=1)"
)
SHAPE, LIMITS = shape_of(TEST), DeviceLimits(groups=8)
INCANTATIONS = st.builds(
    Incantation,
    bank_conflicts=st.booleans(),
    stress_lines=st.integers(1, 64),
    stress_line_size=st.integers(1, 300),
    shared_stress_percent=st.sampled_from([0, 25, 100]),
    memory_stress=st.booleans(),
)


def read_words(launch: bytes, name: str, count: int = 1) -> tuple[int, ...]:
    return struct.unpack_from(f"<{count}I", launch, dict(OFFSETS)[name])


@given(INCANTATIONS, st.integers(0, 1 << 32))
def test_stressed_words_are_inside_the_scratchpad_and_behind_the_tests(incantation: Incantation, seed: int) -> None:
    plan = plan_launch(SHAPE, incantation, LIMITS)
    launch = launch_bytes(TEST, SHAPE, plan, incantation, seed)
    lines = read_words(launch, "stress_line_at", incantation.stress_lines)
    assert len(set(lines)) == incantation.stress_lines
    assert all(line % incantation.stress_line_size == 0 for line in lines)
    (lane_stride,) = read_words(launch, "stress_lane_stride")
    last = max(lines) + (plan.warp_size - 1) * lane_stride
    assert 4 * (last + 1) <= buffer_bytes(SHAPE, plan, incantation)["scratchpad"]
    (start,), (percent,) = read_words(launch, "shared_stress_at"), read_words(launch, "shared_stress_percent")
    assert 4 * start == plan.shared_test_bytes > 0
    if percent:
        assert 4 * (start + (plan.warp_size - 1) * lane_stride + 1) <= plan.shared_bytes <= LIMITS.shared_bytes


def test_every_launch_stresses_other_lines() -> None:
    incantation = Incantation()
    plan = plan_launch(SHAPE, incantation, LIMITS)
    drawn = {
        read_words(launch_bytes(TEST, SHAPE, plan, incantation, seed), "stress_line_at", incantation.stress_lines)
        for seed in range(50)
    }
    assert len(drawn) > 45
