"""Tests of the CUDA device without a GPU: PyCUDA and cuda-bindings as they are, on a stand-in for NVIDIA's driver."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from cuda_standin import SITES, Machine, make_machines
from kit_machine import LAUNCHES


@pytest.fixture(params=SITES)
def machine(tmp_path: Path, request: pytest.FixtureRequest) -> Callable[..., Machine]:
    """A machine with given chips and faults, its journal and its cache empty, once for each binding to the driver."""
    return make_machines(tmp_path, (request.param,))


@pytest.fixture
def kit_machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Machine]:
    """The programs of a kit use no binding of Python. A test has few launches here, one of them after the last draw."""
    monkeypatch.setattr("gpudiy.kits.export.LAUNCHES", LAUNCHES)
    monkeypatch.setattr("gpudiy.kits.export.SECONDS", 0.0)
    monkeypatch.setattr("gpudiy.kits.launch_rows.DRAWS", LAUNCHES - 1)
    return make_machines(tmp_path, ())
