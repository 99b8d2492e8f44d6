"""How long it takes to check all locks of the library, under two models on two cores.

The baseline, in the same run, is what it takes when nothing is shared: every setting of a sample of locks decided by
itself.
"""

from __future__ import annotations

import sys
import time

from gpudiy.locks.generation import build_lock_test, list_cases
from gpudiy.locks.judge import LIMIT as DECIDE_LIMIT
from gpudiy.locks.judge import LockJudge
from gpudiy.locks.source import library_names, load_lock
from gpudiy.models.deciding import HowToDecide, decide_pairs
from gpudiy.models.library import load_model

MODELS = ("ptx-6.0", "ptx-asplos15")
LIMIT = 60.0  # seconds
SAMPLE = ("he-yu-spinlock", "cuda-by-example-fixed")


def main() -> int:
    start = time.perf_counter()
    locks = [load_lock(name) for name in library_names()]
    read = time.perf_counter() - start
    judge = LockJudge(MODELS)
    findings = judge.judge(locks, jobs=2)
    whole = time.perf_counter() - start
    print(f"{len(locks)} locks read, compiled and followed in {read:.1f} s")
    print(f"{len(findings):,} answers from {len(judge.verdicts):,} distinct tests in {whole:.1f} s on two cores; "
          f"{LIMIT / whole:.1f} times as fast as the {LIMIT:.0f} s that are expected")  # fmt: skip
    sample = [lock for lock in locks if lock.name in SAMPLE]
    start = time.perf_counter()
    LockJudge(MODELS).judge(sample, jobs=2)
    shared = time.perf_counter() - start
    tests = [made.test for lock in sample for case in list_cases(lock) if (made := build_lock_test(case)) is not None]
    pairs = [(test, load_model(model)) for test in tests for model in MODELS]
    start = time.perf_counter()
    list(decide_pairs(pairs, HowToDecide(limit=DECIDE_LIMIT), 2, executions=False))
    alone = time.perf_counter() - start
    print(f"each distinct test once: {alone / shared:.1f} times as fast as every setting by itself")
    return int(whole > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
