"""How long it takes to ask everything of all locks of the library, under two models on two cores.

The baseline, in the same run, is what it takes when nothing is shared: every setting of a sample of locks decided by
itself.
"""

from __future__ import annotations

import sys
import time
from multiprocessing import Pool

from gpudiy.litmus.content import content_hash
from gpudiy.locks.generation import cases, lock_test
from gpudiy.locks.judgement import Judge, Task, decided
from gpudiy.locks.source import library_names, load_lock

MODELS = ("ptx-6.0", "ptx-asplos15")
LIMIT = 60.0  # seconds
SAMPLE = ("he-yu-spinlock", "cuda-by-example-fixed")


def main() -> int:
    start = time.perf_counter()
    locks = [load_lock(name) for name in library_names()]
    read = time.perf_counter() - start
    judge = Judge(MODELS)
    with Pool(2) as pool:
        findings = judge.judge_all(locks, lambda tasks: pool.imap_unordered(decided, tasks, chunksize=8))
        whole = time.perf_counter() - start
        print(f"{len(locks)} locks read, compiled and followed in {read:.1f} s")
        print(f"{len(findings):,} answers from {len(judge.said):,} distinct tests in {whole:.1f} s on two cores; "
              f"{LIMIT / whole:.1f} times as fast as the {LIMIT:.0f} s that are wanted")  # fmt: skip
        sample = [lock for lock in locks if lock.name in SAMPLE]
        start = time.perf_counter()
        Judge(MODELS).judge_all(sample, lambda tasks: pool.imap_unordered(decided, tasks, chunksize=8))
        shared = time.perf_counter() - start
        tests = [made.test for lock in sample for case in cases(lock) if (made := lock_test(case)) is not None]
        tasks = [
            Task((f"{content_hash(test)}{number}", m), test, m) for number, test in enumerate(tests) for m in MODELS
        ]
        start = time.perf_counter()
        list(pool.imap_unordered(decided, tasks, chunksize=8))
        alone = time.perf_counter() - start
    print(f"each distinct test once: {alone / shared:.1f} times as fast as every setting by itself")
    return int(whole > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
