"""The rules of the house that a program can check: names, sizes, documentation, words."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from conftest import ROOT

from gpudiy.locks.report import Judgement
from gpudiy.logs.decision import Sighting
from gpudiy.models.verdict import Answer
from optcheck.finding import Finding

LONGEST_MODULE = 400  # lines
THEATRE = re.compile(r"(?<![a-z])(plays?|roles?|seats?|teams?|constellations?)(?![a-z])")
# Words that name a state where a verb should name an action: `_told(outcome)` instead of `print_outcome(outcome)`.
IRREGULAR_PARTICIPLES = re.compile(
    "told|made|found|said|given|taken|seen|known|kept|held|shown|drawn|written|chosen|begun|done|gone|sent|left|built"
    "|meant|thought|brought|caught|bound|met"
)


@cache
def modules() -> list[tuple[Path, ast.Module]]:
    paths = [path for folder in ("gpudiy", "optcheck") for path in sorted((ROOT / folder).rglob("*.py"))]
    return [(path.relative_to(ROOT), ast.parse(path.read_text())) for path in paths]


def definitions(body: list[ast.stmt], owner: str = "") -> Iterator[tuple[str, ast.ClassDef | ast.FunctionDef]]:
    """The classes and functions of a module and their methods, with qualified names."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield owner + node.name, node
            yield from definitions(node.body, f"{owner}{node.name}.")
        elif isinstance(node, ast.FunctionDef):
            yield owner + node.name, node


def is_property(function: ast.FunctionDef) -> bool:
    names = {ast.unparse(decorator) for decorator in function.decorator_list}
    return any(name.endswith(("property", ".setter")) for name in names)


def test_no_public_class_name_is_used_twice() -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for path, module in modules():
        for node in module.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(str(path))
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}


def test_no_module_is_too_long() -> None:
    lengths = {str(path): len((ROOT / path).read_text().splitlines()) for path, _ in modules()}
    assert {path: length for path, length in lengths.items() if length > LONGEST_MODULE} == {}


def test_every_module_says_what_it_is() -> None:
    assert [str(path) for path, module in modules() if not ast.get_docstring(module)] == []


def test_public_classes_and_functions_are_documented() -> None:
    """Methods and the members of closed families whose fields say everything may do without."""
    missing = []
    for path, module in modules():
        for name, node in definitions(module.body):
            public = not any(part.startswith("_") for part in name.split("."))
            if public and "." not in name and not ast.get_docstring(node) and not says_everything(node):
                missing.append(f"{path}: {name}")
    assert missing == []


def says_everything(node: ast.ClassDef | ast.FunctionDef) -> bool:
    """The two functions of every verb's module are described once, in CONTRIBUTING.md."""
    return isinstance(node, ast.FunctionDef) and node.name in ("add_arguments", "run", "main")


def test_functions_are_named_by_verbs() -> None:
    """A function that is a bare participle (`_told`, `marked`) does not say what it does; a property may be one."""
    wrong = []
    for path, module in modules():
        for name, node in definitions(module.body):
            word = name.rpartition(".")[2].strip("_")
            if isinstance(node, ast.FunctionDef) and not is_property(node) and is_bare_participle(word):
                wrong.append(f"{path}: {name}")
    assert wrong == []


def is_bare_participle(word: str) -> bool:
    if IRREGULAR_PARTICIPLES.fullmatch(word):
        return True
    return "_" not in word and re.fullmatch(r"[a-z]{2,}[^e]ed", word) is not None and word not in ("shred", "embed")


@pytest.mark.parametrize("folder", ["gpudiy", "optcheck", "harness_templates", "docs", "bench", "tests"])
def test_no_theatre_words(folder: str) -> None:
    """The harness speaks of tests, threads, instances and positions, as CUDA programmers do."""
    found = []
    for path in sorted((ROOT / folder).rglob("*")):
        if path.suffix in (".py", ".h", ".j2", ".md") and path != Path(__file__):
            for number, line in enumerate(path.read_text().splitlines(), 1):
                if THEATRE.search(line.replace("role=", "")):  # `role=` is an attribute of HTML
                    found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    assert found == []


def test_every_answer_has_its_word() -> None:
    """A model gives verdicts, optcheck findings, a run sightings, a lock check judgements; see the table of words."""
    homes = {
        node.name: path.parts[:2]
        for path, module in modules()
        for node in module.body
        if isinstance(node, ast.ClassDef) and node.name in ("Verdict", "Finding", "Sighting", "Judgement")
    }
    assert homes == {
        "Verdict": ("gpudiy", "models"),
        "Finding": ("optcheck", "finding.py"),
        "Sighting": ("gpudiy", "logs"),
        "Judgement": ("gpudiy", "locks"),
    }
    assert list(Judgement) == ["right", "wrong", "unknown"]
    assert [str(sighting) for sighting in Sighting] == ["observed", "not observed", "no evidence"]
    assert [sighting for sighting in Sighting if not sighting.is_evidence] == [Sighting.NO_EVIDENCE]
    assert [str(answer) for answer in Answer][:2] == ["allowed", "forbidden"]
    assert all(str(answer).startswith("undecided (") for answer in list(Answer)[2:])
    assert {"unchanged", "reordered", "removed", "unverifiable"} <= set(Finding)
