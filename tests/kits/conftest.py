"""A small kit that is exported once for all tests of this folder."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from kit_samples import SEED, ExportedKit, kit_tests

from gpudiy.devices.settings import RunSettings
from gpudiy.kits.export import export_kit


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported") / "kit"
    export_kit(kit_tests(), ["sm_80", "sm_90"], folder, RunSettings(iterations=1000, seed=SEED), jobs=1)
    done = subprocess.run(["make", "-s", "program"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def kit(exported: Path, tmp_path: Path) -> ExportedKit:
    """A copy of the kit, to be damaged."""
    shutil.copytree(exported, tmp_path / "kit")
    return ExportedKit(tmp_path / "kit")
