"""Verdicts: always a value, whatever becomes of a test; the same from one process and from several."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

from gpudiy.models.deciding import DecidedTest, FileDecider, HowToDecide, decide_all, decide_files
from gpudiy.models.explanation import explain
from gpudiy.models.library import load_model
from gpudiy.models.report import explanation_text
from gpudiy.models.verdict import Answer, Undecided, Verdict, decide, outcomes
from gpudiy.models.verdict_row import VerdictRow
from models.suite import load_suite

CASES = load_suite()
PROXIES = [case.test for name, case in CASES.items() if set(case.expected) == {"ptx-7.5"} and "alias" not in name]
SOME = [case.test for case in list(CASES.values())[:6]]


def test_undecided_verdicts_have_a_reason() -> None:
    unsupported = decide(PROXIES[0], load_model("sc"))
    assert unsupported.answer is Answer.NOT_SUPPORTED and unsupported.undecided and unsupported.holds is None
    late = decide(SOME[0], load_model("sc"), limit=-1.0)
    assert late.answer is Answer.OUT_OF_TIME and late.reason == "no verdict after -1 s"
    for verdict in (unsupported, late):
        assert not verdict.allowed and not verdict.forbidden and verdict.execution is None
        assert verdict.reason in explanation_text(explain(verdict))
    with pytest.raises(Undecided, match="no verdict after") as caught:
        outcomes(SOME[0], load_model("sc"), limit=-1.0)
    assert caught.value.verdict.answer is Answer.OUT_OF_TIME


def test_all_outcomes_come_with_the_same_answer() -> None:
    for test in SOME:
        plain, full = (decide(test, load_model("ptx-6.0"), all_outcomes=wish) for wish in (False, True))
        assert plain.answer is full.answer and plain.outcomes is None
        assert full.outcomes is not None and list(full.outcomes) == list(outcomes(test, load_model("ptx-6.0")))
        assert full.execution is None or full.execution in full.outcomes.values()


def test_verdicts_survive_pickling() -> None:
    for test in SOME:
        verdict = decide(test, load_model("ptx-6.0"), all_outcomes=True)
        copy: Verdict = pickle.loads(pickle.dumps(verdict))
        assert copy.test == test and copy.model is verdict.model and copy.answer is verdict.answer
        assert explanation_text(explain(copy)) == explanation_text(explain(verdict))


def test_several_processes_say_the_same_as_one() -> None:
    one, two = (list(decide_all(SOME, ["sc", "ptx-6.0"], jobs=jobs)) for jobs in (1, 2))
    assert [(verdict.test.name, verdict.model.name) for verdict in one] == [
        (test.name, model) for test in SOME for model in ("sc", "ptx-6.0")
    ]
    for mine, other in zip(one, two, strict=True):
        assert replace(mine, execution=None) == replace(other, execution=None)
        assert (mine.execution is None) == (other.execution is None)
        assert mine.execution is None or other.execution is not None
        if mine.execution is not None and other.execution is not None:
            assert mine.execution.outcome == other.execution.outcome and mine.execution.slots == other.execution.slots


def test_a_file_that_cannot_be_read_is_an_error_among_others(tmp_path) -> None:  # type: ignore[no-untyped-def]
    from gpudiy.litmus.printer import print_test

    good, bad = tmp_path / "good.litmus", tmp_path / "bad.litmus"
    good.write_text(print_test(SOME[0]))
    bad.write_text("no test")
    first, second = decide_files([str(good), str(bad)], FileDecider(("sc",), HowToDecide()), jobs=1)
    (row,) = first[0].rows
    assert isinstance(row, VerdictRow) and row.verdict is decide(SOME[0], load_model("sc")).answer
    assert isinstance(second[0], DecidedTest) and "bad.litmus" in second[0].error and not second[0].rows
