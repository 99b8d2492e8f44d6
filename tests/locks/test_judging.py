"""Locks as people write them: who is inside, how a loop ends, and where the threads are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpudiy.cli import main
from gpudiy.errors import InputError
from gpudiy.locks.fix import fix_lock
from gpudiy.locks.generation import list_cases
from gpudiy.locks.lock import Lock
from gpudiy.locks.placement import ThreadPlacement, WidestPlacement
from gpudiy.locks.question import Question
from gpudiy.locks.report import Judgement, LockReport, check_lock
from gpudiy.locks.source import Reading, read_lock
from locks.known import known, needs_compiler

GIVE_BACK = "__device__ void unlock(int *m) { __threadfence(); atomicExch(m, 0); }\n"
WRONG = {
    "gives-up": "for (int i = 0; i < 1000; ++i) if (atomicCAS(m, 0, 1) == 0) break; __threadfence();",
    "gives-up-after-a-while": "long long t = clock64();"
    " while (atomicCAS(m, 0, 1) != 0) if (clock64() - t > 100000) break; __threadfence();",
    "gives-up-counting-down": "int left = 5000; while (atomicExch(m, 1) != 0 && --left > 0) ; __threadfence();",
    "if": "if (atomicCAS(m, 0, 1) != 0) __nanosleep(100); __threadfence();",
    "looks-twice": "if (atomicCAS(m, 0, 1) != 0) if (atomicCAS(m, 0, 1) != 0) __nanosleep(100); __threadfence();",
}
RIGHT = {
    "backs-off": "unsigned ns = 8; while (atomicCAS(m, 0, 1) != 0) { __nanosleep(ns); if (ns < 256) ns *= 2; }"
    " __threadfence();",
    "counts-failures": "int n = 0; while (atomicCAS(m, 0, 1) != 0) if (++n > 100) { __nanosleep(n); n = 0; }"
    " __threadfence();",
    "looks-at-the-clock": "long long t = clock64(); while (atomicCAS(m, 0, 1) != 0) if (clock64() - t > 1000)"
    " { __nanosleep(50); t = clock64(); } __threadfence();",
    "first-fast-then-slow": "if (atomicCAS(m, 0, 1) != 0) while (atomicCAS(m, 0, 1) != 0) ; __threadfence();",
    "sets-a-bit": "while (atomicOr(m, 1) & 1) ; __threadfence();",
}


def read(body: str, release: str = GIVE_BACK, placement: WidestPlacement | None = None) -> Lock:
    source = f"__device__ void lock(int *m) {{ {body} }}\n{release}"
    return read_lock(source, "mine.cu", Reading(placement=placement))


def first_witness(report: LockReport) -> Question:
    return next(report.find_witnesses()).made.case.question


@needs_compiler
@pytest.mark.parametrize("name", WRONG)
def test_who_enters_without_the_lock_is_inside(name: str) -> None:
    report = check_lock(read(WRONG[name]), models="sc")
    assert report.judgement is Judgement.WRONG
    assert first_witness(report) is Question.MUTUAL_EXCLUSION
    assert not report.lock.ways or "of 3 threads, one or all leave the direct way" in str(report)


@needs_compiler
@pytest.mark.parametrize("name", RIGHT)
def test_failed_attempts_that_change_nothing_are_harmless(name: str) -> None:
    lock = read(RIGHT[name])
    assert not lock.gaps and not lock.ways
    assert check_lock(lock).judgement is Judgement.RIGHT


@needs_compiler
def test_the_caller_of_a_try_lock_enters_only_if_it_has_the_lock() -> None:
    taking = "if (atomicCAS(m, 0, 1) == 0) { __threadfence(); return true; }"
    for loop in ("", "for (int i = 0; i < 1000; ++i)"):
        source = f"__device__ bool try_lock(int *m) {{ {loop} {taking} return false; }}\n{GIVE_BACK}"
        lock = read_lock(source, "try.cu")
        assert not lock.gaps and check_lock(lock).judgement is Judgement.RIGHT


@needs_compiler
def test_a_lock_among_many_is_given_back() -> None:
    source = (
        "__device__ int LOCKS[64];\n"
        "__device__ bool lock(int i) { return 0 == atomicCAS(&LOCKS[i], 0, 1); }\n"
        "__device__ void unlock(int i) { %satomicExch(&LOCKS[i], 0); }\n"
    )
    report = check_lock(read_lock(source % "", "many.cu"))
    assert report.judgement is Judgement.WRONG and not report.lock.fault
    assert Question.MUTUAL_EXCLUSION not in report.wrong_questions("ptx-6.0")
    assert "not released" not in str(report) and "never released" not in str(report)


@needs_compiler
def test_who_gives_back_what_it_does_not_have_breaks_the_lock() -> None:
    source = (
        "__device__ void f(int *m) { bool got = atomicCAS(m, 0, 1) == 0; if (got) { __threadfence();\n"
        "// critical section\n} __threadfence(); atomicExch(m, 0); }\n"
    )
    report = check_lock(read_lock(source, "passing.cu"), models="sc")
    assert report.judgement is Judgement.WRONG and first_witness(report) is Question.MUTUAL_EXCLUSION
    assert len(report.lock.passers) == 1


@needs_compiler
def test_a_counter_tells_the_caller_who_has_the_lock() -> None:
    body = "int i;\n#pragma unroll 1\nfor (i = 0; i < 100; ++i) { if (atomicCAS(m, 0, 1) == 0) break; __nanosleep(i); }"
    source = f"__device__ bool lock(int *m) {{ {body} __threadfence(); return i < 100; }}\n{GIVE_BACK}"
    assert check_lock(read_lock(source, "try.cu")).judgement is Judgement.RIGHT
    always = source.replace("return i < 100", "return i <= 100")
    assert check_lock(read_lock(always, "try.cu")).judgement is Judgement.WRONG


@needs_compiler
def test_a_failed_attempt_that_releases_the_lock_of_another_thread() -> None:
    lock = read("for (;;) { while (*(volatile int *)m) ; if (atomicExch(m, 1) == 0) break; atomicExch(m, 0); }")
    report = check_lock(lock, models="sc")
    assert lock.gaps and report.judgement is Judgement.WRONG and first_witness(report) is Question.MUTUAL_EXCLUSION


def write_description(folder: Path, acquire: str, release: str) -> Path:
    file = folder / "mine.lock"
    file.write_text(f"lock mine\nvariables m = 0\nacquire:\n{acquire}\nrelease:\n{release}\n")
    return file


LOUD = """again:
    atom.add.u32 r0, [m], 1
    setp.eq.s32 p, r0, 0
    @p bra inside
    bra again
inside:
    membar.gl"""


def test_what_is_not_covered_is_unknown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each failed attempt adds 1: no bound on their number is complete."""
    file = write_description(tmp_path, LOUD, "    membar.gl\n    atom.exch.b32 r1, [m], 0")
    report = check_lock(file, models="sc")
    assert report.lock.gaps and report.judgement is Judgement.UNKNOWN
    assert "a failed attempt writes m" in report.reason("sc")
    assert "no answer by sc" in str(report)
    assert main(["lock", "check", str(file), "-m", "sc", "-q", "--json"]) == 3
    rows = [json.loads(line) for line in capsys.readouterr().out.split("\n") if line.startswith("{")]
    assert any("a failed attempt writes m" in row.get("gap", "") for row in rows)
    assert main(["lock", "fix", str(file), "-m", "sc", "-q"]) == 3


@pytest.mark.parametrize("release", ["atom.exch.b32 r1, [m], 1", "membar.gl"])
def test_a_lock_that_is_never_released_is_wrong(release: str, tmp_path: Path) -> None:
    acquire = "again: atom.cas.b32 r0, [m], 0, 1\n setp.ne.s32 p, r0, 0\n @p bra again\n membar.gl"
    file = write_description(tmp_path, acquire, release)
    report = check_lock(file)
    assert report.judgement is Judgement.WRONG and "never released" in str(report)
    assert main(["lock", "check", str(file), "-q"]) == 1
    assert main(["lock", "fix", str(file), "-q"]) == 1


SHARED = """__shared__ int m;
__device__ void lock() { while (atomicCAS(&m, 0, 1) != 0) ; %s }
__device__ void unlock() { __threadfence_block(); atomicExch(&m, 0); }
"""


@needs_compiler
def test_a_lock_in_shared_memory_is_asked_about_in_one_cta() -> None:
    lock = read_lock(SHARED % "__threadfence_block();", "shared.cu")
    assert {case.setting.placement for case in list_cases(lock)} == {ThreadPlacement.WARP, ThreadPlacement.CTA}
    report = check_lock(lock)
    assert report.judgement is Judgement.RIGHT and "in one CTA, because the lock is in shared memory" in str(report)
    fix = fix_lock(read_lock(SHARED % "", "shared.cu"), most=1)
    assert fix.repairs and not any(".gpu" in change or ".sys" in change for change in fix.repairs[0].changes)
    with pytest.raises(InputError, match="belongs to one CTA"):
        read_lock(SHARED % "", "shared.cu", Reading(placement=WidestPlacement.GPU))


def test_an_access_of_shared_memory_says_where_the_lock_is(tmp_path: Path) -> None:
    acquire = "again: atom.shared.cas.b32 r0, [m], 0, 1\n setp.ne.s32 p, r0, 0\n @p bra again\n membar.cta"
    report = check_lock(write_description(tmp_path, acquire, " membar.cta\n atom.shared.exch.b32 r1, [m], 0"))
    assert report.lock.placement is WidestPlacement.CTA and report.judgement is Judgement.RIGHT


@needs_compiler
def test_the_author_says_how_far_apart_the_threads_are() -> None:
    name = "compare-and-swap-cta"
    assert check_lock(name).judgement is Judgement.WRONG
    inside = check_lock(name, reading=Reading(placement=WidestPlacement.CTA))
    assert inside.judgement is Judgement.RIGHT
    assert ("every model", "2 or 3 threads in one CTA") in inside.assumptions
    assert check_lock("compare-and-swap", reading=Reading(placement=WidestPlacement.SYS)).judgement is Judgement.WRONG
    assert fix_lock(name, reading=Reading(placement=WidestPlacement.CTA)).right


@needs_compiler
def test_placement_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "compare-and-swap-cta"
    assert main(["lock", "check", name, "-q", "--placement", "cta"]) == 0
    assert "note: assumed: 2 or 3 threads in one CTA\n" in capsys.readouterr().out
    assert main(["lock", "check", name, "-q", "--json", "--placement", "cta"]) == 0
    assert '"assumption": "2 or 3 threads in one CTA"' in capsys.readouterr().out
    assert main(["lock", "fix", name, "-q", "--placement", "cta"]) == 0
    assert "2 or 3 threads in one CTA" in capsys.readouterr().out
    assert main(["lock", "tests", name, "-q", "--placement", "warp", "-o", str(tmp_path)]) == 0
    assert all("+warp" in file.name for file in tmp_path.iterdir())
    assert main(["lock", "check", name, "-q", "--placement", "block"]) == 2


@needs_compiler
def test_the_paths_of_the_library_are_complete() -> None:
    from gpudiy.locks.library import list_library

    for entry in list_library():
        lock = known(entry.name)
        assert not lock.gaps and not lock.passers and not lock.fault, entry.name


@needs_compiler
def test_a_counter_decides_whether_a_thread_waits_on() -> None:
    """The value of the counter is not known after the loop, so more ways than there are are asked about."""
    body = "int i;\n#pragma unroll 1\nfor (i = 0; i < 100; ++i) if (atomicCAS(m, 0, 1) == 0) break;\n"
    lock = read(body + "while (i == 100 && atomicCAS(m, 0, 1) != 0) ; __threadfence();")
    assert lock.ways and not lock.gaps
    assert check_lock(lock, models="sc").judgement is Judgement.RIGHT
