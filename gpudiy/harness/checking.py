"""optcheck on a module that was just made: the very cubin that will be loaded."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

from gpudiy.harness.cuda_library import ToolMissing
from gpudiy.harness.module import PlayPtx
from optcheck.check import check_kernels
from optcheck.disassembler import ToolError, find_tool
from optcheck.verdict import Check

Verdicts = dict[str, tuple[str, str]]


SECTION = re.compile(r"^\s*\.section\s+\.text\.", re.MULTILINE)


def check_cubin(cubin: bytes, plays: Sequence[PlayPtx], architecture: str) -> Verdicts:
    """The verdict on every play and what it rests on, by name."""
    tests = {play.name: play.test for play in plays}
    listing = only_tests(disassembled(cubin))
    checks = {check.kernel: check for check in check_kernels(listing, tests, architecture)}
    return {name: (str(checks[name].verdict), explanation(checks[name])) for name in tests}


def only_tests(listing: str) -> str:
    """The listing without the kernels, which are the same in every module and do not belong to a test."""
    starts = [found.start() for found in SECTION.finditer(listing)]
    head = listing[: starts[0]] if starts else listing
    sections = [listing[start:end] for start, end in pairwise((*starts, len(listing)))]
    wanted = (text for text in sections if (found := SECTION.match(text)) and text.startswith("play_", found.end()))
    return head + "".join(wanted)


def explanation(check: Check) -> str:
    return "\n".join(finding.explanation for finding in check.findings)


def disassembled(cubin: bytes) -> str:
    """The SASS of a cubin; raises `ToolMissing`."""
    try:
        tool = find_tool("nvdisasm")
    except ToolError as error:
        raise ToolMissing(str(error)) from None
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        done = subprocess.run([str(tool), "-c", "-ndf", file.name], capture_output=True, text=True)
    if done.returncode:
        raise ToolMissing(f"nvdisasm failed: {done.stderr.strip()}")
    return done.stdout


@cache
def checker_version() -> str:
    """Changes when optcheck does."""
    from hashlib import sha256

    import optcheck

    digest = sha256()
    for path in sorted(Path(optcheck.__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
