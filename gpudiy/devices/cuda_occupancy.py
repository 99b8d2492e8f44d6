"""How many CTAs of a kernel are resident on a GPU at once, computed from the attributes of device and kernel.

A CTA that waits for one that is not resident waits for ever, so a launch never has more CTAs than this. PyCUDA does not
offer the driver's own answer; the rules are those of the occupancy tables of the CUDA Programming Guide. Where chips
differ, the smallest number is taken.
"""

from __future__ import annotations

from dataclasses import dataclass

WARP_SIZE = 32
REGISTER_UNIT = 256  # a warp gets registers in multiples of this
SCHEDULERS = 4  # of an SM; each has its part of the registers
SHARED_UNIT = 256  # bytes; newer chips allocate shared memory in smaller units
PROCESSING_CLUSTER = 16  # SMs that the smallest GPC of chips with clusters has


@dataclass(frozen=True, slots=True)
class Multiprocessor:
    """What one SM holds, and how many SMs the device has."""

    count: int
    threads: int
    groups: int
    registers: int
    shared_bytes: int
    reserved_bytes: int  # of shared memory, for the system, in every CTA


@dataclass(frozen=True, slots=True)
class Needs:
    """What a kernel needs: registers of a thread, shared memory of a CTA, CTAs of a cluster."""

    registers: int
    shared_bytes: int
    cluster_groups: int = 1


def resident_groups(sm: Multiprocessor, needs: Needs, group_size: int, dynamic_bytes: int = 0) -> int:
    """The CTAs of `group_size` threads that are resident on the whole device."""
    on_one = groups_of_one(sm, needs, group_size, dynamic_bytes)
    if needs.cluster_groups == 1:
        return on_one * sm.count
    return _clusters(sm.count, on_one, needs.cluster_groups) * needs.cluster_groups


def groups_of_one(sm: Multiprocessor, needs: Needs, group_size: int, dynamic_bytes: int = 0) -> int:
    """The CTAs that one SM holds."""
    warps = -(-group_size // WARP_SIZE)
    limits = [sm.groups, sm.threads // (warps * WARP_SIZE)]
    if needs.registers:
        of_a_warp = _rounded_up(needs.registers * WARP_SIZE, REGISTER_UNIT)
        of_a_scheduler = sm.registers // SCHEDULERS // of_a_warp
        limits.append(of_a_scheduler * SCHEDULERS // warps)
    shared = needs.shared_bytes + dynamic_bytes + sm.reserved_bytes
    if shared:
        limits.append(sm.shared_bytes // _rounded_up(shared, SHARED_UNIT))
    return min(limits)


def describe_occupancy(sm: Multiprocessor, groups: int, group_size: int) -> str:
    """How many warps an SM has when so many CTAs run on the device, of those that it can have: `36 of 64 warps`."""
    warps = -(-groups // sm.count) * -(-group_size // WARP_SIZE)
    return f"{warps} of {sm.threads // WARP_SIZE} warps"


def _clusters(sms: int, on_one: int, size: int) -> int:
    """The clusters that are resident. A cluster lies in one GPC, whose size is unknown: the smallest is assumed."""
    if sms < PROCESSING_CLUSTER:
        return sms * on_one // size
    return sms // PROCESSING_CLUSTER * (PROCESSING_CLUSTER * on_one // size)


def _rounded_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
