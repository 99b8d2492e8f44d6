"""Checks of binaries and listings, and checks as text: in the style of the original tool, or as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from gpudiy.litmus.reader import decode, read_test
from gpudiy.litmus.test import Test
from optcheck.binary import read_binary
from optcheck.check import FrameSource, check_functions, no_frame
from optcheck.disassembler import cubins_of, disassemble
from optcheck.finding import Check, Deviation, Finding
from optcheck.listing import SassFunction, read_listing

KernelCheck = Callable[[bytes, Sequence[SassFunction], str], Check | None]  # from a cubin, its functions, its chip


def check_no_kernels(cubin: bytes, functions: Sequence[SassFunction], architecture: str) -> Check | None:
    """The kernels of the cubin are not known."""
    return None


def check_binary(
    path: Path, architecture: str = "", frames: FrameSource = no_frame, kernels: KernelCheck = check_no_kernels
) -> Iterator[Check]:
    """Check every test of a cubin, or of the cubins inside an executable; `kernels` checks what is around them."""
    for cubin in cubins_of(path):
        data = cubin.read_bytes()
        binary = read_binary(data, str(path))
        functions = read_listing(disassemble(cubin), f"{path} (disassembled)")
        named = architecture or binary.architecture
        around = kernels(data, functions, named)
        if around is not None:
            functions = [function for function in functions if function.name in binary.tests]
        yield from check_functions(functions, binary.tests, named, frames)
        if around is not None:
            yield around


def check_listing(
    path: Path, test: Test | None = None, architecture: str = "", frames: FrameSource = no_frame
) -> Iterator[Check]:
    """Check every function of a listing that contains literals; if `test` is given, all of them are that test."""
    functions = read_listing(decode(path.read_bytes(), str(path), "a listing of SASS"), str(path))
    tests = {} if test is None else {function.name: (test,) for function in functions if _has_literals(function)}
    yield from check_functions(functions, tests, architecture, frames)


def read_test_file(path: Path) -> Test:
    """Read one litmus test from a file."""
    return read_test(decode(path.read_bytes(), str(path)), str(path))


def demand_test(check: Check) -> Check:
    """A check without its test is no promise of more than the accesses: it is unverifiable."""
    if not check.accesses_only or check.finding is not Finding.UNCHANGED:
        return check
    why = "the accesses are unchanged; fences, values and dependencies were not compared: give the test (--test)"
    return replace(check, finding=Finding.UNVERIFIABLE, deviations=(Deviation(Finding.UNVERIFIABLE, why),))


def original_text(checks: list[Check]) -> Iterator[str]:
    """The lines that the original optcheck prints: the clusters with their lines, and success or failure."""
    clusters = [cluster for check in checks for cluster in check.clusters]
    yield f"Specification clusters: {len(clusters)}"
    specified = [[(line, position, access) for line, position, access in cluster.entries] for cluster in clusters]
    yield f"Specification: {specified}"
    for number, cluster in enumerate(clusters):
        yield f"Cluster {number}: {'OK' if cluster.finding is Finding.UNCHANGED else 'FAILED'}"
    for check in checks:
        yield from deviation_lines(check)
    yield "!!SUCCESS!!" if all(check.finding is Finding.UNCHANGED for check in checks) else "!!FAILURE!!"


def deviation_lines(check: Check) -> Iterator[str]:
    """The deviations of a check, with the lines of SASS and PTX that they concern."""
    for deviation in check.deviations:
        yield f"{check.test or check.kernel or 'listing'}: {deviation.finding}: {deviation.explanation}"
        yield from (f"    SASS {line}" for line in deviation.sass)
        yield from (f"    PTX  {line}" for line in deviation.ptx)


def as_json(check: Check) -> dict[str, object]:
    """The check as `gpudiy optcheck --json` prints it."""
    return {
        "kernel": check.kernel,
        "test": check.test,
        "architecture": check.architecture,
        "verdict": check.finding,
        "findings": [
            {
                "verdict": deviation.finding,
                "explanation": deviation.explanation,
                "sass": list(deviation.sass),
                "ptx": list(deviation.ptx),
            }
            for deviation in check.deviations
        ],
    }


def _has_literals(function: SassFunction) -> bool:
    return any(instruction.literal is not None for instruction in function.instructions)
