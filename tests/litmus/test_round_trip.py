"""Printing and reading again gives the same test, in every format that can express it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from litmus_strategies import litmus_tests

from gpudiy.litmus import condition as logic
from gpudiy.litmus.comparison import Comparison
from gpudiy.litmus.content import content_hash
from gpudiy.litmus.errors import InvalidTest
from gpudiy.litmus.print_dat3m import CannotExpress
from gpudiy.litmus.printer import Format, modernise_test, print_test
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
    modern = [modernise_test(test) for folder in EXPRESSIBLE for test in corpus_tests(corpus / folder)]
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
@settings(max_examples=100)
def test_random_tests(test: Test) -> None:
    assert_round_trip(test, Format.CANONICAL)
    assert_round_trip(test, Format.HERD)


@given(litmus_tests().map(modernise_test))
@settings(max_examples=100)
def test_random_tests_in_dat3m(test: Test) -> None:
    try:
        text = print_test(test, Format.DAT3M)
    except CannotExpress:
        return
    assert content_hash(read_test(text)) == content_hash(test)


@pytest.mark.parametrize("cycle", ["Rfe", "DpAddrdW Hat", "PodWR Fre", ""])
@pytest.mark.parametrize("doc", ["", "Rfe Fre", "about"])
def test_cycles_and_docs(figures: list[Path], cycle: str, doc: str) -> None:
    test = replace(read_test(figures[0].read_text()), cycle=cycle, doc=doc)
    assert_round_trip(test, Format.CANONICAL)
    assert_round_trip(test, Format.HERD)
    modern = modernise_test(test)
    try:
        again = read_test(print_test(modern, Format.DAT3M))
    except CannotExpress:
        return
    assert (again.cycle, again.doc) == (cycle, doc)


@pytest.mark.parametrize("asked", ["1=x", "&x=x", "(x=1 \\/ x=2) /\\ x=3", "device=1 /\\ x=1", "not x=1", "true"])
def test_conditions_of_every_start(asked: str) -> None:
    text = f"GPU_PTX T\nP0\nst.b64 [x],1\n(device P0)\nx: global, device: global\nexists ({asked})\n"
    assert_round_trip(read_test(text), Format.CANONICAL)
    assert_round_trip(read_test(text), Format.HERD)


def test_bitwise_arithmetic_in_dat3m() -> None:
    program = " P0@cta 0,gpu 0 ;\n and r0, r0, 1 ;\n or r0, r0, 2 ;\n xor r0, r0, 3 ;\n"
    text = f"PTX T\n{{\nP0:r0=1;\n}}\n{program}exists\n(P0:r0 == 0)\n"
    assert_round_trip(read_test(text), Format.DAT3M)


def test_a_variable_named_like_the_predicate_of_branches() -> None:
    text = (
        "PTX T\n{\np0=0;\nP0:r0=0;\n}\n P0@cta 0,gpu 0 ;\n ld.weak r0, p0 ;\n beq r0, 0, LC00 ;\n LC00: ;\n"
        "exists\n(P0:r0 == 0)\n"
    )
    assert_round_trip(read_test(text), Format.CANONICAL)
    assert_round_trip(read_test(text), Format.DAT3M)


def test_what_dat3m_would_misread_is_not_printed(figures: list[Path]) -> None:
    (figure,) = [figure for figure in figures if figure.name.startswith("A.1")]
    test = replace(modernise_test(read_test(figure.read_text())), doc="a { b")
    with pytest.raises(CannotExpress):
        print_test(test, Format.DAT3M)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "a(*b"}, {"name": 'a"b'}, {"doc": "a\rb"}, {"doc": "\0"}, {"cycle": "a\nb"}, {"cycle": 'a "'},
        {"condition": logic.Condition(
            logic.Quantifier.EXISTS, logic.Compare(Comparison.EQ, logic.FinalVariable("x"), logic.Constant(1 << 64))
        )},
    ],
)  # fmt: skip
def test_what_no_text_gives_back_is_refused(figures: list[Path], change: dict[str, Any]) -> None:
    with pytest.raises(InvalidTest):
        replace(read_test(figures[0].read_text()), **change)


def test_deep_expressions_are_refused_or_read_back(figures: list[Path]) -> None:
    test = read_test(figures[0].read_text())
    for wrap in (logic.Not, lambda inner: logic.And((inner, inner)), lambda inner: logic.Implies(inner, inner)):
        expression: logic.Expression = logic.Compare(Comparison.EQ, logic.FinalVariable("x"), logic.Constant(1))
        for _ in range(14 if wrap is not logic.Not else 60):
            expression = wrap(expression)
            try:
                deep = replace(test, condition=logic.Condition(logic.Quantifier.EXISTS, expression), filter=expression)
            except InvalidTest:
                break
            if wrap is logic.Not:
                assert_round_trip(deep, Format.HERD)
        else:
            assert wrap is not logic.Not
