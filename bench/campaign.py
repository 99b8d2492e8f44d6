"""What a campaign adds to the verbs it drives, at two sizes: CPU and wall time of both in the same run.

The baseline is `gpudiy generate`, then `gpudiy run` of the same tests on the same simulated chip with the same
iterations and seed. A campaign does that and keeps every record safe; its ratio must stay near 1 at both sizes.
Then the same campaign on two Dask workers against one.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PLAN = """
report = false
[tests]
paths = ["tests"]
[models]
names = []
[run]
devices = ["{device}"]
iterations = {iterations}
seeds = [1]
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="200,2000", help="numbers of tests (default: %(default)s)")
    parser.add_argument("--iterations", type=int, default=65536, help="of a test (default: %(default)s)")
    parser.add_argument("--device", default="sim:kepler", help="a simulated chip (default: %(default)s)")
    parser.add_argument("--cluster-tests", type=int, default=500, help="tests on Dask workers (default: %(default)s)")
    arguments = parser.parse_args()
    for size in map(int, arguments.sizes.split(",")):
        with tempfile.TemporaryDirectory(prefix="gpudiy-bench-") as folder:
            measure(Path(folder), size, arguments.iterations, arguments.device)
    if arguments.cluster_tests:
        measure_cluster(arguments.cluster_tests, arguments.device)


def measure(folder: Path, size: int, iterations: int, device: str) -> None:
    choose_tests(folder, size)
    (folder / "plan.toml").write_text(PLAN.format(device=device, iterations=iterations))
    verbs = seconds(
        "run", str(folder / "tests"), "-d", device, "-s", str(iterations), "--seed", "1", "-q",
        "-o", str(folder / "log.parquet"),
    )  # fmt: skip
    campaign = seconds("campaign", "run", str(folder / "plan.toml"), "-q")
    print(
        f"{size:,} tests x {iterations:,} iterations on {device}: run {verbs:.2f} s, campaign {campaign:.2f} s, "
        f"ratio {campaign / verbs:.3f} (at most 1.05 asked)",
        flush=True,
    )


def measure_cluster(size: int, device: str, iterations: int = 1 << 20) -> None:
    """The time that two workers need of the time of one; starting them is part of it."""
    taken = {}
    for workers in (1, 2):
        with tempfile.TemporaryDirectory(prefix="gpudiy-bench-") as name:
            folder = Path(name)
            choose_tests(folder, size)
            (folder / "plan.toml").write_text(PLAN.format(device=device, iterations=iterations))
            taken[workers] = seconds("campaign", "run", str(folder / "plan.toml"), "-q", "--workers", str(workers))
    print(
        f"{size:,} tests x {iterations:,} iterations on Dask workers: 1 worker {taken[1]:.1f} s, 2 workers "
        f"{taken[2]:.1f} s, ratio {taken[2] / taken[1]:.2f} (at most 0.65 asked)"
    )


def choose_tests(folder: Path, size: int) -> None:
    """So many tests of the family scoped, evenly chosen."""
    everything, chosen = folder / "all", folder / "tests"
    gpudiy("generate", "--family", "scoped", "-o", str(everything), "-q")
    chosen.mkdir()
    found = sorted(everything.glob("*.litmus"))
    for number in range(size):
        source = found[number * len(found) // size]
        source.rename(chosen / source.name)
    shutil.rmtree(everything)


def seconds(*words: str) -> float:
    start = time.perf_counter()
    gpudiy(*words)
    return time.perf_counter() - start


def gpudiy(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "gpudiy", *words], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
