"""`import gpudiy` costs nothing, and shows typed and documented names."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

import gpudiy

HEAVY = ("pandas", "numpy", "jinja2", "pyparsing", "pysat", "rich")


def in_new_process(code: str) -> str:
    run = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True, timeout=60)
    return run.stdout.strip()


def test_importing_imports_nothing_heavy() -> None:
    assert in_new_process(f"import sys, gpudiy; print([name for name in {HEAVY} if name in sys.modules])") == "[]"


def test_importing_imports_no_room() -> None:
    loaded = in_new_process("import sys, gpudiy; print(sorted(name for name in sys.modules if 'gpudiy' in name))")
    assert loaded == "['gpudiy', 'gpudiy.lazy', 'gpudiy.version']"


def test_every_name_is_there_and_documented() -> None:
    assert dir(gpudiy) == sorted(gpudiy.__all__)
    for name in gpudiy.__all__:
        found = getattr(gpudiy, name)
        assert name == "__version__" or inspect.getdoc(found), name
        if inspect.isfunction(found):
            assert found.__name__ == name


def test_options_are_keywords() -> None:
    for name in gpudiy.__all__:
        found = getattr(gpudiy, name)
        if inspect.isfunction(found):
            optional = [one for one in inspect.signature(found).parameters.values() if one.default is not one.empty]
            assert all(one.kind is one.KEYWORD_ONLY for one in optional), name


def test_the_names_that_type_checkers_see_are_the_names() -> None:
    """mypy reads the imports of the front door, Python its table of modules."""
    imported = {
        word.strip(" ,()")
        for line in inspect.getsource(gpudiy).splitlines()
        if line.startswith("    from gpudiy.")
        for word in line.partition(" import ")[2].split(",")
    }
    assert imported | {"__version__"} == set(gpudiy.__all__)


@pytest.mark.heavy  # mypy reads the whole of gpudiy
def test_type_checkers_see_real_types(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    file = tmp_path / "user.py"
    file.write_text(
        "import gpudiy\n"
        "reveal_type(gpudiy.read)\n"
        "reveal_type(gpudiy.model('mp.litmus'))\n"
        "gpudiy.run('mp.litmus')\n"
        "gpudiy.modell\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(file)]
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, timeout=600).stdout
    assert 'Revealed type is "def (path: str | pathlib.Path) -> gpudiy.litmus.test.Test"' in said
    assert 'Revealed type is "pandas.core.frame.DataFrame"' in said
    assert 'Missing named argument "device"' in said
    assert 'has no attribute "modell"' in said


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'modell'"):
        gpudiy.modell  # noqa: B018
