"""Incantations by name, in files and in records."""

from __future__ import annotations

import os
import random
from collections import Counter
from dataclasses import fields, replace
from pathlib import Path

import pytest
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st

from gpudiy.devices.tuning import random_incantation
from gpudiy.errors import InputError
from gpudiy.harness.incantation import Incantation, StressPattern
from gpudiy.harness.incantation_text import (
    IncantationBook,
    incantation_file,
    incantation_of,
    incantation_options,
    named_incantation,
    parameter_table,
    published_combinations,
    read_incantation,
)

incantations = st.integers(0, 2**32).map(lambda seed: random_incantation(random.Random(seed)))
names = st.text(st.characters(codec="utf-8", exclude_categories=("C",)), min_size=1, max_size=12)


@given(incantations)
def test_options_of_a_record_are_the_incantation(incantation: Incantation) -> None:
    options = incantation_options(incantation)
    assert [name for name, _ in options] == [entry.name for entry in fields(Incantation)]
    assert incantation_of((("arch", "sm_90"), *options)) == incantation


@given(incantations, st.dictionaries(names, incantations, max_size=3))
def test_files_keep_every_setting(
    tmp_path_factory: pytest.TempPathFactory, common: Incantation, single: dict[str, Incantation]
) -> None:
    path = tmp_path_factory.mktemp("book") / "tuned.toml"
    path.write_text(incantation_file(IncantationBook("tuned", common, single), ("how it was made", "")))
    book = read_incantation(str(path))
    assert book.common == common
    assert {name: book.of(name) for name in single} == single
    assert book.of("a name that no test has") == common


def test_the_16_combinations_stand_in_the_published_order() -> None:
    combinations = list(published_combinations().items())
    assert len({incantation for _, incantation in combinations}) == 16
    assert [combinations[column - 1][0] for column in (1, 2, 12, 16)] == [
        "none",
        "random",
        "stress+sync+random",
        "stress+bank+sync+random",
    ]
    for index, (_, one) in enumerate(combinations):
        weight = 8 * one.memory_stress + 4 * one.bank_conflicts + 2 * one.synchronisation + one.randomisation
        assert weight == index


def test_names() -> None:
    assert named_incantation("asplos15-1") == named_incantation("none")
    assert named_incantation("asplos15-12") == named_incantation("stress+sync+random")
    assert named_incantation("asplos15-16") == named_incantation("all")
    assert named_incantation("default") == Incantation()
    assert named_incantation("all").bank_conflicts
    assert not any(getattr(named_incantation("none"), entry.name) is True for entry in fields(Incantation))
    assert named_incantation("random+stress") == named_incantation("stress+random")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("asplos15-17", "asplos15-1 to asplos15-16"),
        ("asplos15-0", "there is no incantation"),
        ("stres", "did you mean 'stress'"),
        ("stress+bnak", "did you mean 'bank'"),
        ("", "there is no incantation ''"),
        ("missing.toml", "missing.toml: error: cannot be read"),
    ],
)
def test_unknown_names(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_incantation(text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("stress_lines = 0", ":1:1: error: stress_lines is 0, and must be a whole number from 1 to 64"),
        ("# why\nstress_lines = 65", ":2:1: error: stress_lines is 65"),
        ("stres_lines = 3", "did you mean 'stress_lines'"),
        ("memory_stress = 1", "must be true or false"),
        ("meet_every = true", "must be a whole number"),
        ("meet_every = 2.5", "must be a whole number"),
        ('stress_pattern = "st-st-st"', "must be one of st-st, st-ld"),
        ("meet_every = ", "is not TOML"),
        ("[test]\nSB = 3", "is a table for each test"),
        ("[test.SB]\nstress_lines = 0", "stress_lines is 0"),
    ],
)
def test_bad_files(tmp_path: Path, source: str, message: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(source)
    with pytest.raises(InputError) as caught:
        read_incantation(str(path))
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_file_of_bytes(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="UTF-8"):
        read_incantation(str(tmp_path / "bad.toml"))


def test_ranges_are_kept() -> None:
    with pytest.raises(ValueError, match="stress_lines"):
        replace(Incantation(), stress_lines=1000)
    drawn = [random_incantation(random.Random(seed)) for seed in range(300)]
    assert {one.stress_pattern for one in drawn} == set(StressPattern)
    assert len({one.meet_every for one in drawn}) > 5
    assert {one.memory_stress for one in drawn} == {False, True}


def test_the_page_is_made_from_the_parameters() -> None:
    path = ROOT / "docs" / "incantations.md"
    page = path.read_text()
    start, end = page.index("<!-- parameters -->\n") + 20, page.index("<!-- end of parameters -->")
    if os.environ.get("PROMOTE"):
        path.write_text(page[:start] + parameter_table() + page[end:])
    else:
        assert page[start:end] == parameter_table()


def test_a_search_tries_near_and_far_locations_evenly() -> None:
    drawn = [random_incantation(random.Random(seed)) for seed in range(400)]
    strides = Counter(one.location_stride for one in drawn)
    assert set(strides) == {0, 1, 2, 4, 8, 16, 32, 64}
    assert min(strides.values()) > 25
    for name in ("warm_percent", "reuse_percent"):
        quarters = Counter(min(3, getattr(one, name) // 25) for one in drawn)
        assert min(quarters[quarter] for quarter in range(4)) > 60
