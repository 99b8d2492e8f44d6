"""What a stranger gets from `pip install .` into a clean environment."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from conftest import ROOT

from gpudiy.shipped import find_shipped

FIGURE = ROOT / "docs" / "examples" / "sass" / "figure-2.7.sass"


def run(*command: object, **options: object) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    words = [str(word) for word in command]
    return subprocess.run(words, check=True, capture_output=True, text=True, env=environment, **options).stdout  # type: ignore[call-overload, no-any-return]


def test_shipped_files_of_a_checkout() -> None:
    assert (find_shipped("logs") / "thesis.jsonl").exists()
    assert (find_shipped("harness_templates") / "README.md").exists()
    with pytest.raises(FileNotFoundError, match="install it again"):
        find_shipped("nothing")


def test_optcheck_runs_in_a_checkout(tmp_path: Path) -> None:
    assert "!!SUCCESS!!" in run(ROOT / "scripts" / "optcheck.py", "--text", FIGURE, cwd=tmp_path)


@pytest.mark.heavy
def test_wheel(tmp_path: Path) -> None:
    run(sys.executable, "-m", "build", "--wheel", "--outdir", tmp_path, ROOT)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "gpudiy/shipped_files/logs/thesis.jsonl" in names
    assert "gpudiy/shipped_files/harness_templates/README.md" in names
    assert "optcheck/__init__.py" in names and "gpudiy/py.typed" in names
    assert "gpudiy/models/library/ptx-6.0.cat" in names
    assert not [name for name in names if name.startswith(("tests", "bench", "docs"))]


@pytest.mark.heavy
def test_install_into_a_clean_environment(tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", tmp_path / "clean")
    binaries = tmp_path / "clean" / "bin"
    run(binaries / "pip", "install", "--quiet", ROOT)
    assert run(binaries / "gpudiy", "--version", cwd=tmp_path).startswith("gpudiy ")
    figure = ROOT / "tests" / "data" / "litmus" / "figures" / "A.1-sb.litmus"
    assert run(binaries / "gpudiy", "convert", figure, cwd=tmp_path) == figure.read_text() + "\n"
    assert "allowed" in run(binaries / "gpudiy", "model", figure, "--models", "tso", cwd=tmp_path)
    assert run(binaries / "gpu-diy", "-gpu-safe", "Po-d-Wgl2-Rgl2 Fr-c-gl2l2", cwd=tmp_path / "clean")
    for name in ("optcheck", "optcheck.py"):
        assert run(binaries / name, "--text", FIGURE, cwd=tmp_path)
    assert run(binaries / "gpudiy", "optcheck", "--help", cwd=tmp_path)
    for name in ("log2log.py", "log2tbl.py"):
        assert run(binaries / name, "--help", cwd=tmp_path)
    code = "from gpudiy.shipped import find_shipped; print(find_shipped('logs') / 'thesis.jsonl')"
    found = run(binaries / "python", "-c", code, cwd=tmp_path).strip()
    assert "shipped_files" in found and Path(found).exists()
