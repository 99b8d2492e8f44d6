"""Answers about locks agree with the exploration of whole programs: `lock; x = x + 1; unlock` in every thread."""

from __future__ import annotations

import pytest

from gpudiy.locks.library import list_library
from gpudiy.locks.placement import ThreadPlacement
from gpudiy.locks.question import Question
from gpudiy.locks.source import read_lock
from gpudiy.models.library import load_model
from gpudiy.models.verdict import Answer, decide
from locks.known import findings, known, needs_compiler
from locks.whole_program import write_whole_program

pytestmark = needs_compiler
NAMES = [entry.name for entry in list_library() if entry.name != "he-yu-counter"]  # it uses local memory
PLACES = (ThreadPlacement.CTA, ThreadPlacement.CTAS)
RELEASE = "__device__ void unlock(int *m) { __threadfence(); atomicExch(m, 0); }\n"
ENTERING = {
    "while": ("__device__ void lock(int *m) { while (atomicCAS(m, 0, 1) != 0) ; __threadfence(); }\n", False),
    "if": ("__device__ void lock(int *m) { if (atomicCAS(m, 0, 1) != 0) __nanosleep(9); __threadfence(); }\n", True),
    "gives-up": (
        "__device__ void lock(int *m) {\n#pragma unroll 1\n"
        "for (int i = 0; i < 3; ++i) if (atomicCAS(m, 0, 1) == 0) break; __threadfence(); }\n",
        True,
    ),
    "tries": (
        "__device__ bool try_lock(int *m) {\n#pragma unroll 1\n"
        "for (int i = 0; i < 3; ++i) if (atomicCAS(m, 0, 1) == 0) { __threadfence(); return true; }\nreturn false; }\n",
        False,
    ),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("placement", PLACES)
@pytest.mark.parametrize("model", ["ptx-6.0", "ptx-asplos15"])
def test_an_increment_is_lost_exactly_where_the_answer_says_so(
    name: str, placement: ThreadPlacement, model: str
) -> None:
    whole = decide(write_whole_program(known(name).program, 2, placement), load_model(model), unroll=2)
    asked = [
        found.verdict
        for found in findings(name, model)
        if found.case.question is Question.LOST_UPDATE
        and found.case.threads == 2
        and found.case.setting.placement is placement
        and not found.case.setting.uses_shared_memory
    ]
    assert asked
    if whole.answer is Answer.NOT_SUPPORTED:
        assert all(verdict.answer is Answer.NOT_SUPPORTED for verdict in asked)
    else:
        assert any(verdict.allowed for verdict in asked) == whole.allowed


@pytest.mark.parametrize("name", NAMES)
def test_so_it_is_with_three_threads(name: str) -> None:
    program = known(name).program
    whole = decide(write_whole_program(program, 3, ThreadPlacement.CTAS), load_model("ptx-6.0"), unroll=1)
    wrong = any(f.verdict.allowed for f in findings(name, "ptx-6.0") if f.case.question is Question.LOST_UPDATE)
    assert whole.allowed == wrong


@pytest.mark.parametrize("name", NAMES)
def test_no_lock_of_the_library_lets_two_threads_in_where_memory_is_in_order(name: str) -> None:
    program = known(name).program
    whole = decide(write_whole_program(program, 2, ThreadPlacement.CTAS, count=True), load_model("sc"), unroll=2)
    inside = [f for f in findings(name, "sc") if f.case.question is Question.MUTUAL_EXCLUSION]
    assert not whole.allowed and inside and not any(found.verdict.allowed for found in inside)


@pytest.mark.parametrize("name", ENTERING)
def test_two_threads_are_inside_exactly_where_the_answer_says_so(name: str) -> None:
    """Also where a thread enters after it gave up, under sequential consistency: it is not a matter of fences."""
    from gpudiy.locks.judge import LockJudge

    source, wrong = ENTERING[name]
    lock = read_lock(source + RELEASE, f"{name}.cu")
    whole = decide(write_whole_program(lock.program, 2, ThreadPlacement.CTAS, count=True), load_model("sc"), unroll=4)
    inside = [f for f in LockJudge(("sc",)).judge([lock]) if f.case.question is Question.MUTUAL_EXCLUSION]
    assert whole.allowed == any(found.verdict.allowed for found in inside) == wrong
