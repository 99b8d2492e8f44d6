"""Faults injected into clean listings of real cubins: each must be caught, and nothing else."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from gpudiy.diy.families import FAMILIES
from gpudiy.diy.generator import Generator
from gpudiy.harness.nvrtc import compiler_for
from gpudiy.harness.source import Dialect, module_source, render_test
from gpudiy.litmus import Test
from optcheck.check import check_kernels
from optcheck.disassembler import disassemble
from optcheck.finding import Check, Finding
from optcheck.specification import DependencyKind, specify

PART = re.compile(r"^\$run\$(test_\w+):\n(.*?)(?=^\s+\.type|^//---)", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"^(\s*/\*[0-9a-f]+\*/\s+)(.*?)( ;)?$")
FAMILY_NAMES = ("classic", "rmw", "dependencies", "modern")


@cache
def sample(family: str, count: int) -> tuple[Test, ...]:
    blueprints = list(Generator(FAMILIES[family].recipe()).blueprints())
    return tuple(one.test() for one in Random(5).sample(blueprints, min(count, len(blueprints))))


def listings(tests: list[Test], architecture: str) -> Iterator[tuple[Test, str]]:
    """Each test with the listing of the function that runs it."""
    rendered = [render_test(test, Dialect.CUDA) for test in tests]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "tests.cubin")
        path.write_bytes(compiler_for(architecture).compile(module_source(rendered, Dialect.CUDA), architecture))
        text = disassemble(path)
    by_name = {one.function: one.test for one in rendered}
    for found in PART.finditer(text):
        yield by_name[found[1]], f"\t.target\t{architecture}\n.text.{found[1]}:\n{found[2]}"


def verdict_of(text: str, test: Test) -> Check:
    name = re.search(r"^\.text\.(\w+):", text, re.MULTILINE)
    assert name is not None
    (check,) = check_kernels(text, {name[1]: test})
    return check


def mutants(text: str, test: Test, check: Check) -> Iterator[tuple[str, str]]:
    """(what was done, the listing with it), for every fault that fits."""
    lines = text.split("\n")
    for cluster in check.clusters:
        places = [access - 1 for _, _, access in cluster.entries if access is not None]
        for one, other in pairwise(places):
            yield "swap", exchanged(lines, one, other)
        for place in places:
            yield "delete", replaced(lines, place, "NOP")
        for place in range(min(places), max(places)):
            code = CODE.match(lines[place])
            if code and code[2].startswith("MEMBAR"):
                yield "no fence", replaced(lines, place, "NOP")
                yield "moved fence", exchanged(lines, place, next(spot for spot in places if spot > place))
                if "CTA" not in code[2]:
                    yield "weak fence", replaced(lines, place, re.sub(r"(GPU|SYS)", "CTA", code[2]))
                if ".SC" in code[2]:
                    yield "weak fence", replaced(lines, place, code[2].replace(".SC", ".ALL"))
        yield from broken_dependencies(lines, test, cluster.thread, places)


def broken_dependencies(lines: list[str], test: Test, thread: int, places: list[int]) -> Iterator[tuple[str, str]]:
    """The mask that carries a dependency becomes a constant."""
    specification = specify(test).threads[thread]
    for dependency in specification.dependencies:
        for place in range(places[dependency.source], places[dependency.target] + 1):
            code = CODE.match(lines[place])
            masked = code and re.match(r"LOP3\.LUT (R\d+|P\d), (?:RZ, )?R\d+(?:\.reuse)?, 0x80000000", code[2])
            if not masked:
                continue
            constant = (
                f"MOV {masked[1]}, RZ" if masked[1][0] == "R" else f"PLOP3.LUT {masked[1]}, PT, PT, PT, PT, 0x8, 0x0"
            )
            if dependency.kind is DependencyKind.CONTROL or masked[1][0] == "R":
                yield f"no {dependency.kind} dependency", replaced(lines, place, constant)


def replaced(lines: list[str], place: int, code: str) -> str:
    found = CODE.match(lines[place])
    assert found is not None
    return "\n".join((*lines[:place], f"{found[1]}{code} ;", *lines[place + 1 :]))


def exchanged(lines: list[str], one: int, other: int) -> str:
    found = CODE.match(lines[one]), CODE.match(lines[other])
    assert found[0] is not None and found[1] is not None
    changed = list(lines)
    changed[one] = f"{found[0][1]}{found[1][2]} ;"
    changed[other] = f"{found[1][1]}{found[0][2]} ;"
    return "\n".join(changed)


EXPECTED = {
    "delete": (Finding.REMOVED,),
    "no fence": (Finding.FENCE_CHANGED,),
    "weak fence": (Finding.FENCE_CHANGED,),
    "no addr dependency": (Finding.DEPENDENCY_BROKEN,),
    "no data dependency": (Finding.DEPENDENCY_BROKEN,),
    "no ctrl dependency": (Finding.DEPENDENCY_BROKEN,),
}


def hunt(architecture: str, count: int) -> tuple[int, int, list[str]]:
    """How many clean listings there were, how many mutants of them, and those that were not caught."""
    tests = [test for family in FAMILY_NAMES for test in sample(family, count)]
    if architecture < "sm_9" and len(architecture) == 5:
        tests = [test for test in tests if "cluster" not in test.name]
    clean = made = 0
    missed = []
    for test, text in listings(list(dict.fromkeys(tests)), architecture):
        check = verdict_of(text, test)
        if check.finding is not Finding.UNCHANGED:
            continue
        clean += 1
        for what, mutant in mutants(text, test, check):
            made += 1
            found = verdict_of(mutant, test).finding
            if found is Finding.UNCHANGED or found not in EXPECTED.get(what, (found,)):
                missed.append(f"{what} in {test.name}: {found}")
    return clean, made, missed


@pytest.mark.parametrize("architecture", ["sm_80", "sm_120"])
def test_injected_faults_are_caught(architecture: str) -> None:
    clean, made, missed = hunt(architecture, 6)
    assert clean > 15 and made > 5 * clean
    assert not missed, missed


@pytest.mark.heavy
def test_injected_faults_are_caught_in_hundreds_of_listings() -> None:
    clean, made, missed = hunt("sm_90", 140)
    assert clean >= 400  # without the frame, a second address of a location, which adds a zero, is not understood
    assert len(missed) <= made * 0.005, missed
