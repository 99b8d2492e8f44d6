"""The lists of CONTRIBUTING.md name files and names that exist."""

from __future__ import annotations

import re
import tomllib

import pytest
from conftest import ROOT

TEXT = (ROOT / "CONTRIBUTING.md").read_text()
LISTS = TEXT.partition("## How to add")[2]
FILE = re.compile(r"`((?:gpudiy|optcheck|tests|docs|harness_templates|bench)/[\w./-]+)`(?:: `(\w+)`)?")


def test_the_lists_are_there() -> None:
    headings = re.findall(r"^### (.+)$", LISTS, re.MULTILINE)
    assert {"an instruction", "a model", "a device", "a kind of table", "a relaxation edge", "a verb"} <= set(headings)
    for section in LISTS.split("### ")[1:]:
        assert FILE.search(section), section.splitlines()[0]


@pytest.mark.parametrize("path", sorted({path for path, _ in FILE.findall(TEXT) if "VERB" not in path}))
def test_files_exist(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize(("path", "name"), sorted({found for found in FILE.findall(TEXT) if found[1]}))
def test_names_exist(path: str, name: str) -> None:
    text = (ROOT / path).read_text()
    assert re.search(rf"^(?:class |def )?{name}\b", text, re.MULTILINE), f"{name} is not in {path}"


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_the_layers_are_those_of_the_contract(page: str) -> None:
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    layers = [set(re.findall(r"[a-z]+", layer.replace("gpudiy.", ""))) for layer in contract["layers"]]
    sentence = (ROOT / page).read_text().partition("Imports point one way: ")[2].partition(". `make lint`")[0]
    assert [set(re.findall(r"`([a-z]+)`", layer)) for layer in sentence.split("→")] == layers


def test_commands_exist() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"\bmake ([\w-]+)", TEXT))
    assert named
    assert named <= targets
    for target in re.findall(r"^pytest .*?(tests/[\w/.]+)", TEXT, re.MULTILINE):
        assert (ROOT / target).exists(), target
