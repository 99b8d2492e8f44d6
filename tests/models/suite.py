"""Our own suite: small tests with the verdicts that the definitions of the models give, derived by hand."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gpudiy.litmus.reader import read_test
from gpudiy.litmus.test import Test
from gpudiy.models.cat_compile import LIBRARY, compile_cat
from gpudiy.models.model import Model
from gpudiy.models.verdict import Answer

FOLDER = Path(__file__).parent.parent / "data" / "models"
EXPECT = re.compile(r"\(\* expect: (.*) \*\)")


@dataclass(frozen=True, slots=True)
class Case:
    """A test and the verdict of each model that was thought through."""

    test: Test
    expected: dict[str, str]


@cache
def load_suite() -> dict[str, Case]:
    """The cases by the names of their files."""
    cases = {}
    for file in sorted(FOLDER.glob("*.litmus")):
        text = file.read_text()
        found = EXPECT.fullmatch(text.splitlines()[1])
        assert found is not None, f"{file.name}: the second line must say what is expected"
        expected = dict(entry.split(" ", 1) for entry in found[1].split(", "))
        assert set(expected.values()) <= set(Answer), f"{file.name}: not all expectations are words of verdicts"
        cases[file.stem] = Case(read_test(text, str(file)), expected)
    return cases


@cache
def widen_model(name: str, *replaced: tuple[str, str]) -> Model:
    """A model of ASPLOS'15 that looks at neither cache operators nor spaces, as the simulator of 2015 has it.

    `replaced` are lines of the model, and what stands in their places.
    """
    path = LIBRARY / f"{name}.cat"
    lines = path.read_text().splitlines()
    kept = [line for line in lines if not line.endswith((" as unsupported-access", " as unsupported-shared-memory"))]
    assert len(kept) == len(lines) - 2
    text = "\n".join(kept)
    for line, instead in replaced:
        assert line in kept
        text = text.replace(line, instead)
    return compile_cat(text, str(path), f"{name}, simulator of 2015")
