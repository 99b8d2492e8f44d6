"""Launches on an adapter. Lavapipe ends all loops of a thread when they have made 65,535 passes together.

So a launch there has fewer rounds, and its threads wait for each other fewer times.
"""

from __future__ import annotations

from dataclasses import replace

from gpudiy.harness.incantation import Incantation
from gpudiy.harness.launch_plan import DeviceLimits, LaunchPlan, plan_launch
from gpudiy.harness.shape import Shape
from gpudiy.harness.wgsl_launch import ANY_PASSES

SOFTWARE_PASSES = 65_535  # of all loops of a thread
FIXED_PASSES = 24_000  # of them for loops whose passes are known before; the others are for loops that wait
SPARE_PASSES = 1_000
ROUND_PASSES = 8  # of a round itself, whatever its instances do
SOFTWARE_HELPERS = (64, 8)  # workgroups of reset and reduce, and their threads: each has few instances


def plan_on_adapter(
    shape: Shape, incantation: Incantation, limits: DeviceLimits, iterations: int, instance_passes: int
) -> LaunchPlan:
    """A launch of about so many iterations; a thread makes `instance_passes` passes of loops in an instance."""
    plan = plan_launch(shape, incantation, limits, iterations)
    if not limits.in_sequence:
        return plan
    groups, size = SOFTWARE_HELPERS
    plan = replace(plan, helper_groups=groups, helper_size=size)
    while plan.batch > 1 and _passes_of_round(plan, incantation, instance_passes) > FIXED_PASSES:
        plan = replace(plan, batch=plan.batch // 2)
    most = max(1, FIXED_PASSES // _passes_of_round(plan, incantation, instance_passes))
    return replace(plan, rounds=min(plan.rounds, most))


def passes_to_wait(plan: LaunchPlan, incantation: Incantation, limits: DeviceLimits, instance_passes: int) -> int:
    """How many passes the loops of a thread that wait may make in a launch."""
    if not limits.in_sequence:
        return ANY_PASSES
    fixed = plan.rounds * _passes_of_round(plan, incantation, instance_passes)
    return max(0, SOFTWARE_PASSES - SPARE_PASSES - fixed)


def _passes_of_round(plan: LaunchPlan, incantation: Incantation, instance_passes: int) -> int:
    stress = (incantation.pre_stress_iterations + 1) // 2
    shared = 2 * plan.shared_variables * plan.batch
    return ROUND_PASSES + stress + shared + plan.batch * (1 + instance_passes)
