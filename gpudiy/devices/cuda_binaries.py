"""The cubins that tests run as on GPUs: built once for each architecture, with what optcheck said of each test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpudiy.devices.device import DeviceError
from gpudiy.errors import MissingTool, ToolFailure
from gpudiy.harness.build import Outcome, build, toolchain_folder
from gpudiy.harness.cache import default_folder
from gpudiy.harness.module import assembler_for
from gpudiy.harness.source import play_name
from gpudiy.litmus import Test, print_test
from gpudiy.litmus.reader import Piece
from gpudiy.logs.record import Ending


@dataclass(frozen=True, slots=True)
class Binary:
    """A test in a cubin, `number` among the tests there; `key` names the cubin. `optcheck` is the verdict on it."""

    cubin: bytes
    key: str
    number: int
    constants: tuple[int, ...]
    optcheck: str
    optcheck_text: str


class Binaries:
    """What has been built, or cannot be: a test that does not build is no obstacle to the others."""

    def __init__(self) -> None:
        self._built: dict[tuple[str, str], Binary | DeviceError] = {}
        self._cubins: dict[str, bytes] = {}

    def toolkit(self, architecture: str) -> str:
        """The tools that build for the architecture; empty where there are none."""
        try:
            return assembler_for(architecture).version
        except MissingTool:
            return ""

    def build(self, tests: Sequence[Test], architecture: str) -> None:
        """Build those of the tests that are not built yet, or find them in the cache."""
        missing = {play_name(test): test for test in tests if (play_name(test), architecture) not in self._built}
        if not missing:
            return
        names = {Piece(print_test(test), test.name): name for name, test in missing.items()}
        try:
            for outcome in build(list(names), architecture, default_folder(), jobs=1):
                self._built[names[outcome.piece], architecture] = self._binary(outcome, architecture)
        except ToolFailure as problem:
            raise DeviceError(str(problem), Ending.BUILD_FAILED) from None

    def of(self, test: Test, architecture: str) -> Binary:
        """The binary of a test; raises `DeviceError` if there is none that still is the test."""
        self.build([test], architecture)
        found = self._built[play_name(test), architecture]
        if isinstance(found, DeviceError):
            raise found
        return found

    def _binary(self, outcome: Outcome, architecture: str) -> Binary | DeviceError:
        entry = outcome.entry
        if entry is None:
            return DeviceError(outcome.problem, Ending.BUILD_FAILED)
        if entry.obstacle:
            return DeviceError(entry.obstacle, Ending.NOT_RUNNABLE)
        if entry.refusal:
            said = f": {entry.explanation}" if entry.explanation else ""
            return DeviceError(f"{entry.refusal}{said}", Ending.REFUSED)
        if entry.object not in self._cubins:
            path = toolchain_folder(default_folder(), architecture) / f"{entry.object}.cubin"
            self._cubins[entry.object] = path.read_bytes()
        cubin = self._cubins[entry.object]
        return Binary(cubin, entry.object, entry.number, entry.constants, entry.verdict, entry.explanation)
