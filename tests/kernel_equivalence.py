"""Whether changed kernels do anything else than the original ones: both run on launches that the check does not have.

Nothing here knows what kernels should do: the original machine code says it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import numpy as np

from gpudiy.harness.host_side import COUNTERS, NOBODY
from gpudiy.harness.kernel_check import CLUSTER_KERNEL, put_addresses
from gpudiy.harness.kernel_launches import (
    TESTS,
    LaunchCase,
    make_reduces,
    make_resets,
    place_locations,
    place_shared_stress,
)
from gpudiy.harness.kernel_machine import KernelMachine
from gpudiy.harness.kernel_meaning import COUNT, WORD, Launch, location_offset
from gpudiy.harness.kernel_plans import (
    SCRATCHPAD_WORDS,
    number_instances,
    plan_lines,
    plan_places,
    plan_shared,
    plan_warming,
)
from optcheck.lane_memory import MachineFailure
from optcheck.listing import SassFunction
from optcheck.machine_abi import MachineAbi

FIRST_SEED = 100_000  # the check begins at 1
WIDTHS = (1, 2, 3, 4, 5, 8, 12, 31, 32)  # of warps
VALUES = (0, 1, 2, 1 << 31, WORD, 1 << 32, 1 << 63, (1 << 64) - 1)
SLOTS = 8  # of locations, for each variable


def find_difference(
    original: Sequence[SassFunction],
    changed: Sequence[SassFunction],
    abi: MachineAbi,
    banks: dict[int, bytes],
    kernel: str,
    seeds: int,
) -> str:
    """What differs between two modules in some launches of a kernel; empty if nothing does."""
    for seed in range(FIRST_SEED, FIRST_SEED + seeds):
        cases = list(make_other_cases(Random(seed), kernel))
        events, words = run_cases(original, abi, banks, cases, seed)
        try:
            other_events, other_words = run_cases(changed, abi, banks, cases, seed)
        except MachineFailure as failure:
            return failure.why
        if not np.array_equal(events, other_events):
            return "threads do something else"
        if not np.array_equal(words, other_words):
            return "memory differs"
    return ""


def run_cases(
    functions: Sequence[SassFunction], abi: MachineAbi, banks: dict[int, bytes], cases: Sequence[LaunchCase], seed: int
) -> tuple[Any, Any]:
    """What each thread did, and what is in memory at the end."""
    machine = KernelMachine(functions, abi, banks, Random(seed))
    machine.place(cases)
    for number, case in enumerate(cases):
        if case.kernel == "reduce":
            put_addresses(machine, number, case)
    run = machine.run(cases, False)
    return run.events.all, machine.memory.words


def make_other_cases(dice: Random, kernel: str) -> Iterator[LaunchCase]:
    """Launches of other sizes and with other values, in which no thread meets another."""
    if kernel == "reset":
        yield from (_other_reset(dice, case) for case in make_resets(dice))
    elif kernel == "reduce":
        yield from (_other_reduce(dice, case) for case in make_reduces(dice))
    else:
        cluster = int(kernel.removeprefix(CLUSTER_KERNEL)) if kernel.startswith(CLUSTER_KERNEL) else 1
        yield from (_other_run(dice, kernel, cluster) for _ in range(60))


def _other_reset(dice: Random, case: LaunchCase) -> LaunchCase:
    fields = {**case.launch.fields, "instances": dice.randint(0, SLOTS), "rounds": dice.randint(0, 9)}
    fields |= {"instance_groups": dice.randint(1, 9), "table_slots": 1 << dice.randint(0, 7)}
    case.launch, case.groups, case.size = Launch(fields), dice.randint(1, 4), dice.choice((1, 3, 31, 32, 33, 70))
    case.meetings = _words(dice, case.launch.rounds * case.launch.instance_groups + 3)
    case.table = _words(dice, 2 * case.launch.table_slots + 8)
    return case


def _other_reduce(dice: Random, case: LaunchCase) -> LaunchCase:
    instances, slots = dice.randint(1, SLOTS), 1 << dice.randint(0, 5)
    case.launch = launch = Launch({**case.launch.fields, "instances": instances, "table_slots": slots})
    width = 2 if launch.wide else 1
    case.results = _values(dice, launch.rows * instances, width)
    for instance in range(instances):
        for variable in range(launch.variables):
            place = case.word_at(location_offset(launch, instance, variable))
            case.locations[place : place + width] = _values(dice, 1, width)
    case.table = [0] * (2 * slots * (1 + launch.observed))
    return case


def _values(dice: Random, count: int, width: int) -> list[int]:
    """Values of which many are equal, or differ in one bit."""
    some = dice.sample(VALUES, 3)
    values = [dice.choice(some) ^ (1 << dice.randrange(64) if dice.random() < 0.2 else 0) for _ in range(count)]
    return [half for value in values for half in (value & WORD, value >> 32)[:width]]


def _other_run(dice: Random, kernel: str, cluster: int) -> LaunchCase:
    plan = plan_places(dice, cluster, dice.choice(WIDTHS), dice.randint(1, 3))
    places = [NOBODY] * len(plan["thread_at"])
    places[dice.randrange(plan["own"], len(places))] = dice.getrandbits(31)
    fields = {
        **plan,
        **plan_shared(dice, plan, dice.choice((0, 0, 1, 2, 3, 4))),
        **plan_warming(dice),
        "thread_at": places,
    }
    fields |= {name: dice.choice((0, 100, dice.randint(0, 100))) for name in PERCENTAGES}
    fields |= {name: dice.choice((dice.randint(0, 9), dice.randint(0, 150))) for name in ITERATIONS}
    fields |= {
        name: dice.choice((0, 1, 2, 3, dice.getrandbits(32))) for name in ("stress_pattern", "pre_stress_pattern")
    }
    fields |= {
        **plan_lines(dice, dice.randint(1, 40)),
        "stress_lane_stride": dice.randint(0, 5),
        "rounds": dice.randint(0, 4),
        "batch": dice.randint(1, 5),
        "threads": dice.randint(1, 9),
        "finished_threads": dice.choice((0, WORD, WORD)),
        "spin_limit": dice.randint(0, 3),
        "devices": dice.randint(0, 3),
    }
    fields |= number_instances(dice, fields)
    size, number = fields.pop("group_size"), fields.pop("kernel_number")
    del fields["own"]
    launch = Launch(fields)
    groups = launch.testing_groups + launch.cluster_groups * dice.choice((0, 1, 3))
    case = LaunchCase(kernel, launch, groups, size, number, dice.randrange(TESTS), dice.getrandbits(64), cluster)
    place_shared_stress(case)
    case.scratchpad = SCRATCHPAD_WORDS + 32 * launch.stress_lane_stride
    case.meetings = [
        dice.choice((dice.getrandbits(32), launch.threads - 1, (launch.threads - 1) * 0x101))
        for _ in range(launch.rounds * launch.instance_groups)
    ]
    case.counters = [dice.choice((0, WORD, dice.getrandbits(32))) for _ in COUNTERS]
    case.counters[COUNT["finished"]] = 0
    case.results = _words(dice, 2 * launch.rows * launch.rounds * launch.batch * launch.instance_groups)
    place_locations(dice, case)
    return case


PERCENTAGES = (
    "stress_percent",
    "shared_stress_percent",
    "pre_stress_percent",
    "shuffle_percent",
    "barrier_percent",
    "warm_percent",
)
PATTERNS = ("stress_pattern", "pre_stress_pattern")
ITERATIONS = ("stress_iterations", "pre_stress_iterations")


def _words(dice: Random, count: int) -> list[int]:
    return [dice.getrandbits(32) for _ in range(count)]
