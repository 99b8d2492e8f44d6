"""How fast `gpudiy model` decides many files, and how `-j` scales.

    python bench/model_files.py [TESTS]

The tests (10,000 by default) have two to four threads and are made from Pod**, three fences, Rfe, Fre and Coe. The
baseline is `-j 1` in the same run. Two figures for `-j 2`: how many times as fast it is by the clock, which says
something only on a machine with two free cores; and how much more CPU time it takes, which says what sharing the work
costs on any machine.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from gpudiy.diy.cycle import CycleLimits
from gpudiy.diy.generator import Generator, Recipe, Trees
from gpudiy.diy.vocabulary import fill_open_ends, parse_edges

EDGES = "Pod** MembarCtad** MembarGld** MembarSysd** Rfe Fre Coe"
TESTS = 10_000


class Cost(NamedTuple):
    """Of one call: seconds by the clock, CPU seconds of all its processes."""

    wall: float
    cpu: float


def write_tests(folder: Path, count: int) -> int:
    """Write so many tests, one file each; return how many there are."""
    edges = fill_open_ends(parse_edges(EDGES, "bench").edges)
    recipe = Recipe(edges, limits=CycleLimits(edges=8, threads=4), trees=Trees.ALL)
    written = 0
    for blueprint in islice(Generator(recipe).blueprints(), count):
        (folder / f"{written}.litmus").write_text(blueprint.text())
        written += 1
    return written


def decide_folder(folder: Path, model: str, jobs: int) -> tuple[Cost, str]:
    """Call the command line as a user does; what it cost, and the table it printed."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    words = ["-m", "gpudiy", "model", str(folder), "-m", model, "--csv", "-q", "-j", str(jobs)]
    done = subprocess.run([sys.executable, *words], check=True, capture_output=True, text=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(wall, cpu), done.stdout


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else TESTS
    with tempfile.TemporaryDirectory() as name:
        written = write_tests(Path(name), count)
        print(f"{written:,} tests of up to four threads, one file each; reading and printing included")
        for model in ("tso", "ptx-asplos15", "ptx-6.0"):
            (one, table), (two, same) = (decide_folder(Path(name), model, jobs) for jobs in (1, 2))
            if table != same:
                print(f"{model}: -j 2 prints other verdicts than -j 1")
                return 1
            print(
                f"{model:<14}{written / one.cpu:7,.0f} verdicts per CPU second   -j 2: {one.wall / two.wall:.2f} times"
                f" as fast as -j 1, for {two.cpu / one.cpu:.2f} times its CPU time"
            )
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"most memory of a process: {memory:.0f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
