"""Which thread runs what: the harness's own code, compiled for the host, must keep to the scope tree."""

from __future__ import annotations

import ctypes
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudiy.harness.host_build import compile_host
from gpudiy.harness.incantation import Incantation
from gpudiy.harness.launch_data import launch_bytes
from gpudiy.harness.launch_plan import DeviceLimits, Impossible, LaunchPlan, plan_launch
from gpudiy.harness.shape import Shape, shape_of
from gpudiy.harness.source import Dialect, prelude
from gpudiy.litmus import ScopeTree, read_test
from gpudiy.litmus.test import Test

NOBODY = 0xFFFFFFFF
PROBE = """
extern "C" void probe(const Launch *launch, u32 groups, u32 size, u32 kernel_number, u32 round, u32 *positions)
{
    Group group;
    group.size = size;
    for (u32 g = 0; g < groups; g++) {
        for (u32 t = 0; t < size; t++) {
            here = Here{g, groups, t, &group};
            u32 *const to = positions + 3 * (g * size + t);
            const Position position = find_position(launch, kernel_number, round);
            to[0] = group_position(launch) < launch->testing_groups ? position.test_thread : NOBODY;
            to[1] = position.instance_group;
            to[2] = position.home;
        }
    }
}
"""


@pytest.fixture(scope="session")
def probe(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    path = tmp_path_factory.mktemp("probe") / "probe.so"
    compile_host(prelude(Dialect.HOST) + PROBE, path)
    return ctypes.CDLL(str(path))


@st.composite
def placed_tests(draw: st.DrawFn) -> Test:
    """Tests of up to four threads anywhere in the scope tree."""
    threads = draw(st.integers(1, 4))
    placements: list[tuple[int, ...]] = []
    for unique in range(1, threads + 1):
        if placements and draw(st.booleans()):
            other = draw(st.sampled_from(placements))
            level = draw(st.integers(0, 5))  # how many inner levels are new
        else:
            other, level = None, 5
        fresh = tuple(100 * unique + number for number in range(5))
        placements.append(fresh if other is None else (*fresh[:level], *other[level:]))
    names = " | ".join(f"P{number}" for number in range(threads))
    rows = " | ".join("ld.cg.s32 r0,[x]" for _ in range(threads))
    tree = f"(device (kernel (cta {names.replace('|', '')})))"
    text = f"GPU_PTX any\n{{ }}\n{names} ;\n{rows} ;\nscopeTree {tree}\nx: global\nexists (0:r0=1)"
    from dataclasses import replace

    return replace(read_test(text), scope_tree=ScopeTree.of(placements))


LIMITS = st.builds(
    DeviceLimits,
    groups=st.integers(1, 40),
    group_size=st.sampled_from([8, 32, 64]),
    warp_size=st.sampled_from([1, 4, 8]),
    cluster_groups=st.integers(1, 4),
    kernels=st.integers(1, 4),
    devices=st.integers(1, 4),
)
INCANTATIONS = st.builds(
    Incantation,
    randomisation=st.booleans(),
    shuffle_percent=st.sampled_from([50, 100]),
    group_size=st.integers(0, 64),
    testing_groups=st.integers(0, 40),
    stress_groups=st.integers(0, 10),
    meet_every=st.integers(0, 3),
    instances=st.integers(0, 500),
)


@settings(max_examples=150)
@given(placed_tests(), LIMITS, INCANTATIONS, st.integers(0, 1 << 30))
def test_every_instance_has_every_thread_once_where_the_tree_puts_it(
    probe: ctypes.CDLL, test: Test, limits: DeviceLimits, incantation: Incantation, seed: int
) -> None:
    shape = shape_of(test)
    try:
        plan = plan_launch(shape, incantation, limits)
    except Impossible:
        return
    check_plan(plan, shape, limits)
    launch = launch_bytes(test, shape, plan, incantation, seed)
    for round in range(min(3, plan.rounds)):
        check_positions(test, shape, plan, positions_of(probe, launch, shape, plan, round))


Place = tuple[int, int, int, int, int]  # device, kernel_number, cluster, CTA, thread


def positions_of(
    probe: ctypes.CDLL, launch: bytes, shape: Shape, plan: LaunchPlan, round: int
) -> dict[tuple[int, int], list[Place]]:
    """Where each (instance group, thread of the test) is."""
    found: dict[tuple[int, int], list[Place]] = defaultdict(list)
    for kernel_number in range(shape.kernels):
        positions = (ctypes.c_uint32 * (3 * plan.groups * plan.group_size))()
        probe.probe(launch, plan.groups, plan.group_size, kernel_number, round, positions)
        for at in range(plan.groups * plan.group_size):
            test_thread, instance_group, _ = positions[3 * at : 3 * at + 3]
            if test_thread != NOBODY:
                group, thread = divmod(at, plan.group_size)
                found[instance_group, test_thread].append(
                    (shape.devices[kernel_number], kernel_number, group // plan.cluster_groups, group, thread)
                )
    return found


def check_positions(test: Test, shape: Shape, plan: LaunchPlan, positions: dict[tuple[int, int], list[Place]]) -> None:
    assert set(positions) == {
        (instance_group, test_thread)
        for instance_group in range(plan.instance_groups)
        for test_thread in range(shape.threads)
    }
    assert all(len(places) == 1 for places in positions.values())
    for instance_group in range(plan.instance_groups):
        places = [positions[instance_group, test_thread][0] for test_thread in range(shape.threads)]
        units = [(thread // plan.warp_size, *place[:4][::-1]) for *place, thread in places]
        found = ScopeTree.of((f, c, b, p, d) for f, c, b, p, d in _nested(units))
        assert found == test.scope_tree
        assert len(set(places)) == shape.threads


def _nested(units: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Numbers of units that are unique in the whole tree: a unit is named with all that is around it."""
    names: dict[tuple[int, ...], int] = {}
    return [tuple(names.setdefault((level, *unit[level:]), len(names)) for level in range(5)) for unit in units]


def check_plan(plan: LaunchPlan, shape: Shape, limits: DeviceLimits) -> None:
    sharing = max(shape.devices.count(device) for device in shape.devices)
    assert plan.groups * sharing <= limits.groups  # nobody waits for a CTA that cannot start
    assert plan.group_size <= limits.group_size
    assert plan.testing_groups <= plan.groups
    assert plan.testing_groups % (shape.clusters * shape.ctas) == 0
    assert plan.groups % plan.cluster_groups == 0
    assert plan.instances == plan.rounds * plan.batch * plan.instance_groups > 0


def test_threads_change_from_round_to_round(probe: ctypes.CDLL) -> None:
    test = read_test(
        "GPU_PTX SB\n{ }\nP0 | P1 ;\nst.cg.s32 [x],1 | ld.cg.s32 r0,[x] ;\n"
        "scopeTree (device (kernel (cta P0) (cta P1)))\nx: global\nexists (1:r0=1)"
    )
    shape = shape_of(test)
    incantation = Incantation(instances=1000)
    plan = plan_launch(shape, incantation, DeviceLimits(groups=8, warp_size=4, group_size=8))
    launch = launch_bytes(test, shape, plan, incantation, 7)
    dealt = [
        tuple(sorted((key, places[0]) for key, places in positions_of(probe, launch, shape, plan, round).items()))
        for round in range(16)
    ]
    assert len(set(dealt)) > 10
    still = Incantation(instances=1000, randomisation=False)
    launch = launch_bytes(test, shape, plan, still, 7)
    fixed = {
        tuple(sorted((key, places[0]) for key, places in positions_of(probe, launch, shape, plan, round).items()))
        for round in range(16)
    }
    assert len(fixed) == 1


@pytest.mark.parametrize(
    ("tree", "limits", "why"),
    [
        ("(device (kernel (cta P0) (cta P1)))", DeviceLimits(groups=1), "an instance needs 2 CTAs at the same time"),
        ("(device (kernel (cta P0 P1)))", DeviceLimits(groups=4, in_sequence=True), "threads of one CTA run one after"),
        (
            "(device (kernel (cta (warp P0 P1))))",
            DeviceLimits(groups=4, in_sequence=True),
            "threads of one warp run one",
        ),
        ("(device (kernel P0) (kernel P1))", DeviceLimits(groups=4), "its threads are in 2 kernels, 1 can run"),
        (
            "(system (device P0) (device P1))",
            DeviceLimits(groups=4),
            "its threads are on 2 devices, there is room for 1",
        ),
        ("(device (kernel (cluster (cta P0) (cta P1))))", DeviceLimits(groups=4), "a cluster of 2 CTAs does not fit"),
    ],
)
def test_impossible_placements_are_told(tree: str, limits: DeviceLimits, why: str) -> None:
    program = "GPU_PTX SB\n{ }\nP0 | P1 ;\nst.cg.s32 [x],1 | ld.cg.s32 r0,[x] ;\n"
    test = read_test(f"{program}scopeTree {tree}\nx: global\nexists (1:r0=1)")
    with pytest.raises(Impossible, match=why):
        plan_launch(shape_of(test), Incantation(), limits)


def test_the_same_seed_gives_the_same_launch() -> None:
    test = read_test(Path(__file__).parents[2].joinpath("docs/examples/sb.litmus").read_text())
    shape = shape_of(test)
    plan = plan_launch(shape, Incantation(), DeviceLimits(groups=8))
    one, same, other = (launch_bytes(test, shape, plan, Incantation(), seed) for seed in (1, 1, 2))
    assert one == same != other
