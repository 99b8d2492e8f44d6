"""A run as launches: plan, launch and count until enough iterations are done. A launch that miscounts is a failure."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

from gpudiy.devices.device import DeviceError, Observation
from gpudiy.harness.host_side import Counted
from gpudiy.harness.incantation import Incantation
from gpudiy.harness.launch_plan import Impossible, LaunchPlan
from gpudiy.litmus.outcome import Outcome
from gpudiy.logs.record import Ending, Liveness

MOST_SLOTS = 1 << 16  # of the table of outcomes


@dataclass(frozen=True, slots=True)
class Launcher:
    """How a device plans a launch of about so many iterations, and how it launches a plan with a seed."""

    plan: Callable[[int], LaunchPlan]
    launch: Callable[[LaunchPlan, int], Counted]
    kernels: int = 1


def measure(incantation: Incantation, iterations: int, seed: int, launcher: Launcher) -> Observation:
    """Run at least so many iterations; the same seed gives the same launches."""
    start = time.perf_counter()
    dice = random.Random(seed)
    outcomes: Counter[Outcome] = Counter()
    liveness = Liveness()
    done, slots = 0, 0
    used: Incantation | None = None  # in the first launch: the last one may be smaller
    while done < iterations:
        try:
            plan = launcher.plan(iterations - done)
        except Impossible as reason:
            raise DeviceError(str(reason), Ending.NOT_RUNNABLE) from None
        plan = replace(plan, table_slots=max(plan.table_slots, slots))
        plan, counted = _launch_and_count(launcher, plan, dice.getrandbits(32))
        slots = plan.table_slots
        used = used or _describe_use(incantation, plan)
        outcomes.update(counted.outcomes)
        liveness += Liveness(counted.meetings, counted.timeouts, counted.overlaps, counted.stress_accesses)
        done += plan.instances
    return Observation(dict(outcomes), liveness, time.perf_counter() - start, incantation=used)


def _launch_and_count(launcher: Launcher, plan: LaunchPlan, seed: int) -> tuple[LaunchPlan, Counted]:
    """Launch a plan, with a table that is large enough for all outcomes; returns the changed plan and the counts."""
    counted = launcher.launch(plan, seed)
    while counted.overflow:
        if plan.table_slots >= MOST_SLOTS:
            raise DeviceError(f"it has more than {MOST_SLOTS:,} different outcomes")
        plan = replace(plan, table_slots=4 * plan.table_slots)
        counted = launcher.launch(plan, seed)
    threads = plan.testing_groups * plan.group_size * launcher.kernels
    if counted.finished_threads != threads:
        raise DeviceError(f"{counted.finished_threads:,} of {threads:,} threads finished")
    total = sum(counted.outcomes.values())
    if total != plan.instances:
        raise DeviceError(f"{plan.instances:,} instances gave {total:,} outcomes")
    return plan, counted


def _describe_use(incantation: Incantation, plan: LaunchPlan) -> Incantation:
    """The incantation as it was used: with what the device chose; stress is off if no thread could stress."""
    stress_groups = plan.groups - plan.testing_groups
    stressing = stress_groups and incantation.stress_percent and incantation.stress_iterations
    stressing_before = incantation.pre_stress_percent and incantation.pre_stress_iterations
    return replace(
        incantation,
        memory_stress=bool(incantation.memory_stress and (stressing or stressing_before)),
        testing_groups=plan.testing_groups,
        group_size=plan.group_size,
        stress_groups=stress_groups,
        meet_every=plan.batch,
        spin_limit=plan.spin_limit,
        location_stride=plan.location_bytes // 4,
        instances=plan.instances,
    )
