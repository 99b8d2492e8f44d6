"""The cubins that tests run as on GPUs: built once for each architecture, with what optcheck said of each test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from gpudiy.devices.device import DeviceError
from gpudiy.harness.cuda_library import ToolMissing
from gpudiy.harness.module import PlayPtx, assembler_for
from gpudiy.harness.nvrtc import CompileError, compiler_for
from gpudiy.litmus import Test, content_hash
from gpudiy.logs.record import Ending


@dataclass(frozen=True, slots=True)
class Binary:
    """A test in a cubin: `number` among the tests of its module; `key` names the cubin."""

    cubin: bytes
    key: str
    kernel: str
    number: int
    constants: tuple[int, ...]
    optcheck: str = ""
    optcheck_text: str = ""


class Binaries:
    def __init__(self) -> None:
        self._built: dict[tuple[str, str], Binary] = {}

    def toolkit(self, architecture: str) -> str:
        """The compiler that builds for the architecture; empty where there is none."""
        try:
            return compiler_for(architecture).version
        except ToolMissing:
            return ""

    def build(self, tests: Sequence[Test], architecture: str) -> None:
        """Build those of the tests that are not built yet, as one module."""
        missing = {content_hash(test): test for test in tests if (content_hash(test), architecture) not in self._built}
        if not missing:
            return
        plays = [PlayPtx.of(test) for test in missing.values()]
        try:
            cubin = assembler_for(architecture).compile(plays)
        except (ToolMissing, CompileError) as problem:
            raise DeviceError(str(problem), Ending.BUILD_FAILED) from None
        key = sha256(cubin).hexdigest()
        for number, (meaning, play) in enumerate(zip(missing, plays, strict=True)):
            self._built[meaning, architecture] = Binary(cubin, key, "run", number, play.constants)

    def of(self, test: Test, architecture: str) -> Binary:
        self.build([test], architecture)
        return self._built[content_hash(test), architecture]
