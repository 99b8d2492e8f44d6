"""How fast tests become checked binaries: from .litmus text to cubins that optcheck found unchanged, for sm_90.

    python bench/build.py [TESTS]

The 10,000 tests are all of the families classic, dependencies, rmw and modern, then some of thesis; TESTS asks for
fewer, in runs of 100 neighbours. Nothing is in the cache. Baselines in the same run, on a sample: one call of NVRTC a
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
from gpudiy.harness.build import BuildResult, build_tests
from gpudiy.harness.built import BuiltTest
from gpudiy.harness.checking import FUNCTIONS, disassemble_cubin, select_functions
from gpudiy.harness.frame import find_frame
from gpudiy.harness.nvrtc import compiler_for
from gpudiy.harness.source import Dialect, module_source, render_test
from gpudiy.litmus import read_test
from gpudiy.litmus.test import Test
from optcheck.binary import read_binary
from optcheck.check import check_functions
from optcheck.listing import read_listing

ARCHITECTURE = "sm_90"
FAMILIES = ("classic", "dependencies", "rmw", "modern", "thesis")
WORKERS = 2
RUN = 100
SAMPLE = 5  # tests of the baselines
TARGET, TARGET_OF_OPTCHECK = 250, 2000


def texts(count: int) -> list[str]:
    made = (
        blueprint.text()
        for family in FAMILIES
        for blueprint in Generator(families.FAMILIES[family].recipe()).blueprints()
    )
    different = dict.fromkeys(islice(made, 10_500))  # families overlap
    return drawn(list(different)[:10_000], count)


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


def whole_build(found: list[str], folder: Path) -> tuple[float, float]:
    """Tests a second on the wall and a second of processors."""
    outcomes: list[BuildResult] = []
    wall, cpu = timed(lambda: outcomes.extend(build_tests(map(read_test, found), ARCHITECTURE, folder, WORKERS)))
    tests: list[Test] = []
    reading = timed(lambda: tests.extend(map(read_test, found)))
    again = timed(lambda: list(build_tests(tests, ARCHITECTURE, folder, WORKERS)))
    verdicts = Counter(
        built.optcheck or "not runnable" if isinstance(built, BuiltTest) else "failed" for _, built in outcomes
    )
    listed = ", ".join(f"{count:,} {verdict}" for verdict, count in verdicts.most_common())
    rate, of_processors = len(outcomes) / wall, len(outcomes) / cpu
    alone = WORKERS * of_processors
    print(f"build, {WORKERS} workers: {len(outcomes):,} tests in {wall:,.0f} s, {rate:,.0f}/s on the wall")
    print(f"  {1000 / of_processors:.1f} ms of CPU a test: {alone:,.0f}/s on {WORKERS} cores of its own", end=" ")
    print(f"({alone / TARGET:.2f} of the {TARGET}/s target)")
    print(f"  {listed}")
    print(f"  again from the cache: {_seconds(again)}, after {_seconds(reading)} to read the tests")
    return rate, of_processors


def _seconds(measured: tuple[float, float]) -> str:
    return f"{measured[0]:.2f} s ({measured[1]:.2f} s of CPU)"


def optcheck(folder: Path) -> None:
    """Of the cubins that were built, disassembled."""
    binaries = [path.read_bytes() for path in sorted(folder.glob("*/*.cubin"))]
    listings = [select_functions(disassemble_cubin(binary), FUNCTIONS) for binary in binaries]
    found_tests = [read_binary(binary).tests for binary in binaries]
    frames = {
        (name, id(test)): find_frame(name, test) for named in found_tests for name, own in named.items() for test in own
    }

    def check() -> None:
        for listing, tests in zip(listings, found_tests, strict=True):
            for _ in check_functions(
                read_listing(listing), tests, ARCHITECTURE, lambda name, test: frames[name, id(test)]
            ):
                pass

    wall, cpu = timed(check)
    functions = sum(map(len, found_tests))
    count = sum(len(tests) for named in found_tests for tests in named.values())
    rate = count / cpu
    print(f"optcheck, one core: {count:,} tests in {functions:,} functions, {_seconds((wall, cpu))}")
    print(f"  {functions / cpu:,.0f} functions and {rate:,.0f} tests a second of CPU", end=" ")
    print(f"({rate / TARGET_OF_OPTCHECK:.2f} of the {TARGET_OF_OPTCHECK:,} target)")


def baselines(tests: list[Test], rates: tuple[float, float]) -> None:
    sources = [module_source([render_test(test, Dialect.CUDA)], Dialect.CUDA) for test in tests]
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
    found = texts(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
    with tempfile.TemporaryDirectory() as folder:
        rates = whole_build(found, Path(folder))
        optcheck(Path(folder))
    baselines([read_test(text) for text in found[:: max(1, len(found) // SAMPLE)]][:SAMPLE], rates)


if __name__ == "__main__":
    main()
