"""The bytes of a launch: the struct `Launch` that its kernels read, and the sizes of its buffers."""

from __future__ import annotations

import random
from collections.abc import Sequence

from gpudiy.harness.host_side import COUNTERS, LAUNCH_BYTES, NEARBY_BYTES, NOBODY, pack_launch, table_bytes
from gpudiy.harness.incantation import Incantation, StressPattern
from gpudiy.harness.launch_plan import LaunchPlan
from gpudiy.harness.shape import Shape, variable_types
from gpudiy.litmus.condition import AddressOf, FinalVariable
from gpudiy.litmus.test import Test

BANKS = 32  # of shared memory
PATTERNS = tuple(StressPattern)

LaunchValues = dict[str, int | Sequence[int]]  # by the names of `LAUNCH_FIELDS`


def launch_bytes(
    test: Test, shape: Shape, plan: LaunchPlan, incantation: Incantation, seed: int, constants: Sequence[int] = ()
) -> bytes:
    """The struct `Launch` of a launch of the plan; the same seed gives the same bytes.

    `constants` are those of the rendered test, which CUDA takes at run time.
    """
    dice = random.Random(seed)
    shuffle = incantation.shuffle_percent if incantation.randomisation else 0
    spread = min(plan.slots, 1 << (incantation.location_spread.bit_length() - 1)) if shuffle else 1
    return pack_launch(
        {
            "masks": [0, *(dice.randrange(spread) for _ in shape.variables[1:])],
            "seed": dice.getrandbits(32),
            "constants": constants,
            "shuffle_percent": shuffle,
            **_test_fields(test, shape),
            **_plan_fields(shape, plan),
            **_incantation_fields(incantation),
        }
    )


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
    }


def _plan_fields(shape: Shape, plan: LaunchPlan) -> LaunchValues:
    same_names = (
        "rounds", "batch", "instance_groups", "instances", "testing_groups", "cluster_groups", "warp_size",
        "cta_groups", "warp_groups", "lane_groups", "location_bytes", "shared_stride", "table_slots", "spin_limit",
    )  # fmt: skip
    return {
        **{name: getattr(plan, name) for name in same_names},
        "finished_threads": plan.testing_groups * plan.group_size * shape.kernels,
        "pitch": len(shape.variables) * plan.location_bytes,
    }


def _incantation_fields(incantation: Incantation) -> LaunchValues:
    stressed = incantation.memory_stress
    return {
        "barrier_percent": incantation.barrier_percent if incantation.synchronisation else 0,
        "stress_percent": incantation.stress_percent if stressed else 0,
        "stress_iterations": incantation.stress_iterations,
        "stress_pattern": PATTERNS.index(incantation.stress_pattern),
        "stress_lines": incantation.stress_lines,
        "stress_line_size": incantation.stress_line_size,
        "stress_lane_stride": BANKS if incantation.bank_conflicts else 1,
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
        "scratchpad": 4 * (incantation.stress_lines * incantation.stress_line_size + lanes),
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
