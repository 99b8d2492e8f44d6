"""What the compiler makes of the tests in tests/data/built, at every level of the assembler.

A case is a test. It must be unchanged, unless a comment says otherwise: `(* expect: reordered on sm_75 sm_80 at 1 3 *)`
names a finding, and the architectures and levels for which it is meant; without them it is meant for all. There may be
several such comments, of which the first that fits counts; `rejected` is no finding: the compiler rejects the test.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gpudiy.errors import MissingTool
from gpudiy.harness.build import BuildFailure, build_tests
from gpudiy.harness.build_options import BuildOptions
from gpudiy.harness.nvrtc import compiler_for
from gpudiy.litmus import Test, read_test

try:
    compiler_for("sm_80")
except MissingTool:
    pytest.skip("NVRTC is not there: pip install 'gpudiy[cuda-tools]'", allow_module_level=True)

pytestmark = pytest.mark.usefixtures("kernels_are_known")

CASES = Path(__file__).parent.parent / "data" / "built"
EXPECTED = re.compile(r"\(\* expect: ([\w-]+)(?: on ((?:sm_\d+ ?)+))?(?: ?at ((?:\d ?)+))?\s*\*\)")
ORDINARY = (("sm_80", 1), ("sm_90", 0), ("sm_120", 3))
HEAVY = [
    pytest.param(name, level, marks=pytest.mark.heavy)
    for name in ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
    for level in (0, 1, 3)
    if (name, level) not in ORDINARY
]


def expected_finding(text: str, architecture: str, level: int) -> str:
    assert text.count("expect:") == len(EXPECTED.findall(text)), text
    for finding, names, levels in EXPECTED.findall(text):
        if (not names or architecture in names.split()) and (not levels or str(level) in levels.split()):
            return str(finding)
    return "unchanged"


@pytest.mark.parametrize(("architecture", "level"), [*ORDINARY, *HEAVY])
def test_cases(architecture: str, level: int, tmp_path: Path) -> None:
    texts = {path.stem: path.read_text() for path in sorted(CASES.glob("*.litmus"))}
    tests: dict[str, Test] = {name: read_test(text) for name, text in texts.items()}
    assert all(test.name == name for name, test in tests.items())
    found = {}
    for test, built in build_tests(tests.values(), architecture, tmp_path, jobs=1, options=BuildOptions(level)):
        rejected = isinstance(built, BuildFailure)
        assert not rejected or built.rejected, built
        found[test.name] = (
            ("rejected", str(built)) if isinstance(built, BuildFailure) else (built.optcheck, built.reason)
        )
    wanted = {name: expected_finding(text, architecture, level) for name, text in texts.items()}
    wrong = {name: (wanted[name], *found[name]) for name in wanted if found[name][0] != wanted[name]}
    assert not wrong and found.keys() == wanted.keys()
