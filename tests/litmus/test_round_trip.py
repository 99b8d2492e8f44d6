"""Printing and reading again gives the same test, in every format that can express it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from litmus_strategies import litmus_tests

from gpudiy.litmus.content import content_hash
from gpudiy.litmus.print_dat3m import CannotExpress
from gpudiy.litmus.printer import Format, modernised, print_test
from gpudiy.litmus.reader import read_test
from gpudiy.litmus.sources import find_sources, load_tests
from gpudiy.litmus.test import Test

# how many tests of each folder of the corpus a format can express
EXPRESSIBLE = {
    "dat3m-ptx": {"canonical": 138, "herd": 138, "dat3m": 138},
    "gpu-ptx-litmus": {"canonical": 8, "herd": 9, "dat3m": 0},  # MP.litmus contradicts its map; all use cache operators
    "gpu-litmus-titan": {"canonical": 3, "herd": 3, "dat3m": 0},
}


def assert_round_trip(test: Test, format: Format) -> None:
    text = print_test(test, format)
    again = read_test(text)
    assert content_hash(again) == content_hash(test)
    if format is not Format.DAT3M:
        assert again == test
    assert print_test(again, format) == text


def corpus_tests(folder: Path) -> list[Test]:
    return [test for source in find_sources([str(folder)]) for test in load_tests(source)]


@pytest.mark.parametrize("folder", EXPRESSIBLE)
@pytest.mark.parametrize("format", Format)
def test_corpus(corpus: Path, folder: str, format: Format) -> None:
    expressed = 0
    for test in corpus_tests(corpus / folder):
        try:
            print_test(test, format)
        except CannotExpress:
            continue
        expressed += 1
        assert_round_trip(test, format)
    assert expressed == EXPRESSIBLE[folder][format]


def test_corpus_in_the_words_of_dat3m(corpus: Path) -> None:
    """With old spellings rewritten, all but the test in shared space can go to Dat3M."""
    modern = [modernised(test) for folder in EXPRESSIBLE for test in corpus_tests(corpus / folder)]
    failed = []
    for test in modern:
        try:
            assert_round_trip(test, Format.DAT3M)
        except CannotExpress as reason:
            failed.append((test.name, str(reason)))
    assert failed == [("MP", "shared space")]


@pytest.mark.parametrize("format", [Format.CANONICAL, Format.HERD])
def test_figures(figures: list[Path], format: Format) -> None:
    assert len(figures) == 6
    for figure in figures:
        assert_round_trip(read_test(figure.read_text()), format)


def test_a_figure_is_printed_as_it_stands(figures: list[Path]) -> None:
    (figure,) = [figure for figure in figures if figure.name.startswith("A.1")]
    assert print_test(read_test(figure.read_text())) == figure.read_text()


@given(litmus_tests())
@settings(max_examples=300)
def test_random_tests(test: Test) -> None:
    assert_round_trip(test, Format.CANONICAL)
    assert_round_trip(test, Format.HERD)


@given(litmus_tests().map(modernised))
@settings(max_examples=200)
def test_random_tests_in_dat3m(test: Test) -> None:
    try:
        text = print_test(test, Format.DAT3M)
    except CannotExpress:
        return
    assert content_hash(read_test(text)) == content_hash(test)
