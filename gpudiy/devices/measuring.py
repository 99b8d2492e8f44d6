"""A run as launches: plan, launch and count until enough iterations are done. A launch that miscounts is a failure."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from gpudiy.devices.device import DeviceError, Observation
from gpudiy.harness.host_side import Counted
from gpudiy.harness.incantation import Incantation
from gpudiy.harness.launch_layout import draw_layout
from gpudiy.harness.launch_plan import Impossible, LaunchPlan
from gpudiy.litmus.outcome import Outcome
from gpudiy.logs.record import Ending, Liveness

MOST_SLOTS = 1 << 16  # of the table of outcomes
PATIENCE = 16  # launches in a row without one outcome, after which a test is given up


@dataclass(frozen=True, slots=True)
class Launcher:
    """How a device plans a launch of about so many iterations, and how it launches a plan with a seed."""

    plan: Callable[[int], LaunchPlan]
    launch: Callable[[LaunchPlan, int], Counted]


def measure(incantation: Incantation, iterations: int, seed: int, launcher: Launcher) -> Observation:
    """Run at least so many iterations; the same seed gives the same launches."""
    start = time.perf_counter()
    dice = random.Random(seed)
    by_launch: list[Mapping[Outcome, int]] = []
    layouts: Counter[str] = Counter()
    liveness: Liveness | None = None
    done, slots, barren = 0, 0, 0
    used: Incantation | None = None  # in the first launch: the last one may be smaller
    while done < iterations:
        try:
            plan = launcher.plan(iterations - done)
        except Impossible as reason:
            raise DeviceError(str(reason), Ending.NOT_RUNNABLE) from None
        plan = replace(plan, table_slots=max(plan.table_slots, slots))
        found, plan = observe_launch(incantation, launcher, plan, dice.getrandbits(32))
        layouts.update(found.layouts)
        slots = plan.table_slots
        used = used or found.incantation
        by_launch += found.by_launch
        liveness = found.liveness if liveness is None else liveness + found.liveness
        done += found.iterations
        barren = 0 if found.iterations else barren + 1
        if barren == PATIENCE:
            raise DeviceError(f"a loop was cut in every instance of {barren} launches", Ending.TIMEOUT)
    outcomes = sum((Counter(launch) for launch in by_launch), Counter())
    return Observation(
        dict(outcomes),
        liveness or Liveness(),
        time.perf_counter() - start,
        incantation=used,
        by_launch=by_launch,
        layouts=layouts,
    )


def observe_launch(
    incantation: Incantation, launcher: Launcher, plan: LaunchPlan, seed: int
) -> tuple[Observation, LaunchPlan]:
    """What one launch of a plan says, and the plan with a table that was large enough; raises `DeviceError`."""
    plan, counted = _launch_and_count(launcher, plan, seed)
    layout = draw_layout(plan, incantation, random.Random(seed))  # as the launch has drawn it
    found = Observation(
        counted.outcomes,
        _signs_of_life(counted, plan.instances if layout.near else 0),
        seconds=0.0,
        incantation=_describe_use(incantation, plan),
        by_launch=(counted.outcomes,),
        layouts={layout.name: 1},
    )
    return found, plan


def _signs_of_life(counted: Counted, near: int) -> Liveness:
    """The counters of one launch."""
    return Liveness(
        meetings=counted.meetings,
        timeouts=counted.timeouts,
        overlaps=counted.overlaps,
        stress_accesses=counted.stress_accesses,
        warmed=counted.warmed,
        near=near,
        discarded=counted.discarded,
        launches=1,
        timed=counted.timed,
        inversions=counted.inversions,
        skew=counted.skew,
    )


def _launch_and_count(launcher: Launcher, plan: LaunchPlan, seed: int) -> tuple[LaunchPlan, Counted]:
    """Launch a plan, with a table that is large enough for all outcomes; returns the changed plan and the counts."""
    counted = launcher.launch(plan, seed)
    while counted.overflow:
        if plan.table_slots >= MOST_SLOTS:
            raise DeviceError(f"it has more than {MOST_SLOTS:,} different outcomes")
        plan = replace(plan, table_slots=4 * plan.table_slots)
        counted = launcher.launch(plan, seed)
    if counted.finished_threads != plan.finished_threads:
        raise DeviceError(f"{counted.finished_threads:,} of {plan.finished_threads:,} threads finished")
    total = sum(counted.outcomes.values())
    if total + counted.discarded != plan.instances:
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
        location_stride=plan.strides[0] if len(plan.strides) == 1 else 0,
        instances=plan.instances,
    )
