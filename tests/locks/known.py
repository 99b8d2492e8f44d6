"""What the tests of locks share: locks read once, and what is known of them."""

from __future__ import annotations

from functools import cache

import pytest

from gpudiy.harness.nvrtc import compilers
from gpudiy.litmus import Test
from gpudiy.locks.generation import Case, build_lock_test, list_cases
from gpudiy.locks.judge import CaseVerdict, LockJudge
from gpudiy.locks.lock import Lock
from gpudiy.locks.question import Question
from gpudiy.locks.source import load_lock

needs_compiler = pytest.mark.skipif(not compilers(), reason="NVRTC, the compiler of CUDA, is not there")
ORDERS = {Question.STALE_VALUE, Question.FUTURE_VALUE, Question.LOST_UPDATE, Question.LEAK_AT_ACQUIRE,
          Question.LEAK_AT_RELEASE}  # fmt: skip


@cache
def known(name: str) -> Lock:
    return load_lock(name)


@cache
def findings(name: str, model: str) -> tuple[CaseVerdict, ...]:
    return tuple(LockJudge((model,)).judge([known(name)]))


def wrong(name: str, model: str) -> set[Question]:
    return {f.case.question for f in findings(name, model) if f.verdict.allowed}


def plain_cases(lock: Lock) -> list[Case]:
    return list({case.plain.name: case.plain for case in list_cases(lock)}.values())


def all_tests(lock: Lock) -> list[Test]:
    return [made.test for case in list_cases(lock) if (made := build_lock_test(case)) is not None]
