"""How fast tests become checked binaries: from .litmus text to cubins that optcheck found unchanged, for sm_80.

    python bench/build.py [TESTS]

The tests are the first TESTS (default: 1,000) of the families dependencies, rmw and modern that sm_80 takes; nothing is
in the cache. Baselines in the same run, on a sample: one call of NVRTC a test and, where it is installed, one call of
nvcc a test. CPU time counts the disassembler too.
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from gpudiy.diy import families
from gpudiy.diy.generator import Generator
from gpudiy.harness.build import build, build_batch, toolchain_folder
from gpudiy.harness.checking import disassembled, only_tests
from gpudiy.harness.module import PlayPtx, assembler_for
from gpudiy.harness.nvrtc import compiler_for
from gpudiy.harness.source import Dialect, module_source, play_source
from gpudiy.litmus import read_test
from gpudiy.litmus.reader import Piece
from gpudiy.litmus.test import Test
from optcheck.check import check_kernels

ARCHITECTURE = "sm_80"
SAMPLE = 5  # tests of the baselines
CHECKED = 200  # tests of the measurement of optcheck
TARGET, TARGET_OF_OPTCHECK = 250, 2000


def texts(count: int) -> list[str]:
    made = (
        blueprint.text()
        for family in ("dependencies", "rmw", "modern")
        for blueprint in Generator(families.FAMILIES[family].recipe()).blueprints()
    )
    return list(islice((text for text in made if "cluster" not in text), count))


def cpu_seconds() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(found.ru_utime + found.ru_stime for found in used)


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds on the wall and of processors."""
    wall, cpu = time.perf_counter(), cpu_seconds()
    work()
    return time.perf_counter() - wall, cpu_seconds() - cpu


def whole_build(pieces: list[Piece]) -> float:
    """Tests a second with two workers, and what became of the tests."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        outcomes = list(build(pieces, ARCHITECTURE, Path(folder), 2))
        rate = len(pieces) / (time.perf_counter() - start)
        start = time.perf_counter()
        again = list(build(pieces, ARCHITECTURE, Path(folder), 2))
        rerun = time.perf_counter() - start
    verdicts = Counter(found.entry.verdict or "not runnable" if found.entry else "failed" for found in outcomes)
    listed = ", ".join(f"{count:,} {verdict}" for verdict, count in verdicts.most_common())
    print(f"build, 2 workers: {len(outcomes):,} tests at {rate:,.0f}/s ({rate / TARGET:.2f} of the {TARGET}/s wanted)")
    print(f"  {listed}; again from the cache: {rerun:.2f} s for {len(again):,}")
    return rate


def one_batch(pieces: list[Piece]) -> None:
    """The processor time of a test, which a busy machine disturbs less."""
    with tempfile.TemporaryDirectory() as folder:
        _, cpu = timed(lambda: build_batch(pieces, ARCHITECTURE, toolchain_folder(Path(folder), ARCHITECTURE)))
    print(f"build, one batch of {len(pieces):,}: {1000 * cpu / len(pieces):.1f} ms of CPU a test")


def optcheck(tests: list[Test]) -> None:
    plays = list({play.name: play for play in map(PlayPtx.of, tests)}.values())
    listing = only_tests(disassembled(assembler_for(ARCHITECTURE).compile(plays)))
    named = {play.name: play.test for play in plays}
    _, cpu = timed(lambda: list(check_kernels(listing, named, ARCHITECTURE)))
    rate = len(plays) / cpu
    print(
        f"optcheck, one core: {rate:,.0f} tests/s ({rate / TARGET_OF_OPTCHECK:.2f} of the {TARGET_OF_OPTCHECK} wanted)"
    )


def baselines(tests: list[Test], rate: float) -> None:
    sources = [module_source([play_source(test, Dialect.CUDA)], Dialect.CUDA) for test in tests]
    compiler = compiler_for(ARCHITECTURE)
    wall, _ = timed(lambda: [compiler.compile(source, ARCHITECTURE) for source in sources])
    single = len(sources) / wall
    print(f"NVRTC, one call a test, no check: {single:.1f}/s: gpudiy build is {rate / single:,.0f} times as fast")
    if shutil.which("nvcc") is None:
        print("nvcc is not installed: no comparison")
        return
    wall, _ = timed(lambda: [nvcc(source) for source in sources])
    single = len(sources) / wall
    print(f"nvcc, one call a test, no check: {single:.1f}/s: gpudiy build is {rate / single:,.0f} times as fast")


def nvcc(source: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "test.cu").write_text(source)
        subprocess.run(["nvcc", f"-arch={ARCHITECTURE}", "-cubin", "test.cu"], cwd=folder, check=True)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    pieces = [Piece(text) for text in texts(count)]
    rate = whole_build(pieces)
    one_batch(pieces[:500])
    every = max(1, len(pieces) // CHECKED)
    optcheck([read_test(piece.text) for piece in pieces[::every]])
    baselines([read_test(piece.text) for piece in pieces[:: max(1, len(pieces) // SAMPLE)]][:SAMPLE], rate)


if __name__ == "__main__":
    main()
