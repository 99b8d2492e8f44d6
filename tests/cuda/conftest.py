"""Tests of the CUDA device on a machine without a GPU: PyCUDA as it is, on a stand-in for NVIDIA's driver."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from cuda_standin import DRIVER, Machine


@pytest.fixture
def machine(tmp_path: Path) -> Callable[..., Machine]:
    """A machine with given chips and faults, its journal and its cache empty."""
    if not DRIVER.exists():
        pytest.fail("the stand-in is not built: run `make test-cuda`, or tests/cuda/set_up.py .venv/standin")

    def made(chips: str = "small80", faults: str = "", **more: str) -> Machine:
        return Machine(tmp_path, chips, faults, more)

    return made
