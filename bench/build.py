"""How fast tests become checked binaries: from .litmus text to cubins that optcheck found unchanged, for sm_90.

    python bench/build.py [TESTS]

The 10,000 tests are all of the families classic, dependencies, rmw and modern, then some of thesis; TESTS asks for fewer
of them, in runs of 100 neighbours. Nothing is in the cache. Baselines in the same run, on a sample: one call of NVRTC a
test and, where it is installed, one call of nvcc a test. Seconds on the wall suffer from what else the machine does;
those of processors, which count the disassembler too, suffer less.
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
from multiprocessing import forkserver
from pathlib import Path

from gpudiy.diy import families
from gpudiy.diy.generator import Generator
from gpudiy.harness.build import BATCH, build
from gpudiy.harness.checking import PLAYS, disassembled, only
from gpudiy.harness.module import PlayPtx, assembler_for
from gpudiy.harness.nvrtc import compiler_for
from gpudiy.harness.source import Dialect, module_source, play_source
from gpudiy.litmus import read_test
from gpudiy.litmus.reader import Piece
from gpudiy.litmus.test import Test
from optcheck.check import check_functions
from optcheck.listing import read_listing

ARCHITECTURE = "sm_90"
FAMILIES = ("classic", "dependencies", "rmw", "modern", "thesis")
WORKERS = 2
RUN = 100
SAMPLE = 5  # tests of the baselines
CHECKED = 2000  # tests of the measurement of optcheck
TARGET, TARGET_OF_OPTCHECK = 250, 2000


def texts(count: int) -> list[str]:
    made = (
        blueprint.text()
        for family in FAMILIES
        for blueprint in Generator(families.FAMILIES[family].recipe()).blueprints()
    )
    return drawn(list(islice(made, 10_000)), count)


def drawn(items: list[str], count: int) -> list[str]:
    """So many, in runs of neighbours."""
    if count >= len(items):
        return items
    runs = -(-count // RUN)
    starts = (number * (len(items) - RUN) // max(1, runs - 1) for number in range(runs))
    return list({at: items[at] for start in starts for at in range(start, start + RUN)}.values())[:count]


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds on the wall and of processors."""
    wall, cpu = time.perf_counter(), _processor_seconds()
    work()
    return time.perf_counter() - wall, _processor_seconds() - cpu


def _processor_seconds() -> float:
    forkserver._forkserver._stop()  # type: ignore[attr-defined]  # the workers are its children; only now they count
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(found.ru_utime + found.ru_stime for found in used)


def whole_build(pieces: list[Piece]) -> tuple[float, float]:
    """Tests a second on the wall and a second of processors."""
    with tempfile.TemporaryDirectory() as folder:
        outcomes = []
        wall, cpu = timed(lambda: outcomes.extend(build(pieces, ARCHITECTURE, Path(folder), WORKERS)))
        again, _ = timed(lambda: list(build(pieces, ARCHITECTURE, Path(folder), WORKERS)))
    verdicts = Counter(found.entry.verdict or "not runnable" if found.entry else "failed" for found in outcomes)
    listed = ", ".join(f"{count:,} {verdict}" for verdict, count in verdicts.most_common())
    rate, of_processors = len(outcomes) / wall, len(outcomes) / cpu
    print(f"build, {WORKERS} workers: {len(outcomes):,} tests in {wall:,.0f} s, {rate:,.0f}/s on the wall")
    print(
        f"  {1000 / of_processors:.1f} ms of CPU a test: {WORKERS * of_processors:,.0f}/s on {WORKERS} cores of its own "
        f"({WORKERS * of_processors / TARGET:.2f} of the {TARGET}/s wanted)"
    )
    print(f"  {listed}; again from the cache: {again:.2f} s")
    return rate, of_processors


def optcheck(tests: list[Test]) -> None:
    """Of disassembled text, in batches as `gpudiy build` makes them."""
    batches = []
    for at in range(0, len(tests), BATCH):
        plays = [PlayPtx.of(test) for test in tests[at : at + BATCH]]
        named: dict[str, list[Test]] = {}
        for play in plays:
            named.setdefault(play.name, []).append(play.test)
        batches.append((only(disassembled(assembler_for(ARCHITECTURE).compile(plays)), PLAYS), named))
    functions = sum(len(named) for _, named in batches)

    def check() -> None:
        for listing, named in batches:
            for _ in check_functions(read_listing(listing), named, ARCHITECTURE):
                pass

    _, cpu = timed(check)
    rate = len(tests) / cpu
    print(
        f"optcheck, one core: {rate:,.0f} tests/s ({rate / TARGET_OF_OPTCHECK:.2f} of the {TARGET_OF_OPTCHECK} wanted), "
        f"{functions / cpu:,.0f} functions/s"
    )


def baselines(tests: list[Test], rates: tuple[float, float]) -> None:
    sources = [module_source([play_source(test, Dialect.CUDA)], Dialect.CUDA) for test in tests]
    compiler = compiler_for(ARCHITECTURE)
    _ratio("NVRTC", len(sources), timed(lambda: [compiler.compile(one, ARCHITECTURE) for one in sources]), rates)
    if shutil.which("nvcc") is None:
        print("nvcc is not installed: no comparison")
        return
    _ratio("nvcc", len(sources), timed(lambda: [_nvcc(source) for source in sources]), rates)


def _ratio(name: str, count: int, seconds: tuple[float, float], rates: tuple[float, float]) -> None:
    wall, cpu = count / seconds[0], count / seconds[1]
    print(
        f"{name}, one call a test, no check: {wall:.1f}/s on the wall, {cpu:.1f} a second of CPU: gpudiy build does "
        f"{rates[0] / wall:,.0f} and {rates[1] / cpu:,.0f} times as many"
    )


def _nvcc(source: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "test.cu").write_text(source)
        subprocess.run(["nvcc", f"-arch={ARCHITECTURE}", "-cubin", "test.cu"], cwd=folder, check=True)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    found = texts(count)
    rates = whole_build([Piece(text) for text in found])
    optcheck([read_test(text) for text in drawn(found, CHECKED)])
    baselines([read_test(text) for text in found[:: max(1, len(found) // SAMPLE)]][:SAMPLE], rates)


if __name__ == "__main__":
    main()
