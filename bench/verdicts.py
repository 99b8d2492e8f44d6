"""What the compiler does to whole families: a table of findings by family and architecture.

    python bench/verdicts.py [ARCH,ARCH...]

Every test of the families classic, rmw, dependencies and modern is built as `gpudiy build` builds it, for sm_75 to
sm_120; `not on it` counts those that the compiler rejects because the architecture lacks what they use. Ends with 1 if
any test has no verdict, or if a hundredth of them cannot be verified. The tests that were changed are listed behind
the table of docs/optcheck.md, which is made with this.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path

from gpudiy.diy.families import FAMILIES
from gpudiy.diy.generator import Generator
from gpudiy.harness.build import BuildFailure, build_tests

NAMES = ("classic", "rmw", "dependencies", "modern")
ARCHITECTURES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
REJECTED = "not on it"
NONE = "no verdict"


def main() -> int:
    architectures = sys.argv[1].split(",") if len(sys.argv) > 1 else ARCHITECTURES
    tests = {
        name: list(dict.fromkeys(blueprint.test() for blueprint in Generator(FAMILIES[name].recipe()).blueprints()))
        for name in NAMES
    }
    together = list(dict.fromkeys(test for name in NAMES for test in tests[name]))
    cells: dict[tuple[str, str], Counter[str]] = {}
    changed: dict[str, list[str]] = {}
    for architecture in architectures:
        verdicts = {}
        with tempfile.TemporaryDirectory() as folder:
            for test, built in build_tests(together, architecture, Path(folder)):
                if isinstance(built, BuildFailure):
                    verdicts[test] = REJECTED if "requires .target" in built.message else NONE
                    continue
                verdicts[test] = built.optcheck or NONE
                if built.optcheck != "unchanged":
                    changed.setdefault(f"{test.name}: {verdicts[test]}", []).append(architecture)
        for name in NAMES:
            cells[name, architecture] = Counter(verdicts[test] for test in tests[name])
        print(architecture, "done", file=sys.stderr)
    print(f"| family | {' | '.join(architectures)} |")
    print("|---|" + "---|" * len(architectures))
    for name in NAMES:
        print(f"| {name} | {' | '.join(_cell(cells[name, architecture]) for architecture in architectures)} |")
    print()
    for what, where in sorted(changed.items()):
        print(f"{what} on {', '.join(where)}")
    total = sum(cells.values(), Counter())
    return int(total[NONE] > 0 or total["unverifiable"] * 100 > total.total())


def _cell(counted: Counter[str]) -> str:
    return ", ".join(f"{count:,} {verdict}" for verdict, count in counted.most_common())


if __name__ == "__main__":
    sys.exit(main())
