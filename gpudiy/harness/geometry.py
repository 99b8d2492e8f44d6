"""From a test, an incantation and the limits of a device to a `Plan`: how many CTAs, threads, teams and instances.

At every level of the scope tree units are dealt out to teams: a team has one unit for each place an instance needs
there, the unit number u plays place u // teams for team u % teams. So units far apart work together, each instance has
every role exactly once, and two roles never fall on one thread.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from gpudiy.harness.host_side import COUNTERS, LAUNCH_BYTES, NEARBY_BYTES, NOBODY, pack_launch, table_bytes
from gpudiy.harness.incantation import Incantation, StressPattern
from gpudiy.harness.shape import Shape
from gpudiy.litmus.condition import AddressOf
from gpudiy.litmus.test import Test

BANKS = 32
PATTERNS = tuple(StressPattern)
DEFAULT_SLOTS = 256
MOST_INSTANCES = 1 << 26


@dataclass(frozen=True, slots=True)
class Limits:
    """What a device can hold at the same time.

    `groups` are the CTAs that run at once, in all kernels of a device together; `in_sequence` says that the threads of
    a CTA run one after another, as on a CPU.
    """

    groups: int
    group_size: int = 1024
    warp_size: int = 32
    cluster_groups: int = 1
    kernels: int = 1
    devices: int = 1
    shared_bytes: int = 48 << 10
    memory_bytes: int = 256 << 20
    in_sequence: bool = False


class Impossible(Exception):
    """The device cannot place the test; the message says why."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A launch. `groups` CTAs of `group_size` threads in each part, of which `testing_groups` run instances."""

    groups: int
    group_size: int
    testing_groups: int
    cluster_groups: int
    warp_size: int
    constellations: int
    warp_teams: int
    lane_teams: int
    batch: int
    rounds: int
    location_bytes: int
    shared_stride: int
    shared_bytes: int
    table_slots: int
    spin_limit: int
    helper_groups: int  # of reset and reduce
    helper_size: int

    @property
    def teams(self) -> int:
        return self.constellations * self.warp_teams * self.lane_teams

    @property
    def instances(self) -> int:
        return self.rounds * self.batch * self.teams

    @property
    def slots(self) -> int:
        """Places for the locations of an instance: a power of two, for masks to permute them."""
        return 1 << max(0, self.instances - 1).bit_length()


def plan_launch(shape: Shape, incantation: Incantation, limits: Limits, iterations: int | None = None) -> Plan:
    """How to run the test: about `iterations` instances in a launch, no more than the incantation and memory allow."""
    parts = _parts_on_a_device(shape, limits)
    warp_size = 1 if limits.in_sequence else limits.warp_size
    group_size = _group_size(shape, incantation, limits, warp_size)
    testing, stress = _groups(shape, incantation, limits, parts)
    warp_teams = group_size // warp_size // shape.warps
    lane_teams = warp_size // shape.lanes
    constellations = testing // (shape.ctas * shape.clusters)
    teams = constellations * warp_teams * lane_teams
    word = 8 if shape.wide else 4
    stride = incantation.location_stride or (1 if limits.in_sequence else 64)
    batch = incantation.meet_every or (64 if limits.in_sequence else 1)
    shared_stride = 1
    if shape.shared:
        room = limits.shared_bytes // (8 * len(shape.shared) * warp_teams * lane_teams)
        if room < 1:
            raise Impossible("the shared variables of a CTA's instances do not fit its shared memory")
        batch = min(batch, room)
        shared_stride = max(1, min(stride * word // 8, room // batch))
    footprint = max(1, len(shape.variables)) * stride * word + shape.rows * word
    most = max(teams * batch, min(MOST_INSTANCES, limits.memory_bytes // (2 * footprint)))
    wanted = incantation.instances or (1 << 18 if limits.in_sequence else 16 * teams * batch)
    if iterations is not None:
        wanted = min(wanted, iterations)
    rounds = max(1, min(-(-wanted // (teams * batch)), most // (teams * batch)))
    return Plan(
        testing + stress,
        group_size,
        testing,
        shape.ctas,
        warp_size,
        constellations,
        warp_teams,
        lane_teams,
        batch,
        rounds,
        stride * word,
        shared_stride,
        8 * shared_stride * len(shape.shared) * warp_teams * lane_teams * batch,
        DEFAULT_SLOTS,
        incantation.spin_limit or (1 << 13 if limits.in_sequence else 4096),
        limits.groups if limits.in_sequence else max(1, limits.groups),
        1 if limits.in_sequence else min(256, limits.group_size),
    )


def _parts_on_a_device(shape: Shape, limits: Limits) -> int:
    """How many parts share a device, at most."""
    devices = len(set(shape.devices))
    if devices > limits.devices:
        raise Impossible(f"its threads are on {devices} devices, there is room for {limits.devices}")
    parts = max(shape.devices.count(device) for device in shape.devices)
    if parts > limits.kernels:
        raise Impossible(f"its threads are in {parts} kernels, {limits.kernels} can run at the same time")
    if shape.ctas > limits.cluster_groups and shape.ctas > 1:
        raise Impossible(f"a cluster of {shape.ctas} CTAs does not fit: {limits.cluster_groups} is the most here")
    return parts


def _group_size(shape: Shape, incantation: Incantation, limits: Limits, warp_size: int) -> int:
    if shape.lanes > warp_size or (limits.in_sequence and shape.warps > 1):
        together = "warp" if shape.lanes > 1 else "CTA"
        raise Impossible(f"threads of one {together} run one after another here")
    smallest = shape.warps * warp_size
    if smallest > limits.group_size:
        raise Impossible(f"a CTA of {smallest} threads does not fit: {limits.group_size} is the most here")
    if limits.in_sequence:
        return 1
    wanted = incantation.group_size or max(128, smallest)
    wanted = min(wanted, limits.group_size)
    return max(smallest, wanted // warp_size * warp_size)


def _groups(shape: Shape, incantation: Incantation, limits: Limits, parts: int) -> tuple[int, int]:
    """Testing and stressing CTAs of a part: a whole number of constellations, all of them running at once."""
    needed = shape.clusters * shape.ctas
    room = limits.groups // parts
    if needed > room:
        total = needed * parts
        raise Impossible(f"an instance needs {total} CTAs at the same time, the device runs {limits.groups}")
    stress = 0
    if incantation.memory_stress and incantation.stress_percent and not limits.in_sequence:
        stress = incantation.stress_groups or room // 4
    stress = min(stress, room - needed) // shape.ctas * shape.ctas
    testing = min(incantation.testing_groups or room, room - stress)
    return max(needed, testing // needed * needed), stress


def launch_bytes(
    test: Test, shape: Shape, plan: Plan, incantation: Incantation, seed: int, constants: Sequence[int] = ()
) -> bytes:
    """The struct `Launch` of a launch of the plan; the same seed gives the same bytes.

    `constants` are those of the test's `KernelSource`, which CUDA takes at run time.
    """
    dice = random.Random(seed)
    shuffle = incantation.shuffle_percent if incantation.randomisation else 0
    spread = min(plan.slots, 1 << (incantation.location_spread.bit_length() - 1)) if shuffle else 1
    thread_at = [NOBODY] * (shape.parts * shape.clusters * shape.ctas * shape.warps * shape.lanes)
    for thread, place in enumerate(shape.places):
        thread_at[shape.place_number(place)] = thread
    initial = [test.initial_value(name) for name in shape.variables]
    stressed = incantation.memory_stress
    return pack_launch(
        {
            "initial_value": [_bits(test, name, value) for name, value in zip(shape.variables, initial, strict=True)],
            "initial_address": [
                1 + shape.variables.index(value.variable) if isinstance(value, AddressOf) else 0 for value in initial
            ],
            "shared_initial": [_bits(test, name, test.initial_value(name)) for name in shape.shared],
            "constants": constants,
            "masks": [0, *(dice.randrange(spread) for _ in shape.variables[1:])],
            "shared_row": [1 + row if row is not None else 0 for row in _shared_rows(test, shape)],
            "shared_home": shape.shared_homes,
            "sources": [1 + row.row if row.row is not None else 0x100 + (row.variable or 0) for row in shape.observed],
            "thread_at": thread_at,
            "seed": dice.getrandbits(32),
            "rounds": plan.rounds,
            "batch": plan.batch,
            "teams": plan.teams,
            "instances": plan.instances,
            "threads": shape.threads,
            "devices": len(set(shape.devices)),
            "testing_groups": plan.testing_groups,
            "finished_threads": plan.testing_groups * plan.group_size * shape.parts,
            "cluster_groups": plan.cluster_groups,
            "warp_size": plan.warp_size,
            "places_clusters": shape.clusters,
            "places_warps": shape.warps,
            "places_lanes": shape.lanes,
            "constellations": plan.constellations,
            "warp_teams": plan.warp_teams,
            "lane_teams": plan.lane_teams,
            "wide": int(shape.wide),
            "addresses": int(shape.addresses),
            "variables": len(shape.variables),
            "pitch": len(shape.variables) * plan.location_bytes,
            "location_bytes": plan.location_bytes,
            "shared_variables": len(shape.shared),
            "shared_stride": plan.shared_stride,
            "observed": len(shape.observed),
            "rows": shape.rows,
            "table_slots": plan.table_slots,
            "shuffle_percent": shuffle,
            "barrier_percent": incantation.barrier_percent if incantation.synchronisation else 0,
            "spin_limit": plan.spin_limit,
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
    )


def buffer_bytes(shape: Shape, plan: Plan, incantation: Incantation) -> dict[str, int]:
    """How large each buffer must be, by name."""
    word = 8 if shape.wide else 4
    lanes = plan.warp_size * (BANKS if incantation.bank_conflicts else 1)
    return {
        "launch": LAUNCH_BYTES,
        "locations": max(8, plan.slots * len(shape.variables) * plan.location_bytes),
        "results": max(8, shape.rows * plan.instances * word),
        "meetings": 4 * plan.rounds * plan.teams,
        "scratchpad": 4 * (incantation.stress_lines * incantation.stress_line_size + lanes),
        "counters": 4 * len(COUNTERS),
        "table": table_bytes(shape, plan.table_slots),
    }


def helper_shared_bytes() -> int:
    """The shared memory that `reset` and `reduce` need."""
    return NEARBY_BYTES


def _shared_rows(test: Test, shape: Shape) -> list[int | None]:
    from gpudiy.litmus.condition import FinalVariable

    found = {
        item.name: row.row
        for item, row in zip(test.observed, shape.observed, strict=True)
        if isinstance(item, FinalVariable)
    }
    return [found.get(name) for name in shape.shared]


def _bits(test: Test, name: str, value: int | AddressOf) -> int:
    """An initial value as the bits of its location; an address is made on the device."""
    if isinstance(value, AddressOf):
        return 0
    from gpudiy.harness.shape import variable_types

    type = variable_types(test).get(name)
    return value % (1 << (64 if type is None else type.bits))
