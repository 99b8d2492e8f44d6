"""optcheck on the cubin that a device will load."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gpudiy.errors import MissingTool, ToolFailure
from gpudiy.harness.frame import frame_of
from gpudiy.harness.module import PtxTest
from gpudiy.harness.source import PREFIX
from gpudiy.litmus.test import Test
from optcheck.check import check_functions
from optcheck.constant_bank import write_constants
from optcheck.disassembler import find_tool
from optcheck.finding import Check, Deviation
from optcheck.listing import read_listing
from optcheck.stress import check_harness

SECTION = re.compile(r"^\s*\.section\s+\.text\.([\w$]+)", re.MULTILINE)
FUNCTIONS = re.compile(PREFIX)  # the functions that run tests
KERNEL = "run"
STRESSING = ("only_stress", "stress_before")  # what the kernel calls for stress, and for stress before a round
STRESS = re.compile(rf"{KERNEL}(?:_|\Z)|\w*stress")


@dataclass(frozen=True, slots=True)
class CubinCheck:
    """What was found of every test of a cubin, in order; and what is wrong with its stress."""

    checks: tuple[Check, ...]
    stress: str = ""


def check_cubin(cubin: bytes, codes: Sequence[PtxTest], architecture: str) -> CubinCheck:
    """Check every function of a cubin against each test that it runs."""
    listing = disassemble_cubin(cubin, architecture)
    tests: dict[str, list[Test]] = {}
    for code in codes:
        tests.setdefault(code.function, []).append(code.test)
    found: dict[str, deque[Check]] = {}
    frames = {(code.function, id(code.test)): frame_of(code) for code in codes}  # a test is slow to hash
    functions = read_listing(select_functions(listing, FUNCTIONS))
    for check in check_functions(functions, tests, architecture, lambda name, test: frames[name, id(test)]):
        found.setdefault(check.kernel, deque()).append(check)
    checks = tuple(found[code.function].popleft() for code in codes)  # of one function: in the order of its tests
    return CubinCheck(checks, check_stress(listing))


def check_stress(listing: str) -> str:
    """What is wrong with the stress code in a listing; empty if nothing is."""
    return join_explanations(check_harness(read_listing(select_functions(listing, STRESS)), KERNEL, STRESSING))


def select_functions(listing: str, names: re.Pattern[str]) -> str:
    """The part of a listing that has the functions whose names match."""
    found = list(SECTION.finditer(listing))
    head = listing[: found[0].start()] if found else listing
    ends = [section.start() for section in found[1:]] + [len(listing)]
    chosen = (listing[one.start() : end] for one, end in zip(found, ends, strict=True) if names.match(one[1]))
    return head + "".join(chosen)


def join_explanations(deviations: Iterable[Deviation]) -> str:
    """What is wrong, one line per deviation."""
    return "\n".join(deviation.explanation for deviation in deviations)


def disassemble_cubin(cubin: bytes, architecture: str = "") -> str:
    """The SASS of a cubin; raises `MissingTool`."""
    try:
        tool = find_tool("nvdisasm", architecture)
    except ToolFailure as error:
        raise MissingTool(str(error)) from None
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        done = subprocess.run([str(tool), "-c", "-ndf", file.name], capture_output=True, text=True)
    if done.returncode:
        raise MissingTool(f"nvdisasm failed: {done.stderr.strip()}")
    return write_constants(done.stdout, cubin, KERNEL)


@cache
def checker_version() -> str:
    """A hash of the source of optcheck: when it changes, cached findings are not used."""
    from hashlib import sha256

    import optcheck

    digest = sha256()
    for path in sorted(Path(optcheck.__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
