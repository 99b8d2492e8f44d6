"""How fast families are generated, and in how much memory, against diy7 7.58.

Every figure is of a whole process, from its start to its last file, as those of diy7 are. Making a file costs what the
file system asks, whoever asks it; so the tests are written once into memory and once onto disk.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

EDGES = "Pod** MembarGld** Rfe Fre Coe"


@dataclass(frozen=True)
class Size:
    """Options of a run, how many tests it makes, and the CPU seconds diy7 takes for as many."""

    options: tuple[str, ...]
    tests: int
    runs: int
    baseline: float | None = None


SIZES = (
    Size(("--safe", EDGES, "--edges", "8", "--threads", "4"), 611, 5, 0.13),
    Size(("--safe", f"{EDGES} MembarCtad**", "--edges", "10", "--threads", "5"), 19_035, 2, 4.9),
    Size(("--safe", f"{EDGES} MembarCtad** MembarSysd**", "--edges", "10", "--threads", "5"), 71_540, 1),
)


@dataclass(frozen=True)
class Cost:
    seconds: float
    system: float
    megabytes: float


def measured(arguments: tuple[str, ...]) -> Cost:
    """CPU seconds and peak memory of `gpudiy generate` with these arguments."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-m", "gpudiy", "generate", "--quiet", *arguments]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"bench/diy.py: gpudiy generate failed with {child.returncode}")
    return Cost(used.ru_utime + used.ru_stime, used.ru_stime, used.ru_maxrss / 1024)


def best(arguments: tuple[str, ...], runs: int, folder: Path | None = None) -> Cost:
    """The cheapest of a few runs, each into a new directory."""
    costs = []
    for _ in range(runs):
        if folder is None:
            costs.append(measured(arguments))
            continue
        output = tempfile.mkdtemp(dir=folder)
        try:
            costs.append(measured((*arguments, "-o", output)))
        finally:
            # by another process: a child's peak counts what its parent held, so this one must stay small
            subprocess.run(["rm", "-rf", output], check=True)
    return min(costs, key=lambda cost: cost.seconds)


def ratio(size: Size, seconds: float) -> str:
    if size.baseline is None:
        return ""
    return f"   {size.baseline / seconds:.1f} x diy7 ({size.baseline} s)"


def main() -> None:
    memory = Path("/dev/shm")
    folders = {"memory": memory} if memory.is_dir() else {}
    folders["disk"] = Path(tempfile.gettempdir())
    print(
        "baseline: diy7 7.58, measured on a machine like this one (611 tests 0.13 CPU s; 19,035 tests 4.9 CPU s, 48 MB)"
    )
    best(SIZES[0].options, 1)  # compiles what is not compiled yet
    peaks: list[float] = []
    for size in SIZES:
        counted = best((*size.options, "--count"), size.runs)
        print(f"{size.tests:,} tests")
        print(f"  counted              {counted.seconds:7.2f} CPU s  {size.tests / counted.seconds:9,.0f} cycles/CPU s")
        for name, folder in folders.items():
            cost = best(size.options, size.runs, folder)
            print(
                f"  written to {name:8}  {cost.seconds:7.2f} CPU s  {size.tests / cost.seconds:9,.0f} tests/CPU s"
                f"  (system {cost.system:.2f} s)  peak {cost.megabytes:.1f} MB{ratio(size, cost.seconds)}"
            )
        peaks.append(cost.megabytes)
    for before, after, peak, next_peak in zip(SIZES, SIZES[1:], peaks, peaks[1:], strict=False):
        print(
            f"memory from {before.tests:,} to {after.tests:,} tests: {next_peak - peak:+.1f} MB"
            f" for {after.tests / before.tests:.0f} times as many"
        )


if __name__ == "__main__":
    main()
