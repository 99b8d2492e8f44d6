"""From a test, an incantation and the limits of a device to a `LaunchPlan`: how many CTAs, threads and instances.

At every level of the scope tree units are assigned to groups: a group has one unit for each place that an instance
needs there; unit u gets place u // groups in group u % groups. So the threads of an instance are far apart, each
instance has every thread of the test exactly once, and no thread of the device runs two of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpudiy.harness.incantation import Incantation
from gpudiy.harness.shape import Shape

DEFAULT_SLOTS = 256  # of the table of outcomes
MOST_INSTANCES = 1 << 26
HELPER_THREADS = 256  # of a CTA of reset and reduce
FEWEST_THREADS = 128  # of a CTA, unless the incantation says another size


@dataclass(frozen=True, slots=True)
class DeviceLimits:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchPlan:
    """A launch: each kernel has `groups` CTAs of `group_size` threads, of which `testing_groups` run instances.

    `cta_groups` sets of clusters, `warp_groups` sets of warps in a CTA and `lane_groups` sets of lanes in a warp run
    instances side by side.
    """

    groups: int
    group_size: int
    testing_groups: int
    cluster_groups: int
    warp_size: int
    cta_groups: int
    warp_groups: int
    lane_groups: int
    batch: int
    rounds: int
    location_bytes: int
    shared_variables: int
    shared_stride: int
    spin_limit: int
    helper_groups: int  # of reset and reduce
    helper_size: int
    table_slots: int

    @property
    def instance_groups(self) -> int:
        """Instances that run side by side."""
        return self.cta_groups * self.warp_groups * self.lane_groups

    @property
    def instances(self) -> int:
        """All instances of the launch."""
        return self.rounds * self.batch * self.instance_groups

    @property
    def slots(self) -> int:
        """Places for the locations of an instance: a power of two, for masks to permute them."""
        return 1 << max(0, self.instances - 1).bit_length()

    @property
    def shared_bytes(self) -> int:
        """The shared memory of a CTA."""
        return 8 * self.shared_stride * self.shared_variables * self.warp_groups * self.lane_groups * self.batch


@dataclass(frozen=True, slots=True, kw_only=True)
class _Defaults:
    """Defaults of a kind of device for what the incantation leaves open."""

    stride: int  # words from one location to the next
    batch: int
    spin_limit: int


GPU = _Defaults(stride=64, batch=1, spin_limit=4096)
CPU = _Defaults(stride=1, batch=64, spin_limit=1 << 13)
CPU_INSTANCES = 1 << 18  # of a launch
GPU_ROUNDS = 16  # of a launch


def plan_launch(
    shape: Shape, incantation: Incantation, limits: DeviceLimits, iterations: int | None = None
) -> LaunchPlan:
    """How to run the test: about `iterations` instances in a launch, or as many as incantation and memory allow."""
    kernels = _kernels_per_device(shape, limits)
    defaults = CPU if limits.in_sequence else GPU
    warp_size = 1 if limits.in_sequence else limits.warp_size
    group_size = _group_size(shape, incantation, limits, warp_size)
    testing, stressing = _testing_and_stressing_groups(shape, incantation, limits, kernels)
    cta_groups = testing // (shape.ctas * shape.clusters)
    warp_groups = group_size // warp_size // shape.warps
    lane_groups = warp_size // shape.lanes
    stride = incantation.location_stride or defaults.stride
    location_bytes = stride * shape.word_bytes
    batch, shared_stride = incantation.meet_every or defaults.batch, 1
    if shape.shared:
        room = limits.shared_bytes // (8 * len(shape.shared) * warp_groups * lane_groups)
        if room < 1:
            raise Impossible("the shared variables of a CTA's instances do not fit its shared memory")
        batch = min(batch, room)
        shared_stride = max(1, min(location_bytes // 8, room // batch))
    at_once = cta_groups * warp_groups * lane_groups * batch
    return LaunchPlan(
        groups=testing + stressing,
        group_size=group_size,
        testing_groups=testing,
        cluster_groups=shape.ctas,
        warp_size=warp_size,
        cta_groups=cta_groups,
        warp_groups=warp_groups,
        lane_groups=lane_groups,
        batch=batch,
        rounds=_rounds(shape, incantation, limits, at_once=at_once, stride=stride, iterations=iterations),
        location_bytes=location_bytes,
        shared_variables=len(shape.shared),
        shared_stride=shared_stride,
        spin_limit=incantation.spin_limit or defaults.spin_limit,
        helper_groups=limits.groups if limits.in_sequence else max(1, limits.groups),
        helper_size=1 if limits.in_sequence else min(HELPER_THREADS, limits.group_size),
        table_slots=DEFAULT_SLOTS,
    )


def _rounds(
    shape: Shape, incantation: Incantation, limits: DeviceLimits, *, at_once: int, stride: int, iterations: int | None
) -> int:
    """Rounds of `at_once` instances each: enough for the iterations, no more than memory holds."""
    footprint = (max(1, len(shape.variables)) * stride + shape.rows) * shape.word_bytes
    most = max(at_once, min(MOST_INSTANCES, limits.memory_bytes // (2 * footprint)))
    asked = incantation.instances or (CPU_INSTANCES if limits.in_sequence else GPU_ROUNDS * at_once)
    if iterations is not None:
        asked = min(asked, iterations)
    return max(1, min(-(-asked // at_once), most // at_once))


def _kernels_per_device(shape: Shape, limits: DeviceLimits) -> int:
    """How many kernels of the test share a device, at most."""
    devices = len(set(shape.devices))
    if devices > limits.devices:
        raise Impossible(f"its threads are on {devices} devices, there is room for {limits.devices}")
    kernels = max(shape.devices.count(device) for device in shape.devices)
    if kernels > limits.kernels:
        raise Impossible(f"its threads are in {kernels} kernels, {limits.kernels} can run at the same time")
    if shape.ctas > limits.cluster_groups and shape.ctas > 1:
        raise Impossible(f"a cluster of {shape.ctas} CTAs does not fit: {limits.cluster_groups} is the most here")
    return kernels


def _group_size(shape: Shape, incantation: Incantation, limits: DeviceLimits, warp_size: int) -> int:
    if shape.lanes > warp_size or (limits.in_sequence and shape.warps > 1):
        together = "warp" if shape.lanes > 1 else "CTA"
        raise Impossible(f"threads of one {together} run one after another here")
    smallest = shape.warps * warp_size
    if smallest > limits.group_size:
        raise Impossible(f"a CTA of {smallest} threads does not fit: {limits.group_size} is the most here")
    if limits.in_sequence:
        return 1
    asked = min(incantation.group_size or max(FEWEST_THREADS, smallest), limits.group_size)
    return max(smallest, asked // warp_size * warp_size)


def _testing_and_stressing_groups(
    shape: Shape, incantation: Incantation, limits: DeviceLimits, kernels: int
) -> tuple[int, int]:
    """Testing and stressing CTAs of a kernel: whole groups of CTAs, all of them running at once."""
    needed = shape.clusters * shape.ctas
    room = limits.groups // kernels
    if needed > room:
        total = needed * kernels
        raise Impossible(f"an instance needs {total} CTAs at the same time, the device runs {limits.groups}")
    stress = 0
    if incantation.memory_stress and incantation.stress_percent and not limits.in_sequence:
        stress = incantation.stress_groups or room // 4
    stress = min(stress, room - needed) // shape.ctas * shape.ctas
    testing = min(incantation.testing_groups or room, room - stress)
    return max(needed, testing // needed * needed), stress
