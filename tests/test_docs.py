"""Every example of the documentation is run, and does what it says.

`PROMOTE=1 pytest -n0 tests/test_docs.py` writes what the commands printed into the pages, to be read before a commit.
"""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

from gpudiy.litmus.reader import read_test

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ (.*(?:\\\n.*)*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


STORY = "<!-- one story: the examples follow from each other -->"


def blocks(language: str) -> list[tuple[str, str]]:
    """The blocks of a language with their places; those of a page that tells one story are one."""
    found = []
    for page in PAGES:
        text = page.read_text()
        own = [
            (f"{page.name}:{text[: block.start()].count(chr(10)) + 1}", block[2])
            for block in BLOCK.finditer(text)
            if block[1] == language
        ]
        if STORY in text and own:
            own = [(own[0][0], "".join(block for _, block in own))]
        found += own
    return found


@pytest.fixture
def examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the example files and of `logs` as the current directory, and gpudiy on the PATH."""
    folder = tmp_path / "examples"
    shutil.copytree(ROOT / "docs" / "examples", folder)
    shutil.copytree(ROOT / "logs", folder / "logs")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return folder


@pytest.mark.parametrize(("place", "block"), blocks("console"), ids=[place for place, _ in blocks("console")])
def test_console(place: str, block: str, examples: Path) -> None:
    commands = COMMAND.findall(block)
    assert commands
    for command, expected in commands:
        run = subprocess.run(
            ["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120
        )
        if os.environ.get("PROMOTE") and run.stdout != expected:
            page = next(page for page in PAGES if page.name == place.split(":")[0])
            page.write_text(page.read_text().replace(f"$ {command}\n{expected}", f"$ {command}\n{run.stdout}"))
        else:
            assert run.stdout == expected, f"{place}: $ {command}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python(page: Path, examples: Path) -> None:
    code = "".join(block for place, block in blocks("python") if place.startswith(f"{page.name}:"))
    case = doctest.DocTestParser().get_doctest(code, {}, page.name, str(page), 0)
    assert doctest.DocTestRunner().run(case).failed == 0


@pytest.mark.parametrize(("place", "text"), blocks("litmus"), ids=[place for place, _ in blocks("litmus")])
def test_litmus(place: str, text: str) -> None:
    assert read_test(text, place).threads


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_demo_imports_what_exists() -> None:
    """The script inside docs/demo.sh runs last; a name that moved must not be found out there."""
    script = (ROOT / "docs" / "demo.sh").read_text().partition("<<'PYTHON'\n")[2].partition("\nPYTHON\n")[0]
    imports = [line for line in script.splitlines() if line.startswith(("import ", "from "))]
    assert any("gpudiy" in line for line in imports)
    exec("\n".join(imports), {})
