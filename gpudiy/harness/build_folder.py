"""`build`: compile and check tests, and write a folder of binaries."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gpudiy.arguments import list_names
from gpudiy.errors import MissingTool, UsageError
from gpudiy.files import expect_writable
from gpudiy.harness.build import BuildFailure, BuildResult, build_tests, toolchain_folder
from gpudiy.harness.build_options import DEFAULT_OPTIONS, LEVELS, BuildOptions
from gpudiy.harness.built import BuiltTest, write_built_folder
from gpudiy.harness.cache import default_folder
from gpudiy.litmus.content import content_hash
from gpudiy.litmus.loading import TestSource, read_all
from gpudiy.litmus.test import Test

if TYPE_CHECKING:
    from pandas import DataFrame

ARCHITECTURE = re.compile(r"sm_\d{2,3}[af]?\Z", re.ASCII)
BuildWatch = Callable[[str, Iterator[BuildResult]], Iterable[BuildResult]]  # follows the results for an architecture


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """The result of building a test for an architecture."""

    test: Test
    arch: str
    built: BuiltTest | BuildFailure


def build(
    tests: TestSource,
    *,
    arch: str | Iterable[str],
    output: str | Path,
    jobs: int = 2,
    keep_optimised: bool = False,
    optimise: int = 1,
) -> DataFrame:
    """Compile tests, and check that they are still the tests: `gpudiy.build(test, arch="sm_90", output="built")`.

    `tests` is a test or a path, or several; `arch` is an architecture such as `sm_80`, or several. The folder `output`
    gets the cubins and their index; `gpudiy.run(output, device="cuda:0")` runs them. The result has one row per test
    and architecture: `test`, `hash`, `arch`, `file` (the cubin; missing if the test was refused or could not be built),
    `optcheck` (what optcheck found: unchanged, …), `reason` (why there is no file), `ptx` and `sass` (the
    instructions that optcheck speaks of, one per line).

    `optimise` is the level of the assembler for the code of the tests: 0, 1 or 3. With `keep_optimised` tests that
    optcheck found changed get a file too. `jobs` is the number of worker processes.
    Bad input raises `InputError`, a compiler that is not installed raises `MissingTool`.
    """
    import pandas

    if optimise not in LEVELS:
        raise UsageError(f"expected a level of the assembler, {', '.join(map(str, LEVELS))}, not {optimise!r}")
    options = BuildOptions(optimise)
    entries = build_folder(read_all(tests), list_architectures(arch), Path(output), jobs, keep_optimised, options)
    rows = [_row(entry) for entry in entries]
    return pandas.DataFrame(rows, columns=["test", "hash", "arch", "file", "optcheck", "reason", "ptx", "sass"])


def build_folder(
    tests: Iterable[Test],
    architectures: Sequence[str],
    folder: Path,
    jobs: int = 2,
    keep_optimised: bool = False,
    options: BuildOptions = DEFAULT_OPTIONS,
    watch: BuildWatch = lambda architecture, results: results,
) -> list[FolderEntry]:
    """Build tests into a folder: their cubins and their index. A missing tool is an error before any work is done."""
    expect_writable(folder, folder=True)
    store = writable_cache()
    cubins = {name: toolchain_folder(store, name, options) for name in architectures}
    folder.mkdir(parents=True, exist_ok=True)
    chosen = list(tests)
    entries = []
    for name in architectures:
        for test, built in watch(name, build_tests(chosen, name, store, jobs, options)):
            kept = built if isinstance(built, BuildFailure) else built.make_index_entry(keep_optimised)
            entries.append(FolderEntry(test, name, kept))
    write_built_folder(folder, [entry.built for entry in entries if isinstance(entry.built, BuiltTest)], cubins)
    return entries


def list_architectures(arch: str | Iterable[str]) -> list[str]:
    """The architectures, each once, from a list or from a text with commas; raises `UsageError` for a wrong name."""
    names = list_names(arch, "arch")
    wrong = next((name for name in names if not ARCHITECTURE.match(name)), None)
    if wrong is not None or not names:
        raise UsageError(f"expected an architecture such as sm_80, not {wrong or arch!r}")
    return names


def writable_cache() -> Path:
    """The folder of the build cache; raises `MissingTool` if it cannot be written."""
    folder, reason = default_folder(), ""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or str(error)
    if reason or not os.access(folder, os.W_OK):
        why = reason or "Permission denied"
        raise MissingTool(f"the cache {folder} cannot be written: {why}; set XDG_CACHE_HOME to another folder")
    return folder


def _row(entry: FolderEntry) -> dict[str, str | None]:
    about: dict[str, str | None] = {"test": entry.test.name, "hash": content_hash(entry.test), "arch": entry.arch}
    if isinstance(entry.built, BuildFailure):
        return {**about, "file": None, "optcheck": "", "reason": str(entry.built), "ptx": "", "sass": ""}
    built = entry.built
    found = {"ptx": "\n".join(built.ptx), "sass": "\n".join(built.sass)}
    return {**about, "file": built.file, "optcheck": built.optcheck, "reason": built.reason, **found}
