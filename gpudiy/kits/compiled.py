"""What optcheck says of the binary that ran: of a cubin when it was built, of PTX when its cubin came back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

from gpudiy.errors import InputError, ToolFailure
from gpudiy.harness.built import BuiltTest
from gpudiy.harness.checking import check_binary_kernels, join_explanations
from gpudiy.harness.frame import find_frame
from gpudiy.harness.module import PtxTest
from gpudiy.harness.source import PREFIX
from gpudiy.kits.kit_log import LoggedTest
from gpudiy.kits.kit_text import ImageKind
from gpudiy.litmus.test import Test
from optcheck.cubin_code import read_code
from optcheck.finding import Check, Finding
from optcheck.report import check_binary


@dataclass(frozen=True, slots=True)
class BinaryFinding:
    """The finding of optcheck, and its explanation."""

    finding: str
    text: str = ""


def find_finding(run: LoggedTest, built: BuiltTest, test: Test, folder: Path) -> BinaryFinding:
    """The finding about the binary that a run loaded; `folder` may have the cubin that the driver made from PTX."""
    digest = str(run.loaded["sha256"])
    if run.device["kind"] != ImageKind.PTX:
        if built.file is None:
            return _unverifiable("the kit has no cubin of this test")
        if not digest.startswith(Path(built.file).stem):
            return _unverifiable(f"what ran is not {built.file}, which optcheck has checked")
        return BinaryFinding(built.optcheck, built.optcheck_text)
    name = Path(str(run.loaded["compiled"])).name
    path = folder / name
    if not path.is_file():
        what = f"the driver compiled it from PTX: optcheck must see the result, {name}, beside the log"
        return _unverifiable(what)
    if sha256(path.read_bytes()).hexdigest() != digest:
        return _unverifiable(f"{name} is not the binary that ran")
    return _check_compiled(path, test, int(run.loaded["number"]), built.arch)


def _check_compiled(path: Path, test: Test, number: int, architecture: str) -> BinaryFinding:
    try:
        checks, table = _check_all(path)
    except (InputError, ToolFailure) as problem:
        return _unverifiable(f"optcheck cannot read {path.name}: {problem}")
    function = PtxTest.of(test, architecture).function
    if number >= len(table) or table[number] != function:
        return _unverifiable(f"{path.name} runs another function for this test")
    around = [check for check in checks if not check.kernel.startswith(PREFIX)]
    own = [check for check in checks if check.kernel == function]
    if not own or not around:
        return _unverifiable(f"optcheck does not know the kernels of {path.name}")
    worst = next((check for check in (*own, *around) if check.finding is not Finding.UNCHANGED), own[0])
    return BinaryFinding(str(worst.finding), join_explanations(worst.deviations))


@cache
def _check_all(path: Path) -> tuple[tuple[Check, ...], tuple[str, ...]]:
    """The findings about all functions of a cubin, and its table of functions."""
    checks = tuple(check_binary(path, "", find_frame, check_binary_kernels))
    return checks, tuple(read_code(path.read_bytes(), PREFIX).functions)


def _unverifiable(text: str) -> BinaryFinding:
    return BinaryFinding(str(Finding.UNVERIFIABLE), text)
