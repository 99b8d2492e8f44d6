"""What the compiler does to families of tests: a table of findings by family and architecture.

    python bench/verdicts.py [--arch sm_75,…] [--families coherence,…] [--sample 1000] [--optimise 1] [--list]

Every test is built as `gpudiy build` builds it. Of a family with more than SAMPLE tests a random sample is built,
always the same one; `--sample 0` builds all. `not on it` counts the tests that the compiler rejects because the
architecture lacks what they use. `--list` also prints every test that is not unchanged. Ends with 1 if any test has no
finding, or if a hundredth of them cannot be verified.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections import Counter
from pathlib import Path

from gpudiy.diy.families import FAMILIES
from gpudiy.diy.generator import Generator
from gpudiy.harness.build import BuildFailure, build_tests
from gpudiy.harness.build_options import BuildOptions
from gpudiy.litmus.test import Test

NAMES = ("classic", "rmw", "dependencies", "coherence", "thesis", "modern", "scoped")
ARCHITECTURES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
SAMPLE = 1000
SEED = 15
REJECTED = "not on it"
NONE = "no finding"


def main() -> int:
    parser = ArgumentParser(description="findings by family and architecture")
    parser.add_argument("--arch", type=lambda text: text.split(","), default=ARCHITECTURES)
    parser.add_argument("--families", type=lambda text: text.split(","), default=NAMES)
    parser.add_argument("--sample", type=int, default=SAMPLE)
    parser.add_argument("--optimise", type=int, default=1)
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    tests = {name: draw_tests(name, arguments.sample) for name in arguments.families}
    findings = {architecture: find(tests, architecture, arguments.optimise) for architecture in arguments.arch}
    print(f"| family | {' | '.join(findings)} |")
    print("|---|" + "---|" * len(findings))
    total: Counter[str] = Counter()
    for name, chosen in tests.items():
        cells = [Counter(found[test] for test in chosen) for found in findings.values()]
        total = sum(cells, total)
        print(f"| {name} | {' | '.join(map(_cell, cells))} |")
    if arguments.list:
        _print_changed(findings)
    return int(total[NONE] > 0 or total["unverifiable"] * 100 > total.total())


def draw_tests(family: str, sample: int) -> list[Test]:
    """All tests of a family, or always the same random ones of them."""
    blueprints = list(Generator(FAMILIES[family].recipe()).blueprints())
    if sample and len(blueprints) > sample:
        blueprints = random.Random(SEED).sample(blueprints, sample)
    return list(dict.fromkeys(blueprint.test() for blueprint in blueprints))


def find(tests: dict[str, list[Test]], architecture: str, level: int) -> dict[Test, str]:
    """The finding on every test."""
    together = list(dict.fromkeys(test for chosen in tests.values() for test in chosen))
    findings, started = {}, time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        for test, built in build_tests(together, architecture, Path(folder), options=BuildOptions(level)):
            if isinstance(built, BuildFailure):
                findings[test] = REJECTED if "requires .target" in built.message else NONE
            else:
                findings[test] = built.optcheck or NONE
    print(f"{architecture}: {len(findings):,} tests, {time.perf_counter() - started:.0f} s", file=sys.stderr)
    return findings


def _print_changed(findings: dict[str, dict[Test, str]]) -> None:
    changed: dict[str, list[str]] = {}
    for architecture, found in findings.items():
        for test, finding in found.items():
            if finding not in ("unchanged", REJECTED):
                changed.setdefault(f"{test.name}: {finding}", []).append(architecture)
    for what, where in sorted(changed.items()):
        print(f"{what} on {', '.join(where)}")


def _cell(counted: Counter[str]) -> str:
    return ", ".join(f"{count:,} {finding}" for finding, count in counted.most_common())


if __name__ == "__main__":
    sys.exit(main())
