"""The models of the library: their size, names, chips, sets and descriptions."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path

import pytest

from gpudiy.cli import main
from gpudiy.litmus.reader import read_test
from gpudiy.models.cat_compile import compile_cat
from gpudiy.models.cat_tree import CatError
from gpudiy.models.description import describe_model
from gpudiy.models.library import load_model, model_names
from gpudiy.models.verdict import Answer, decide


@pytest.mark.parametrize("model", model_names())
def test_library_models_fit_a_screen_and_have_names(model: str) -> None:
    loaded = load_model(model)
    assert loaded.title
    assert len({check.name for check in loaded.checks}) == len(loaded.checks)


@pytest.mark.parametrize(
    ("model", "chips", "others"),
    [
        ("sc", [], ["sm_35", "sm_90", "Kepler", ""]),
        ("tso", [], ["sm_35", "sm_90", "Kepler", ""]),
        ("ptx-asplos15", ["sm_35", "Kepler", "pascal"], ["sm_70", "sm_90", "Volta", ""]),
        ("ptx-asplos15-cumulative", ["sm_35", "Kepler", "pascal"], ["sm_70", "sm_90", "Volta", ""]),
        ("ptx-6.0", ["sm_70", "sm_90", "sm_100, sm_35", "Hopper"], ["sm_35", "Maxwell", "", "gfx90a"]),
        ("ptx-7.5", ["sm_70", "sm_90", "Ampere"], ["sm_35", "Fermi", ""]),
    ],
)
def test_models_name_the_chips_they_speak_for(model: str, chips: list[str], others: list[str]) -> None:
    includes = load_model(model).chips.includes
    assert all(map(includes, chips)) and not any(map(includes, others))


def test_a_model_that_names_no_chips_speaks_for_all() -> None:
    check = "acyclic po | rf as order"
    assert compile_cat(check, "mine.cat", "mine").chips.includes("anything")
    assert compile_cat(f'"Mine" chips "all"\n{check}', "mine.cat", "mine").chips.includes("anything")
    with pytest.raises(CatError, match=r'mine.cat:2:7: error: expected chips "sm_70 and later", chips "before sm_70"'):
        compile_cat(f'"Mine"\nchips "new ones"\n{check}', "mine.cat", "mine")
    with pytest.raises(CatError, match="expected chips in quotes"):
        compile_cat(f"chips sm_70\n{check}", "mine.cat", "mine")


def test_an_included_model_names_no_chips_for_the_one_that_includes_it() -> None:
    assert compile_cat('include "sc.cat"', "mine.cat", "mine").chips.includes("sm_80")


def test_spaces_and_cache_operators_are_sets() -> None:
    test = read_test(
        "GPU_PTX sets\n{}\nP0 ;\nst.cg [x],1 ;\nld.ca r0,[y] ;\nld r1,[y] ;\n"
        "(device (cta P0))\nx: global, y: shared\nexists (0:r0=0)\n"
    )
    for expression, empty in (
        ("W & CG & GLOBAL", False), ("R & CA & SHARED", False), ("CG & SHARED", True), ("CV", True),
        ("IW & SHARED", False), ("(R & SHARED) \\ CA", False), ("M \\ (GLOBAL | SHARED)", True),
    ):  # fmt: skip
        model = compile_cat(f"flag ~empty {expression} as unsupported-it\nacyclic po as order", "mine.cat", "mine")
        assert (decide(test, model).answer is Answer.NOT_SUPPORTED) == (not empty), expression


@pytest.mark.parametrize("name", model_names())
def test_every_model_of_the_library_describes_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What it covers, its source with a year, and what it does not cover; the same from the command line."""
    found = describe_model(load_model(name))
    assert found.title and found.chips and len(found.covers) > 20 and len(found.not_covered) > 20
    assert name == "ptx-asplos15-cumulative" or found.not_covered.count(",") or "async" in found.not_covered
    assert re.search(r"\b(19|20)\d\d\b", found.source)
    assert main(["model", "list", name, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == asdict(found)
    assert main(["model", "list", name]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert all(part in shown for part in ("covers:", "source:", "not covered:"))


def test_a_model_that_says_nothing_of_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = tmp_path / "own.cat"
    own.write_text('"mine"\nacyclic po | rf | co | fr as sc\n')
    assert main(["model", "list", str(own)]) == 0
    assert capsys.readouterr().out == "own: mine (all chips)\n"
