"""The tests that are made of locks: they mean what they say, and say it in litmus text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpudiy.litmus import content_hash, print_test, read_test
from gpudiy.litmus.access import Space
from gpudiy.litmus.condition import And, Compare, Constant, FinalRegister
from gpudiy.locks.generation import build_lock_test, list_cases
from gpudiy.locks.judge import is_asked
from gpudiy.locks.placement import ThreadPlacement
from gpudiy.locks.question import Question
from gpudiy.locks.thread_code import LockUse
from gpudiy.models.library import load_model
from gpudiy.models.verdict import decide
from locks.known import all_tests, known, needs_compiler, plain_cases

pytestmark = needs_compiler
ON_ONE_GPU = set(ThreadPlacement) - {ThreadPlacement.DEVICES}
NAMES = ["he-yu-spinlock", "he-yu-counter-fixed", "ticket", "test-and-test-and-set"]


@pytest.mark.parametrize("name", NAMES)
def test_they_are_ordinary_tests(name: str) -> None:
    made = all_tests(known(name))
    assert len({test.name for test in made}) == len(made)
    for test in made:
        assert content_hash(read_test(print_test(test))) == content_hash(test)


def test_every_question_is_put_to_two_and_three_threads_in_every_placement() -> None:
    asked = {(case.question, case.threads, case.setting.placement) for case in list_cases(known("he-yu-spinlock"))}
    for question in Question:
        assert {place for q, n, place in asked if q is question and n == 3} == ON_ONE_GPU
        assert {place for q, n, place in asked if q is question and n == 2} == ON_ONE_GPU - {ThreadPlacement.MIXED}


def test_lock_and_data_are_put_into_both_spaces_where_one_cta_uses_them() -> None:
    spaces = {
        (c.setting.lock, c.setting.data)
        for c in list_cases(known("ticket"))
        if c.setting.placement is ThreadPlacement.CTA
    }
    assert spaces == {(lock, data) for lock in Space for data in Space}
    assert all(
        c.setting.placement.one_cta
        for c in list_cases(known("ticket"))
        if Space.SHARED in (c.setting.lock, c.setting.data)
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_next_thread_can_see_what_it_should(name: str) -> None:
    """The outcome in question is not impossible for a trivial reason: with the right value it can be."""
    case = next(c for c in plain_cases(known(name)) if c.question is Question.STALE_VALUE and c.threads == 2)
    made = build_lock_test(case)
    assert made is not None
    expression = made.test.condition.expression
    assert isinstance(expression, And)
    *entered, stale = expression.parts
    assert isinstance(stale, Compare) and isinstance(stale.left, FinalRegister) and stale.right == Constant(0)
    fresh = And((*entered, replace(stale, right=Constant(1))))
    test = replace(made.test, condition=replace(made.test.condition, expression=fresh))
    assert decide(test, load_model("sc")).allowed


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("he-yu-spinlock", "ptx-6.0"),
        ("he-yu-spinlock", "ptx-asplos15"),
        *(
            pytest.param(name, model, marks=pytest.mark.heavy)
            for name in NAMES
            for model in ("ptx-6.0", "ptx-7.5", "sc")
        ),
    ],
)
def test_cases_that_are_called_the_same_are(name: str, model: str) -> None:
    """Every setting is decided by its plain twin: that must not change the answer."""
    for case in list_cases(known(name)):
        made, plain = build_lock_test(case), build_lock_test(case.plain)
        if case.plain == case or case.threads == 3 or made is None or plain is None or case.retry:
            continue
        if not is_asked(case, load_model(model)):
            continue
        assert decide(made.test, load_model(model)).answer == decide(plain.test, load_model(model)).answer


def test_failed_attempts_are_part_of_the_tests() -> None:
    lock = known("test-and-test-and-set")
    assert len(lock.retries) == 2  # the look fails, or the exchange does
    made = build_lock_test(next(c for c in list_cases(lock) if c.retry == 1))
    direct = build_lock_test(next(c for c in list_cases(lock) if c.retry == 0 and c.scenario.retries))
    assert made is not None and direct is not None
    assert len(made.test.threads[-1]) > len(direct.test.threads[-1])


def test_source_lines_stay_with_the_instructions() -> None:
    lock = known("he-yu-spinlock")
    made = build_lock_test(next(c for c in list_cases(lock) if c.question is Question.LOST_UPDATE and c.threads == 2))
    assert made is not None and made.case.scenario.parts[0].use is LockUse.USER
    lines = lock.program.source.split("\n")
    shown = [lines[line - 1].strip() for line in made.lines[0] if line]
    assert shown == ["atomicCAS(lockAddr, 0, 1);", "if (lockValue == 0) {", "*lockAddr = 0;", "__threadfence();"]
