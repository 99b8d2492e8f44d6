"""Resident CTAs, against the occupancy that NVIDIA's calculator gives for the same chips and kernels."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudiy.devices.cuda_occupancy import Multiprocessor, Needs, groups_of_one, resident_groups

T4 = Multiprocessor(40, 1024, 16, 65536, 64 << 10, 0)
A100 = Multiprocessor(108, 2048, 32, 65536, 164 << 10, 1 << 10)
H100 = Multiprocessor(132, 2048, 32, 65536, 228 << 10, 1 << 10)


@pytest.mark.parametrize(
    ("chip", "threads", "registers", "shared", "groups"),
    [
        (A100, 256, 32, 0, 8),  # all 64 warps
        (A100, 256, 40, 0, 6),  # registers: 48 warps, 75 %
        (A100, 256, 64, 0, 4),
        (A100, 128, 255, 0, 2),
        (A100, 32, 16, 0, 32),  # no more than 32 CTAs
        (A100, 1024, 32, 0, 2),
        (A100, 128, 32, 48 << 10, 3),  # 48 KiB and 1 KiB of the system, three times in 164 KiB
        (T4, 32, 16, 0, 16),
        (T4, 256, 32, 0, 4),
        (T4, 64, 32, 32 << 10, 2),
        (T4, 1024, 65, 0, 0),  # too many registers for a CTA of this size
    ],
)
def test_groups_of_one_multiprocessor(
    chip: Multiprocessor, threads: int, registers: int, shared: int, groups: int
) -> None:
    assert groups_of_one(chip, Needs(registers, shared), threads) == groups


def test_a_device_holds_what_its_multiprocessors_hold() -> None:
    assert resident_groups(A100, Needs(32, 0), 256) == 8 * 108


def test_dynamic_shared_memory_counts() -> None:
    assert groups_of_one(A100, Needs(32, 16 << 10), 128, 32 << 10) == 3


def test_clusters_are_whole_and_leave_room_for_small_processing_clusters() -> None:
    """GPCs of 16 or 18 SMs, with one CTA an SM, hold 8 or 9 clusters of two and two of eight: 132 SMs are 8 GPCs."""
    whole_sm = Needs(64, 200 << 10, cluster_groups=2)
    assert 64 <= resident_groups(H100, whole_sm, 128) // 2 <= 66
    assert resident_groups(H100, Needs(64, 200 << 10, cluster_groups=8), 128) // 8 <= 16


@given(
    st.integers(1, 1024),
    st.integers(0, 255),
    st.integers(0, 48 << 10),
    st.sampled_from([1, 2, 4, 8]),
    st.sampled_from([T4, A100, H100]),
)
def test_what_is_resident_fits(threads: int, registers: int, shared: int, cluster: int, chip: Multiprocessor) -> None:
    needs = Needs(registers, shared, cluster)
    groups = groups_of_one(chip, needs, threads)
    assert groups <= chip.groups
    assert groups * threads <= chip.threads
    assert groups * threads * registers <= chip.registers
    assert groups * (shared + chip.reserved_bytes) <= chip.shared_bytes
    resident = resident_groups(chip, needs, threads)
    assert resident <= groups * chip.count
    assert resident % cluster == 0
