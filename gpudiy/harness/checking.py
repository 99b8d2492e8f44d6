"""optcheck on the cubin that a device will load."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gpudiy.errors import MissingTool, ToolFailure
from gpudiy.harness.frame import frame_of
from gpudiy.harness.kernel_check import check_kernels_of
from gpudiy.harness.kernel_reference import KernelReference, reference_for
from gpudiy.harness.known_kernels import recall_kernels
from gpudiy.harness.module import PtxTest, assembler_for
from gpudiy.harness.source import PREFIX
from gpudiy.litmus.test import Test
from optcheck.check import check_functions
from optcheck.constant_bank import write_constants
from optcheck.cubin_code import CubinCode, read_code
from optcheck.disassembler import find_tool
from optcheck.finding import Check, Deviation, Finding
from optcheck.listing import SassFunction, read_listing
from optcheck.machine_abi import abi_of
from optcheck.stress import check_harness

SECTION = re.compile(r"^\s*\.section\s+\.text\.([\w$]+)", re.MULTILINE)
FUNCTIONS = re.compile(PREFIX)  # the functions that run tests
KERNEL, KERNELS = "run", "kernels"
STRESSING = ("only_stress", "stress_before")  # what the kernel calls for stress, and for stress before a round
UNDECIDED = ("not understood", "no launch reached", "nobody reads")  # parts of reasons
AROUND = re.compile(f"(?!{PREFIX})")  # all other functions
STRESS = re.compile(rf"{KERNEL}(?:_|\Z)|\w*stress")


@dataclass(frozen=True, slots=True)
class CubinCheck:
    """What was found of every test of a cubin, in order; and what is wrong with the kernels around them."""

    checks: tuple[Check, ...]
    stress: str = ""


def check_cubin(
    cubin: bytes,
    codes: Sequence[PtxTest],
    architecture: str,
    reference: KernelReference | None = None,
) -> CubinCheck:
    """Check every function of a cubin against each test that it runs, and the kernels, unless they are known."""
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
    wrong = check_table(cubin, [code.function for code in codes])
    wrong = wrong or check_around(cubin, listing, architecture, reference)
    return CubinCheck(checks, wrong)


def check_table(cubin: bytes, functions: Sequence[str]) -> str:
    """Whether functions find the launch, and the table names that of each test, in order; what is wrong, or nothing."""
    code = read_code(cubin, PREFIX)
    if code.launch != 0:
        return "kernels: the launch is not at the beginning of its bank of constant memory"
    named = code.functions
    for number, function in enumerate(functions):
        if number >= len(named) or named[number] != function:
            return f"kernels: the table of functions has another function for test {number}"
    return ""


def check_around(cubin: bytes, listing: str, architecture: str, reference: KernelReference | None = None) -> str:
    """What is wrong with the kernels of a cubin; empty if nothing is."""
    code = read_code(cubin, PREFIX)

    def check() -> str:
        wrong = reference.find_difference(code) if reference is not None else ""
        return wrong or _run_kernels(listing, architecture, code.banks, compared=reference is not None)

    return recall_kernels(code.key, check)


def _run_kernels(listing: str, architecture: str, banks: dict[int, bytes], *, compared: bool) -> str:
    if abi_of(architecture) is None:
        wrong = check_stress(listing)
        return f"stress: {wrong}" if wrong else ""
    return check_kernels_of(read_listing(select_functions(listing, AROUND)), architecture, banks, compared=compared)


def check_stress(listing: str) -> str:
    """What patterns find wrong with the stress code in a listing; empty if nothing is.

    This is all that is checked of the kernels where they cannot be run: before sm_70.
    """
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


def check_binary_kernels(cubin: bytes, functions: Sequence[SassFunction], architecture: str) -> Check | None:
    """Check the kernels of any cubin; None if it has no kernels of gpudiy, or none that can be run."""
    if not any(function.name == KERNEL for function in functions) or abi_of(architecture) is None:
        return None
    around = [function for function in functions if not function.name.startswith(PREFIX)]
    code = read_code(cubin, PREFIX)

    def check() -> str:
        return check_kernels_of(around, architecture, code.banks, compared=_is_compiled_here(code, architecture))

    wrong = recall_kernels(code.key, check)
    if not wrong:
        return Check(KERNELS, Finding.UNCHANGED, architecture=architecture)
    finding = Finding.UNVERIFIABLE if any(reason in wrong for reason in UNDECIDED) else Finding.CHANGED
    return Check(KERNELS, finding, (Deviation(finding, wrong),), architecture=architecture)


def _is_compiled_here(code: CubinCode, architecture: str) -> bool:
    """Whether the compiler of this machine writes the same kernels; if not, another one may have."""
    try:
        return not reference_for(assembler_for(architecture)).find_difference(code)
    except ToolFailure:
        return False
