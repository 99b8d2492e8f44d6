"""Tests of one meaning whose outcomes are told in another order are built apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudiy.errors import MissingTool
from gpudiy.harness.build import build_tests
from gpudiy.harness.built import BuiltTest
from gpudiy.harness.module import assembler_for
from gpudiy.litmus import content_hash, read_test

TEXT = """GPU_PTX {name}
0:.reg .s32 r0;
1:.reg .s32 r0;

P0               : P1
ld.cg.s32 r0,[x] : ld.cg.s32 r0,[y]
st.cg.s32 [y],1  : st.cg.s32 [x],1

(device (kernel (cta (warp P0)) (cta (warp P1))))

x: global, y: global

{condition}
"""
SPELLINGS = ("0:r0=1 /\\ 1:r0=0", "1:r0=0 /\\ 0:r0=1", "0:r0=1 /\\ 1:r0=0")

try:
    assembler_for("sm_90")
except MissingTool as missing:
    pytest.skip(str(missing), allow_module_level=True)


def test_another_order_of_outcomes_is_another_test_with_the_same_code(tmp_path: Path) -> None:
    tests = [read_test(TEXT.format(name=f"t{number}", condition=found)) for number, found in enumerate(SPELLINGS)]
    assert len(set(map(content_hash, tests))) == 1
    results = dict(build_tests(tests, "sm_90", tmp_path, jobs=1))
    first, other, same = (results[test] for test in tests)
    assert isinstance(first, BuiltTest) and isinstance(other, BuiltTest) and isinstance(same, BuiltTest)
    assert first.hash == other.hash == same.hash == content_hash(tests[0])
    assert first.number == same.number != other.number
    assert first.function == same.function == other.function  # results lie in the order of the threads
