"""The cubins of tests on GPUs: built when they are needed, or those from a folder that `gpudiy build` wrote."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from gpudiy.devices.device import DeviceError
from gpudiy.errors import InputError, MissingTool
from gpudiy.harness.build import BuildFailure, build_tests, toolchain_folder
from gpudiy.harness.build_options import DEFAULT_OPTIONS, BuildOptions
from gpudiy.harness.built import BuiltTest, read_index
from gpudiy.harness.cache import cubin_name, default_folder
from gpudiy.harness.module import assembler_for
from gpudiy.harness.nvrtc import CompileError
from gpudiy.harness.source import function_name
from gpudiy.harness.templates import templates_hash
from gpudiy.litmus import Test, read_test
from gpudiy.logs.record import Ending


class Binaries(Protocol):
    """Where a device finds the binary of a test."""

    def toolkit(self, architecture: str) -> str:
        """The tools that build binaries for the architecture; empty if there are none."""
        ...

    def prepare(self, tests: Sequence[Test], architecture: str) -> None:
        """Build binaries of the tests, all at once, since that is faster."""
        ...

    def find(self, test: Test, architecture: str) -> BuiltTest:
        """The binary of a test; raises `DeviceError` if there is none that optcheck found unchanged."""
        ...

    def cubin(self, built: BuiltTest) -> bytes:
        """The cubin that holds the binary."""
        ...


class FreshBinaries:
    """Binaries that are built when they are needed, or found in the cache."""

    def __init__(self, options: BuildOptions = DEFAULT_OPTIONS) -> None:
        self._options = options
        self._built: dict[tuple[str, str], BuiltTest | DeviceError] = {}
        self._cubins: dict[str, bytes] = {}

    def toolkit(self, architecture: str) -> str:
        try:
            return assembler_for(architecture, self._options).version
        except MissingTool:
            return ""

    def prepare(self, tests: Sequence[Test], architecture: str) -> None:
        names = {function_name(test): test for test in tests}
        missing = [test for name, test in names.items() if (name, architecture) not in self._built]
        if not missing:
            return
        try:
            for test, built in build_tests(missing, architecture, default_folder(), 1, self._options):
                if isinstance(built, BuildFailure):
                    self._built[function_name(test), architecture] = DeviceError(built.message, Ending.BUILD_FAILED)
                else:
                    self._built[function_name(test), architecture] = built
        except (MissingTool, CompileError) as problem:
            raise DeviceError(str(problem), Ending.BUILD_FAILED) from None

    def find(self, test: Test, architecture: str) -> BuiltTest:
        self.prepare([test], architecture)
        found = self._built[function_name(test), architecture]
        if isinstance(found, DeviceError):
            raise found
        return expect_unchanged(found)

    def cubin(self, built: BuiltTest) -> bytes:
        assert built.file is not None
        if built.file not in self._cubins:
            path = toolchain_folder(default_folder(), built.arch, self._options) / built.file
            self._cubins[built.file] = path.read_bytes()
        return self._cubins[built.file]


class FolderBinaries:
    """The checked binaries of a folder that `gpudiy build` wrote; nothing is built."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._built: dict[tuple[str, str], BuiltTest] = {}
        self._cubins: dict[str, bytes] = {}
        for built in read_index(folder):
            if built.harness != templates_hash():
                message = "these tests were built by another version of gpudiy, whose harness this one cannot launch"
                raise InputError(message, path=str(folder), hint="build them again")
            self._built[function_name(read_test(built.litmus)), built.arch] = built

    def expect(self, architecture: str) -> None:
        """Raise `InputError` unless there are cubins for the architecture, and none of them was changed."""
        there = sorted({built.arch for built in self._built.values()})
        if architecture not in there:
            message = f"there are no cubins for {architecture} here, only for {', '.join(there) or 'nothing'}"
            hint = f"build the tests with --arch {architecture}"
            raise InputError(message, path=str(self.folder), hint=hint)
        for file in {built.file for built in self._built.values() if built.file and built.arch == architecture}:
            self._cubins[file] = self._read(file)

    def toolkit(self, architecture: str) -> str:
        return next((built.toolkit for built in self._built.values() if built.arch == architecture), "")

    def prepare(self, tests: Sequence[Test], architecture: str) -> None:
        pass

    def find(self, test: Test, architecture: str) -> BuiltTest:
        built = self._built.get((function_name(test), architecture))
        if built is None:
            raise DeviceError(f"{self.folder} has no binary of this test for {architecture}", Ending.BUILD_FAILED)
        return expect_unchanged(built)

    def cubin(self, built: BuiltTest) -> bytes:
        assert built.file is not None
        if built.file not in self._cubins:
            try:
                self._cubins[built.file] = self._read(built.file)
            except InputError as problem:
                raise DeviceError(problem.message, Ending.BUILD_FAILED) from None
        return self._cubins[built.file]

    def _read(self, file: str) -> bytes:
        path = self.folder / file
        try:
            cubin = path.read_bytes()
        except OSError as error:
            raise InputError(f"this cubin cannot be read: {error.strerror}", path=str(path)) from None
        if cubin_name(cubin) != file:
            message = "this cubin was changed since it was built and checked"
            raise InputError(message, path=str(path), hint="build it again")
        return cubin


def expect_unchanged(built: BuiltTest) -> BuiltTest:
    """Return the test, or raise `DeviceError` if it has no code, or code that optcheck refuses."""
    if not built.runnable:
        raise DeviceError(built.reason, Ending.NOT_RUNNABLE)
    if built.reason:
        details = f": {built.optcheck_text}" if built.optcheck_text else ""
        raise DeviceError(f"{built.reason}{details}", Ending.REFUSED)
    return built
