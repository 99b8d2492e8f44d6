"""Tests of the CUDA device without a GPU: PyCUDA and cuda-bindings as they are, on a stand-in for NVIDIA's driver."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from cuda_standin import SITES, Machine, make_machines


@pytest.fixture(params=SITES)
def machine(tmp_path: Path, request: pytest.FixtureRequest) -> Callable[..., Machine]:
    """A machine with given chips and faults, its journal and its cache empty, once for each binding to the driver."""
    return make_machines(tmp_path, (request.param,))
