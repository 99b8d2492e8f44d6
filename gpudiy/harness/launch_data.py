"""The bytes of a launch: the struct `Launch` that its kernels read, and the sizes of its buffers."""

from __future__ import annotations

import random
from collections.abc import Sequence

from gpudiy.harness.host_side import COUNTERS, LAUNCH_BYTES, NEARBY_BYTES, NOBODY, pack_launch, table_bytes
from gpudiy.harness.incantation import Incantation, StressPattern
from gpudiy.harness.launch_layout import LaunchLayout, draw_layout
from gpudiy.harness.launch_plan import BANKS, LaunchPlan
from gpudiy.harness.loop_bounds import bound_loops
from gpudiy.harness.shape import Shape, variable_types
from gpudiy.litmus.condition import AddressOf, FinalVariable
from gpudiy.litmus.test import Test

LINES_TO_CHOOSE = 16  # of the scratchpad, for each line that a launch stresses
PATTERNS = tuple(StressPattern)
LONGEST_DELAYS = (0, 0, 100, 1000)  # nanoseconds, of the threads of one warp

LaunchValues = dict[str, int | Sequence[int]]  # by the names of `LAUNCH_FIELDS`


def launch_bytes(
    test: Test, shape: Shape, plan: LaunchPlan, incantation: Incantation, seed: int, constants: Sequence[int] = ()
) -> bytes:
    """The struct `Launch` of a launch of the plan; the same seed gives the same bytes.

    `constants` are those of the rendered test, which CUDA takes at run time.
    """
    return pack_launch({**launch_values(test, shape, plan, incantation, seed), "constants": constants})


def host_launch_bytes(values: LaunchValues) -> bytes:
    """The same launch for the threads on the host: a CTA is one thread there, and does not stress."""
    return pack_launch({**values, "warp_size": 1, "stress_percent": 0, "pre_stress_percent": 0})


def launch_values(test: Test, shape: Shape, plan: LaunchPlan, incantation: Incantation, seed: int) -> LaunchValues:
    """The values of the fields of `Launch`, by their names."""
    test = bound_loops(test) if shape.cut_flags else test
    dice = random.Random(seed)
    shuffle = incantation.shuffle_percent if incantation.randomisation else 0
    layout = draw_layout(plan, incantation, dice)
    return {
        "seed": dice.getrandbits(32),
        "stress_line_at": [
            line * incantation.stress_line_size
            for line in dice.sample(range(LINES_TO_CHOOSE * incantation.stress_lines), incantation.stress_lines)
        ],
        "delays": _delays(dice, shape),
        "shuffle_percent": shuffle,
        **_test_fields(test, shape),
        **_plan_fields(plan),
        **_layout_fields(layout),
        **_incantation_fields(incantation),
    }


def _delays(dice: random.Random, shape: Shape) -> list[int]:
    """How long threads in lanes of one warp sleep: often not at all, so that they begin close together."""
    longest = dice.choice(LONGEST_DELAYS)
    return [dice.randint(0, longest) if shape.interleaves else 0 for _ in shape.places]


def _test_fields(test: Test, shape: Shape) -> LaunchValues:
    thread_at = [NOBODY] * (shape.kernels * shape.clusters * shape.ctas * shape.warps * shape.lanes)
    for thread, place in enumerate(shape.places):
        thread_at[shape.place_number(place)] = thread
    initial = [test.initial_value(name) for name in shape.variables]
    return {
        "initial_value": [_bits(test, name, value) for name, value in zip(shape.variables, initial, strict=True)],
        "initial_address": [
            1 + shape.variables.index(value.variable) if isinstance(value, AddressOf) else 0 for value in initial
        ],
        "shared_initial": [_bits(test, name, test.initial_value(name)) for name in shape.shared],
        "shared_row": [1 + row if row is not None else 0 for row in _shared_rows(test, shape)],
        "shared_home": shape.shared_homes,
        "sources": [1 + row.row if row.row is not None else 0x100 + (row.variable or 0) for row in shape.observed],
        "thread_at": thread_at,
        "threads": shape.threads,
        "devices": len(set(shape.devices)),
        "places_clusters": shape.clusters,
        "places_warps": shape.warps,
        "places_lanes": shape.lanes,
        "wide": int(shape.wide),
        "addresses": int(shape.addresses),
        "variables": len(shape.variables),
        "shared_variables": len(shape.shared),
        "observed": len(shape.observed),
        "rows": shape.rows,
        "first_row": shape.first_rows,
        "earlier": [0 if one is None else 1 + one for one in test.scope_tree.earlier_threads()],
        "timed": int(shape.timed),
    }


def _plan_fields(plan: LaunchPlan) -> LaunchValues:
    same_names = (
        "rounds", "batch", "instance_groups", "instances", "testing_groups", "cluster_groups", "warp_size",
        "cta_groups", "warp_groups", "lane_groups", "shared_stride", "table_slots", "spin_limit",
    )  # fmt: skip
    return {
        **{name: getattr(plan, name) for name in same_names},
        "shared_stress_at": plan.shared_test_bytes // 4,
        "finished_threads": plan.finished_threads,
    }


def _layout_fields(layout: LaunchLayout) -> LaunchValues:
    names = ("masks", "location_bytes", "pitch", "round_step", "group_step", "instance_step", "era_mask")
    return {name: getattr(layout, name) for name in names}


def _incantation_fields(incantation: Incantation) -> LaunchValues:
    stressed = incantation.memory_stress
    return {
        "warm_percent": incantation.warm_percent,
        "barrier_percent": incantation.barrier_percent if incantation.synchronisation else 0,
        "stress_percent": incantation.stress_percent if stressed else 0,
        "stress_iterations": incantation.stress_iterations,
        "stress_pattern": PATTERNS.index(incantation.stress_pattern),
        "stress_lines": incantation.stress_lines,
        "stress_line_size": incantation.stress_line_size,
        "stress_lane_stride": BANKS if incantation.bank_conflicts else 1,
        "shared_stress_percent": incantation.shared_stress_percent if stressed else 0,
        "pre_stress_percent": incantation.pre_stress_percent if stressed else 0,
        "pre_stress_iterations": incantation.pre_stress_iterations,
        "pre_stress_pattern": PATTERNS.index(incantation.pre_stress_pattern),
    }


def buffer_bytes(shape: Shape, plan: LaunchPlan, incantation: Incantation) -> dict[str, int]:
    """The size of each buffer, by name."""
    lanes = plan.warp_size * (BANKS if incantation.bank_conflicts else 1)
    return {
        "launch": LAUNCH_BYTES,
        "locations": max(8, plan.slots * len(shape.variables) * plan.location_bytes),
        "results": max(8, shape.rows * plan.instances * shape.word_bytes),
        "meetings": 4 * plan.rounds * plan.instance_groups,
        "scratchpad": 4 * (LINES_TO_CHOOSE * incantation.stress_lines * incantation.stress_line_size + lanes),
        "counters": 4 * len(COUNTERS),
        "table": table_bytes(shape, plan.table_slots),
    }


def helper_shared_bytes() -> int:
    """The shared memory that `reset` and `reduce` need."""
    return NEARBY_BYTES


def _shared_rows(test: Test, shape: Shape) -> list[int | None]:
    found = {
        item.name: row.row
        for item, row in zip(test.observed, shape.observed, strict=True)
        if isinstance(item, FinalVariable)
    }
    return [found.get(name) for name in shape.shared]


def _bits(test: Test, name: str, value: int | AddressOf) -> int:
    """An initial value as the bits of its location; the device computes addresses itself."""
    if isinstance(value, AddressOf):
        return 0
    type = variable_types(test).get(name)
    return value % (1 << (64 if type is None else type.bits))
