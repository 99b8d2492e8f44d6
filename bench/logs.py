"""How fast logs are read and compared: CPU seconds, each with its ratio to a named baseline in the same run.

The logs: two of 10,000 tests with 35 outcomes each, as litmus7 prints them, 16 MB per log. The baseline is a reader a
person would write first: line by line, a dict a test, a dict of outcomes in it; and a comparison of the two dicts.
Then the same logs from Parquet, how memory grows with the log, and a million records from Parquet.

    python bench/logs.py [TESTS [RECORDS]]
"""

from __future__ import annotations

import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gpudiy.logs.chips import logs_of
from gpudiy.logs.columns import Columns
from gpudiy.logs.comparison import compare_pair
from gpudiy.logs.evidence import UNUSED, gather
from gpudiy.logs.reading import load_log
from gpudiy.logs.summary import summarise
from gpudiy.logs.writing import write_log

OUTCOMES = 35


def main() -> None:
    tests = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    records = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        logs = [Path(folder) / f"{name}.log" for name in ("one", "other")]
        for seed, log in enumerate(logs):
            log.write_text(made_log(tests, seed))
        print(f"two logs of {tests:,} tests, {logs[0].stat().st_size / 1e6:.1f} MB each")
        compared(logs)
        memory(logs[0], tests, Path(folder))
        million(Path(folder), records)


def compared(logs: list[Path]) -> None:
    packed = [log.with_suffix(".parquet") for log in logs]
    for log, file in zip(logs, packed, strict=True):
        write_log(load_log(log).columns, str(file))
    ours_with([str(log) for log in packed])  # what is imported once is not measured
    baseline, expected = timed(lambda: line_by_line(logs))
    text, found = timed(lambda: ours_with([str(log) for log in logs]))
    parquet, again = timed(lambda: ours_with([str(log) for log in packed]))
    assert expected == found == again, "the two do not agree"
    whole = process([str(log) for log in logs])
    print(f"  line by line, dicts (baseline)   {baseline:6.2f} s")
    print(f"  text                             {text:6.2f} s   {baseline / text:5.1f} times the baseline")
    print(f"  Parquet                          {parquet:6.2f} s   {baseline / parquet:5.1f} times the baseline, "
          f"{text / parquet:.1f} times text")  # fmt: skip
    print(f"  `gpudiy compare`, from text      {whole:6.2f} s   {baseline / whole:5.1f} times, with starting Python")


def line_by_line(logs: list[Path]) -> tuple[int, int, int]:
    """The baseline: weak on both, on the first only, on the second only."""
    one, other = (straightforward(log) for log in logs)
    both = first = second = 0
    for name, test in one.items():
        if name not in other:
            continue
        shown, too = test["positive"] > 0, other[name]["positive"] > 0
        both += shown and too
        first += shown and not too
        second += too and not shown
    return both, first, second


def straightforward(log: Path) -> dict[str, dict[str, Any]]:
    tests: dict[str, dict[str, Any]] = {}
    test: dict[str, Any] = {}
    with log.open() as lines:
        for line in lines:
            line = line.rstrip("\n")
            if line.startswith("Test "):
                test = {"name": line.split()[1], "outcomes": {}}
                tests[test["name"]] = test
            elif ">" in line and (":>" in line or "*>" in line):
                weak = "*>" in line
                count, outcome = line.split("*>" if weak else ":>")
                state = dict(part.strip().split("=") for part in outcome.split(";") if part.strip())
                test["outcomes"][tuple(sorted(state.items()))] = int(count)
            elif line.startswith("Positive: "):
                positive, negative = line.split(",")
                test["positive"] = int(positive.split(":")[1])
                test["negative"] = int(negative.split(":")[1])
            elif line.startswith("Condition "):
                test["condition"] = line[10:]
            elif line.startswith("Time "):
                test["time"] = float(line.split()[-1])
            elif line.startswith("Hash="):
                test["hash"] = line[5:]
    return tests


def ours_with(paths: list[str]) -> tuple[int, int, int]:
    log = load_log(paths, UNUSED)
    pair = compare_pair(gather(log.columns, logs_of(log.columns)), 0, 1)
    return pair.both, len(pair.weaker), len(pair.stronger)


def memory(log: Path, tests: int, folder: Path) -> None:
    """The most memory of a process that reads one log, and one four times as long."""
    small, large = folder / "small.log", folder / "large.log"
    small.write_text(made_log(tests // 2, 3))
    large.write_text(made_log(2 * tests, 4))
    base, one, four = (peak(file) for file in (None, small, large))
    growth = (four - base) / max(1.0, one - base)
    size = small.stat().st_size / 1e6
    print(f"memory: {one - base:.0f} MB for a log of {size:.0f} MB, {four - base:.0f} MB for four times as much: "
          f"{growth:.1f} times (linear: 4.0)")  # fmt: skip


def million(folder: Path, records: int) -> None:
    """Records of 1,000 tests on 10 chips, made column by column."""
    file = folder / "million.parquet"
    generator = random.Random(1)
    columns = Columns()
    rows = [
        {
            "test": f"T{place % 1000:03}",
            "chip": f"chip {place % 10}",
            "iterations": 100_000,
            "positive": (positive := generator.randrange(200) if place % 3 else 0),
            "negative": 100_000 - positive,
            "condition": "exists (0:r0=1)",
        }
        for place in range(records)
    ]
    columns.extend_rows(rows)
    write_log(columns, str(file))
    seconds, chips = timed(lambda: summarise(str(file)))
    assert sum(chip.records for chip in chips) == records
    print(f"{records:,} records ({file.stat().st_size / 1e6:.1f} MB of Parquet) summarised in {seconds:.2f} s")


def made_log(tests: int, seed: int) -> str:
    generator = random.Random(seed)
    states = [
        f"0:r0={a}; 0:r2={b}; 1:r0={c}; 1:r2={d};"
        for a in range(3)
        for b in range(2)
        for c in range(3)
        for d in range(2)
    ][:OUTCOMES]
    return "".join(one_test(f"T{number:05}+membar.cta+po", states, generator) for number in range(tests))


def one_test(name: str, states: list[str], generator: random.Random) -> str:
    counts = [generator.randrange(1, 30_000) for _ in states]
    weak = 7 if generator.random() < 0.5 else -1
    positive = counts[weak] if weak >= 0 else 0
    lines = "".join(
        f"{count:<6}{'*' if place == weak else ':'}>{state}\n"
        for place, (state, count) in enumerate(zip(states, counts, strict=True))
    )
    negative = sum(counts) - positive
    word, verdict, no = ("Sometimes", "Ok", "") if positive else ("Never", "No", "NOT ")
    return (
        f"Test {name} Allowed\nHistogram ({len(states)} states)\n{lines}{verdict}\n\n"
        f"Witnesses\nPositive: {positive}, Negative: {negative}\n"
        f"Condition exists (0:r0=0 /\\ 0:r2=1 /\\ 1:r0=0 /\\ 1:r2=1) is {no}validated\n"
        f"Hash={generator.getrandbits(128) if not name else hash_of(name)}\n"
        f"Observation {name} {word} {positive} {negative}\nTime {name} {generator.random() * 10:.2f}\n\n"
    )


def hash_of(name: str) -> str:
    return f"{int.from_bytes(name.encode(), 'big'):032x}"[-32:]


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """The least CPU time of three runs, and what the work gave."""
    best, result = float("inf"), None
    for _ in range(3):
        start = time.process_time()
        result = work()
        best = min(best, time.process_time() - start)
    return best, result


def process(logs: list[str]) -> float:
    """CPU seconds of the whole command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "gpudiy", "compare", "--by", "log", *logs], capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def peak(log: Path | None) -> float:
    """The most memory, in MB, of a process that reads a log; without one, of a process that only starts."""
    code = "import sys\nfrom gpudiy.logs.reading import load_log\n"
    code += "log = load_log(sys.argv[1]) if len(sys.argv) > 1 else None\n"
    code += "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    words = [sys.executable, "-c", code] + ([] if log is None else [str(log)])
    return int(subprocess.run(words, capture_output=True, text=True, check=True).stdout) / 1024


if __name__ == "__main__":
    main()
