"""Families of tests on sm_50 to sm_72, as the harness compiles them with CUDA 12: unchanged, but for a few reorderings.

Before sm_70 there are no relaxed accesses: the assembler may swap two `ld.cg`, or `.cg` and an access of shared memory.
"""

from __future__ import annotations

from collections import Counter

import pytest
from cuda_12 import expect_cuda_12
from optcheck_samples import draw_codes

from gpudiy.harness.checking import check_cubin
from gpudiy.harness.module import Assembler
from optcheck.finding import Finding

pytestmark = pytest.mark.heavy
SAMPLE = 25


def count_findings(family: str, architecture: str) -> Counter[Finding]:
    codes = draw_codes(family, architecture, SAMPLE)
    return Counter(
        check.finding for check in check_cubin(Assembler(architecture).compile(codes), codes, architecture).checks
    )


@pytest.mark.parametrize("architecture", ["sm_50", "sm_52", "sm_53", "sm_60", "sm_61", "sm_62", "sm_70", "sm_72"])
@pytest.mark.parametrize("family", ["classic", "coherence", "dependencies", "rmw", "thesis"])
def test_a_family_is_unchanged(family: str, architecture: str) -> None:
    expect_cuda_12(architecture)
    found = count_findings(family, architecture)
    assert found.total() >= SAMPLE / 2
    if family in ("coherence", "thesis") and architecture < "sm_70":
        assert found[Finding.UNCHANGED] + found[Finding.REORDERED] == found.total()
        assert found[Finding.REORDERED] <= found.total() / 10
    else:
        assert found[Finding.UNCHANGED] == found.total()
