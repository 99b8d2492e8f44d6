"""From a test, an incantation and the limits of a device to a `LaunchPlan`: how many CTAs, threads and instances.

At every level of the scope tree units are assigned to groups: a group has one unit for each place that an instance
needs there; unit u gets place u // groups in group u % groups. So the threads of an instance are far apart, each
instance has every thread of the test exactly once, and no thread of the device runs two of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpudiy.harness.incantation import Incantation
from gpudiy.harness.shape import Shape

BANKS = 32  # of shared memory
DEFAULT_SLOTS = 256  # of the table of outcomes
MOST_INSTANCES = 1 << 26
HELPER_THREADS = 256  # of a CTA of reset and reduce
FEWEST_THREADS = 128  # of a CTA, unless the incantation says another size


@dataclass(frozen=True, slots=True)
class DeviceLimits:
    """What a device can hold at the same time.

    `groups` are the CTAs that run at once, in all kernels of a device together; `in_sequence` says that the threads of
    a CTA run one after another, as on a CPU. `host_threads` of the host run beside it.
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
    host_threads: int = 0


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
    variables: int  # in global memory
    word_bytes: int  # of a location
    strides: tuple[int, ...]  # a launch draws one of these, in words; the last is the largest
    shared_variables: int
    shared_stride: int
    shared_stress_bytes: int
    spin_limit: int
    helper_groups: int  # of reset and reduce
    helper_size: int
    table_slots: int
    kernels: int = 1  # that run instances, on GPUs
    host_kernels: int = 0  # threads of the test that run on the host

    @property
    def instance_groups(self) -> int:
        """Instances that run side by side."""
        return self.cta_groups * self.warp_groups * self.lane_groups

    @property
    def instances(self) -> int:
        """All instances of the launch."""
        return self.rounds * self.batch * self.instance_groups

    @property
    def finished_threads(self) -> int:
        """The threads of testing CTAs of all kernels; a CTA on the host has one."""
        return self.testing_groups * (self.group_size * self.kernels + self.host_kernels)

    @property
    def slots(self) -> int:
        """Places for the locations of an instance: a power of two, for masks to permute them."""
        return 1 << max(0, self.instances - 1).bit_length()

    @property
    def location_bytes(self) -> int:
        """From one location to the next, at most."""
        return self.strides[-1] * self.word_bytes

    @property
    def shared_bytes(self) -> int:
        """The shared memory of a CTA: that of the tests, then that of the stress."""
        return self.shared_test_bytes + self.shared_stress_bytes

    @property
    def shared_test_bytes(self) -> int:
        """The shared memory of the instances of a CTA."""
        return 8 * self.shared_stride * self.shared_variables * self.warp_groups * self.lane_groups * self.batch


@dataclass(frozen=True, slots=True, kw_only=True)
class _Defaults:
    """Defaults of a kind of device for what the incantation leaves open."""

    strides: tuple[int, ...]  # words from one location to the next: each launch draws one of these
    batch: int
    spin_limit: int


GPU = _Defaults(strides=(1, 2, 4, 8, 64), batch=1, spin_limit=4096)
CPU = _Defaults(strides=(1,), batch=64, spin_limit=1 << 13)
CPU_INSTANCES = 1 << 18  # of a launch
GPU_ROUNDS = 64  # of a launch, if memory has room for them
FEWEST_ROUNDS = 16  # fewer CTAs run instances if a launch would otherwise have fewer rounds


def plan_launch(
    shape: Shape, incantation: Incantation, limits: DeviceLimits, iterations: int | None = None
) -> LaunchPlan:
    """How to run the test: about `iterations` instances in a launch, or as many as incantation and memory allow."""
    kernels = _kernels_per_device(shape, limits)
    defaults = CPU if limits.in_sequence else GPU
    warp_size = 1 if limits.in_sequence else limits.warp_size
    group_size = _group_size(shape, incantation, limits, warp_size)
    testing, stressing = _testing_and_stressing_groups(shape, incantation, limits, kernels)
    warp_groups = group_size // warp_size // shape.warps
    lane_groups = 1 if shape.host_kernels else warp_size // shape.lanes
    strides = (incantation.location_stride,) if incantation.location_stride else defaults.strides
    batch, shared_stride = 1 if shape.barriers else incantation.meet_every or defaults.batch, 1
    shared_stress_bytes = _shared_stress_bytes(incantation, warp_size)
    if shape.shared:
        room = (limits.shared_bytes - shared_stress_bytes) // (8 * len(shape.shared) * warp_groups * lane_groups)
        if room < 1:
            raise Impossible("the shared variables of a CTA's instances do not fit its shared memory")
        batch = min(batch, room)
        shared_stride = _shared_stride(shape, incantation, room // batch)
    most = _most_instances(shape, limits, strides[-1])
    cta_groups = _cta_groups(shape, limits, testing)
    if not limits.in_sequence and not incantation.testing_groups:
        wanted = min(most, incantation.instances or most, iterations or most)
        cta_groups = _narrow(cta_groups, wanted // (warp_groups * lane_groups * batch))
    testing = cta_groups * shape.ctas * shape.clusters
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
        rounds=_rounds(incantation, limits, at_once=at_once, room=most, iterations=iterations),
        variables=len(shape.variables),
        word_bytes=shape.word_bytes,
        strides=strides,
        shared_variables=len(shape.shared),
        shared_stride=shared_stride,
        shared_stress_bytes=shared_stress_bytes,
        spin_limit=incantation.spin_limit or defaults.spin_limit,
        helper_groups=limits.groups if limits.in_sequence else max(1, limits.groups),
        helper_size=1 if limits.in_sequence else min(HELPER_THREADS, limits.group_size),
        table_slots=DEFAULT_SLOTS,
        kernels=len(shape.gpu_devices),
        host_kernels=len(shape.host_kernels),
    )


def _shared_stride(shape: Shape, incantation: Incantation, most: int) -> int:
    """Words of 64 bits from one shared location to the next: an odd number, so that lanes use different banks.

    With bank conflicts, which an incantation may ask for, all lanes use one bank.
    """
    if incantation.bank_conflicts:
        return max(1, min(BANKS // 2, most))
    asked = incantation.location_stride * shape.word_bytes // 8
    return (min(asked, most - 1) // 2 * 2 + 1) if most > 1 else 1


def _cta_groups(shape: Shape, limits: DeviceLimits, testing: int) -> int:
    """Sets of clusters that run instances side by side; each thread of an instance on the host needs one there."""
    groups = testing // (shape.ctas * shape.clusters)
    return max(1, min(groups, limits.host_threads // len(shape.host_kernels))) if shape.host_kernels else groups


def _shared_stress_bytes(incantation: Incantation, warp_size: int) -> int:
    """The shared memory that is stressed: a word for each lane, all of them in one bank if that is asked for."""
    if not incantation.memory_stress or not incantation.shared_stress_percent:
        return 0
    return 4 * warp_size * (BANKS if incantation.bank_conflicts else 1)


def _narrow(cta_groups: int, rounds_of_one: int) -> int:
    """So few sets of CTAs that a launch has enough rounds; one set alone would do it in `rounds_of_one`."""
    return max(1, min(cta_groups, rounds_of_one // FEWEST_ROUNDS))


def _most_instances(shape: Shape, limits: DeviceLimits, stride: int) -> int:
    """The instances that memory holds."""
    footprint = (max(1, len(shape.variables)) * stride + shape.rows) * shape.word_bytes
    return min(MOST_INSTANCES, limits.memory_bytes // (2 * footprint))


def _rounds(incantation: Incantation, limits: DeviceLimits, *, at_once: int, room: int, iterations: int | None) -> int:
    """Rounds of `at_once` instances each: enough for the iterations, no more than memory has room for."""
    most = max(at_once, room)
    asked = incantation.instances or (CPU_INSTANCES if limits.in_sequence else GPU_ROUNDS * at_once)
    if iterations is not None:
        asked = min(asked, iterations)
    return max(1, min(-(-asked // at_once), most // at_once))


def _kernels_per_device(shape: Shape, limits: DeviceLimits) -> int:
    """How many kernels of the test share a device, at most."""
    if shape.host_kernels and not limits.host_threads:
        raise Impossible("one of its threads runs on the host, and none of the host runs beside this device")
    devices = len(set(shape.gpu_devices))
    if devices > limits.devices:
        raise Impossible(f"its threads are on {devices} devices, there is room for {limits.devices}")
    kernels = max(shape.gpu_devices.count(device) for device in shape.gpu_devices)
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
    if shape.barriers or shape.host_kernels:
        return smallest  # no other instance is in the CTA
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
