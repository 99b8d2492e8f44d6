"""Data races: what the manual calls one, in tests whose answers were derived by hand."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from gpudiy.litmus.instruction_text import instruction_text
from gpudiy.litmus.reader import read_test
from gpudiy.litmus.test import Test
from gpudiy.models.exploration import Engine
from gpudiy.models.library import load_model
from gpudiy.models.race_report import picture_of_race, race_text
from gpudiy.models.races import find_race
from gpudiy.models.verdict import Answer

FOLDER = Path(__file__).parent.parent / "data" / "races"
EXPECT = re.compile(r"\(\* races: (.*) \*\)")


def cases() -> list[tuple[str, str, str]]:
    """File, memory model, answer."""
    found = []
    for file in sorted(FOLDER.glob("*.litmus")):
        expected = EXPECT.search(file.read_text())
        assert expected is not None, file.name
        for entry in expected[1].split(", "):
            model, _, answer = entry.partition(" ")
            found.append((file.name, model, answer))
    return found


@cache
def load(name: str) -> Test:
    return read_test((FOLDER / name).read_text(), name)


@pytest.mark.parametrize("engine", [Engine.SEARCH, Engine.SAT])
@pytest.mark.parametrize(("name", "model", "answer"), cases())
def test_cases(name: str, model: str, answer: str, engine: Engine) -> None:
    verdict = find_race(load(name), model, engine=engine)
    assert verdict.answer == answer, verdict.reason
    assert bool(verdict.races) == (answer == "races")
    for race in verdict.races:
        first, second = race.accesses
        for access in race.accesses:
            assert load(name).threads[access.thread][access.position] == access.instruction
        if verdict.execution is not None:
            one, other = (verdict.execution.events[access.event] for access in (first, second))
            assert one.location == other.location and "W" in (one.kind, other.kind)
    if verdict.races:
        assert "races with" in race_text(verdict)
        assert any(arrow.relation == "race" for arrow in picture_of_race(verdict).arrows)


def test_models_without_a_flag_say_nothing() -> None:
    verdict = find_race(load("weak-weak.litmus"), "sc")
    assert verdict.verdict.answer is Answer.NOT_SUPPORTED and "race" in verdict.reason


def test_flags_of_own_models(tmp_path: Path) -> None:
    own = tmp_path / "own.cat"
    own.write_text(
        "acyclic po | rf | co | fr as sc\nempty rmw & (fr;co) as atomicity\n"
        "let hb = (po | ([REL];rf;[ACQ]))+\n"
        "let conflict = ((W*M) | (M*W)) & loc & ext\n"
        "flag ~empty ((conflict \\ ((IW*_) | (_*IW))) & ((WEAK*_) | (_*WEAK))) \\ (hb | hb^-1) as race\n"
    )
    assert find_race(load("MP-guarded.litmus"), load_model(str(own))).answer == "race-free"
    verdict = find_race(load("MP-unguarded.litmus"), load_model(str(own)))
    assert [instruction_text(access.instruction) for access in verdict.races[0].accesses] == [
        "st.s32 [x],1",
        "ld.s32 r1,[x]",
    ]
    assert find_race(load("counter-with-lock.litmus"), load_model(str(own))).answer == "race-free"


def test_flags_on_sets(tmp_path: Path) -> None:
    own = tmp_path / "own.cat"
    own.write_text("acyclic po | rf | co | fr as sc\nlet weak = M & WEAK\nflag ~empty weak as race-weak\n")
    verdict = find_race(load("strong-weak.litmus"), load_model(str(own)))
    assert [[access.thread for access in race.accesses] for race in verdict.races] == [[1]]


def test_a_bound_that_leaves_out_passes() -> None:
    """Three passes are needed, and more might race."""
    for unroll, answer in ((2, "undecided (bounded)"), (3, "race-free")):
        verdict = find_race(load("counted-loop.litmus"), "ptx-6.0", unroll=unroll)
        assert verdict.answer == answer
    assert "no race was found" in find_race(load("counted-loop.litmus"), "ptx-6.0", unroll=2).reason


def test_limit() -> None:
    assert find_race(load("two-reads.litmus"), "ptx-6.0", limit=0).verdict.undecided
