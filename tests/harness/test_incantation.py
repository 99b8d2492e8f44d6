"""Incantations: names, files, ranges, and the page that documents them."""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path

import pytest
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st

from gpudiy.harness.incantation import Incantation, StressPattern
from gpudiy.harness.settings import (
    NAMED,
    SWITCHES,
    BadSetting,
    column,
    load_setting,
    parameter_table,
    read_setting,
    setting_text,
)

PAGE = ROOT / "docs" / "incantations.md"


def test_columns_are_those_of_the_paper() -> None:
    switched = [tuple(getattr(column(number), switch) for switch in SWITCHES) for number in range(1, 17)]
    assert switched[0] == (False, False, False, False)
    assert switched[1] == (False, False, False, True)
    assert switched[8] == (True, False, False, False)
    assert switched[11] == (True, False, True, True)  # the best for sb: stress, synchronisation, randomisation
    assert switched[15] == (True, True, True, True)
    assert len(set(switched)) == 16
    assert NAMED["none"] == NAMED["asplos15-1"] and NAMED["all"] == NAMED["asplos15-16"]


@st.composite
def incantations(draw: st.DrawFn) -> Incantation:
    chosen = {}
    for field in fields(Incantation):
        if field.metadata["low"] is not None:
            chosen[field.name] = draw(st.integers(field.metadata["low"], field.metadata["high"]))
        else:
            chosen[field.name] = draw(
                st.booleans() if isinstance(field.default, bool) else st.sampled_from(StressPattern)
            )
    return Incantation(**chosen)


@given(incantations())
def test_files_keep_everything(incantation: Incantation) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mine.toml"
        path.write_text(setting_text(incantation))
        assert read_setting(path) == incantation


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("stress_lines = 0", ":1:1: error: stress_lines is 0, and must be a whole number from 1 to 64"),
        ("\nstres_lines = 4", ":2:1: error: there is no parameter 'stres_lines'\n  did you mean 'stress_lines'?"),
        ("memory_stress = 1", ":1:1: error: memory_stress is true or false, not 1"),
        ("stress_pattern = 'ld'", ":1:1: error: stress_pattern is one of st-st, st-ld, ld-st, ld-ld, not 'ld'"),
        ("spin_limit = true", ":1:1: error: spin_limit is a whole number, not True"),
        ("spin_limit", ": error: Expected '=' after a key"),
    ],
)
def test_bad_files_are_told(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(BadSetting) as caught:
        load_setting(str(path))
    assert str(caught.value).startswith(f"{path}{message}")


def test_unknown_names_are_told(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="did you mean 'default'"):
        load_setting("defualt")
    with pytest.raises(BadSetting, match=r"nowhere\.toml: error: cannot be read: No such file"):
        load_setting(str(tmp_path / "nowhere.toml"))
    with pytest.raises(BadSetting, match="from 1 to 16, not 17"):
        column(17)


def test_the_page_is_made_from_the_parameters() -> None:
    page = PAGE.read_text()
    start, end = page.index("<!-- parameters -->\n") + 20, page.index("<!-- end of parameters -->")
    if os.environ.get("PROMOTE"):
        PAGE.write_text(page[:start] + parameter_table() + page[end:])
    else:
        assert page[start:end] == parameter_table()
