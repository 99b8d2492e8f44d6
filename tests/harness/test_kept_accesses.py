"""The compiler leaves accesses of tests alone: those to one location, and those to two spaces."""

from __future__ import annotations

import random
import re
import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from gpudiy.diy import families
from gpudiy.diy.generator import Generator
from gpudiy.errors import MissingTool
from gpudiy.harness.build import BuildFailure, build_tests
from gpudiy.harness.nvjitlink import linker_for
from gpudiy.harness.nvrtc import compiler_for
from gpudiy.harness.spelling import spell_relaxed
from gpudiy.litmus import Space, read_test
from gpudiy.litmus.access import Access, CacheOperator, Order, ScalarType
from gpudiy.litmus.instruction import Load, Register, Store
from gpudiy.litmus.instruction_text import instruction_text
from gpudiy.litmus.test import Test
from optcheck.disassembler import find_tool

try:
    compiler_for("sm_80")
except MissingTool:
    pytest.skip("NVRTC is not there: pip install 'gpudiy[cuda-tools]'", allow_module_level=True)

ARCHITECTURES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
ENCODED = re.compile(r"\b((?:LD|ST)[GS]\b[^;]*;)\s*/\* (0x\w+) \*/\s*/\* (0x\w+) \*/")
TYPES = (ScalarType.U16, ScalarType.S32, ScalarType.B64)
LOADS = (None, CacheOperator.CA, CacheOperator.CG, CacheOperator.CV, CacheOperator.CS, CacheOperator.LU)
STORES = (None, CacheOperator.WB, CacheOperator.CG, CacheOperator.WT, CacheOperator.CS)

MIXED = """GPU_PTX SB
P0                        : P1
st.cg.s32 [x], 1          : st.shared.cg.s32 [y], 1
ld.shared.cg.s32 r0, [y]  : ld.cg.s32 r0, [x]
(device (kernel (cta (warp P0) (warp P1))))
x: global, y: shared
0:r0=0 /\\ 1:r0=0
"""


def loads_and_stores() -> list[Load | Store]:
    """Every load and store that has a relaxed twin, as the test has it."""
    accesses = [
        (kind, Access(type, order=order, space=space, cache=cache))
        for kind, caches in ((Load, LOADS), (Store, STORES))
        for cache in caches
        for type in TYPES
        for space in Space
        for order in ((Order.WEAK,) if cache else (Order.WEAK, Order.VOLATILE))
    ]
    place, value = Register("place"), Register("value")
    return [
        Load(value, place, access) if kind is Load else Store(place, value, access)
        for kind, access in accesses
        if spell_relaxed(access) != access
    ]


def encode(instructions: list[Load | Store], architecture: str, folder: Path) -> list[str]:
    """The machine instruction of each, with its bits: one kernel for each, all made the same way."""
    version, texts = compiler_for(architecture).version, []
    for number, instruction in enumerate(instructions):
        shared, bits = instruction.access.space is Space.SHARED, instruction.access.type.bits
        texts.append(
            f".visible .entry k{number}(.param .u64 at, .param .u{bits} given, .param .u64 out) {{"
            f".reg .b{32 if shared else 64} place; .reg .b{bits} value; .reg .b64 result;"
            f"ld.param.u{32 if shared else 64} place,[at]; ld.param.u{bits} value,[given]; ld.param.u64 result,[out];"
            f"{instruction_text(instruction)}; st.weak.b{bits} [result],value; ret; }}"
        )
    head = f".version 8.0\n.target {architecture}\n.address_size 64\n"
    if int(architecture.removeprefix("sm_")) >= 100:
        head = head.replace("8.0", "8.7")
    cubin = folder / "twins.cubin"
    cubin.write_bytes(linker_for(version).link([(head + "\n".join(texts)).encode()], architecture))
    command = [str(find_tool("nvdisasm")), "-c", "-hex", str(cubin)]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    sections = re.split(r"^\s*\.section\s+\.text\.k", listing, flags=re.MULTILINE)[1:]
    found = {int(re.match(r"\d+", text)[0]): ENCODED.search(text) for text in sections}  # type: ignore[index]
    return [" ".join(found[number].groups()) for number in range(len(instructions))]  # type: ignore[union-attr]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_relaxed_twins_are_the_same_machine_instruction(architecture: str, tmp_path: Path) -> None:
    """Bit for bit: what the harness writes instead of `ld.cg` is no other test."""
    written = loads_and_stores()
    twins = [replace(one, access=spell_relaxed(one.access)) for one in written]
    assert len(written) > 40
    assert encode(written, architecture, tmp_path) == encode(twins, architecture, tmp_path)


def test_accesses_without_a_twin_stay_as_they_are() -> None:
    for cache in (None, CacheOperator.CS, CacheOperator.LU):
        access = Access(ScalarType.S32, space=Space.GLOBAL, cache=cache)
        assert spell_relaxed(access) is access


def count_findings(tests: list[Test], architecture: str, folder: Path) -> Counter[str]:
    found: Counter[str] = Counter()
    for _, built in build_tests(tests, architecture, folder, jobs=1):
        found["failed" if isinstance(built, BuildFailure) else built.optcheck] += 1
    return found


def family(name: str) -> list[Test]:
    return [blueprint.test() for blueprint in Generator(families.FAMILIES[name].recipe()).blueprints()]


@pytest.mark.parametrize("architecture", ["sm_75", "sm_80", "sm_100"])
def test_coherence_and_two_spaces(architecture: str, tmp_path: Path) -> None:
    """One test of each kind that was merged, removed or reordered when addresses were shared and `.cg` was weak."""
    names = {"CoRR", "CoWW", "CoWR", "CoRW", "CoRW1", "CoRW+pos-fri-pos", "CoWW+RR", "CoWR+WR+rfi-pos+pos"}
    tests = [test for test in family("coherence") if test.name in names]
    tests += [read_test(MIXED)]
    assert len(tests) == len(names) + 1
    assert count_findings(tests, architecture, tmp_path) == {"unchanged": len(tests)}


@pytest.mark.heavy
def test_classic_survives_on_volta(tmp_path: Path) -> None:
    try:
        find_tool("nvdisasm", "sm_70")
        compiler_for("sm_70")
    except MissingTool as error:
        pytest.skip(str(error))
    tests = [*family("classic"), *family("coherence")]
    assert count_findings(tests, "sm_70", tmp_path) == {"unchanged": 131 + 178}


@pytest.mark.heavy
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_families_survive(architecture: str, tmp_path: Path) -> None:
    """All of coherence and a random thousand of thesis: none may be changed; the table of docs/optcheck.md has more."""
    coherence, thesis = family("coherence"), random.Random(15).sample(family("thesis"), 1000)
    assert len(coherence) == 178
    different = list(dict.fromkeys([*coherence, *thesis]))  # some tests are in both families
    assert len(different) > 1150
    assert count_findings(different, architecture, tmp_path) == {"unchanged": len(different)}
