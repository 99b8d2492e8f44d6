"""Many tests to checked cubins: batches, worker processes, the cache. A test that fails does not stop the others."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from gpudiy.errors import GpudiyError
from gpudiy.harness.build_options import DEFAULT_OPTIONS, BuildOptions
from gpudiy.harness.builder_version import builder_version
from gpudiy.harness.built import BuiltTest
from gpudiy.harness.cache import BuildCache
from gpudiy.harness.checking import check_cubin, join_explanations
from gpudiy.harness.kernel_reference import reference_for
from gpudiy.harness.module import Assembler, PtxTest, Rejected, RejectedTests, assembler_for
from gpudiy.harness.nvrtc import CompileError
from gpudiy.harness.source import NotRunnable, function_name
from gpudiy.harness.templates import templates_hash
from gpudiy.litmus.content import content_hash
from gpudiy.litmus.printer import print_any_test
from gpudiy.litmus.test import Test
from gpudiy.processes import follow_parent
from optcheck.finding import Check, Finding

BATCH = int(os.environ.get("GPUDIY_BATCH", "1000"))  # tests per module: in a larger module more tests share code


class BuildFailure(GpudiyError):
    """A test could not be built: a tool failed or, with `rejected`, the compiler rejects an instruction of the test."""

    def __init__(
        self, message: str, rejected: bool = False, thread: int | None = None, index: int | None = None
    ) -> None:
        super().__init__(message, rejected, thread, index)
        self.message = message
        self.rejected = rejected
        self.thread = thread
        self.index = index

    def __str__(self) -> str:
        return self.message


BuildResult = tuple[Test, BuiltTest | BuildFailure]


class _Source(NamedTuple):
    """A test and its text, which is its key in the cache."""

    litmus: str
    test: Test


def toolchain_folder(folder: Path, architecture: str, options: BuildOptions = DEFAULT_OPTIONS) -> Path:
    """The folder of the cache for this version of tools and templates; raises `MissingTool`."""
    version = f"{assembler_for(architecture, options).version} {builder_version()} {templates_hash()}"
    return folder / f"{architecture}-{sha256(version.encode()).hexdigest()[:16]}"


def build_tests(
    tests: Iterable[Test], architecture: str, folder: Path, jobs: int = 2, options: BuildOptions = DEFAULT_OPTIONS
) -> Iterator[BuildResult]:
    """Build the tests for an architecture; results come when they are ready, those from the cache first.

    Equal tests are built once and give one result.
    """
    store = toolchain_folder(folder, architecture, options)
    known = BuildCache(store)
    missing = []
    for litmus, test in {print_any_test(test): test for test in tests}.items():
        built = known.find(litmus)
        if built is not None:
            yield test, built
        else:
            missing.append(_Source(litmus, test))
    size = max(1, min(BATCH, -(-len(missing) // max(1, jobs))))
    batches = [missing[at : at + size] for at in range(0, len(missing), size)]
    if len(batches) <= 1 or jobs == 1:
        for batch in batches:
            yield from build_batch(batch, architecture, store, options)
        return
    yield from _build_in_processes(batches, architecture, store, jobs, options)


def build_batch(
    batch: Sequence[_Source], architecture: str, store: Path, options: BuildOptions = DEFAULT_OPTIONS
) -> list[BuildResult]:
    """Build one module of these tests and keep it in the cache."""
    assembler = assembler_for(architecture, options)
    assembler.folder = store
    built: list[BuiltTest] = []
    meant: dict[str, _Meant] = {}
    for source in batch:
        name = function_name(source.test)
        if name in meant:
            meant[name].sources.append(source)
            continue
        try:
            meant[name] = _Meant(PtxTest.of(source.test, architecture), [source])
        except NotRunnable as problem:
            built.append(_make_built_test(source, assembler, reason=str(problem)))
    results: list[BuildResult] = []
    cubin = _compile_tests(meant, assembler, results)
    if cubin:
        built += _check_tests(cubin, meant, assembler)
    kept = {one.litmus: one for one in _open_cache(store).store(cubin, built)} if built else {}
    results += ((source.test, kept[source.litmus]) for source in batch if source.litmus in kept)
    return results


@dataclass(frozen=True, slots=True)
class _Meant:
    """The code of a test, and all tests that have this code; they may differ in their names."""

    code: PtxTest
    sources: list[_Source]


def _make_built_test(
    source: _Source,
    assembler: Assembler,
    *,
    number: int = 0,
    function: str = "",
    constants: tuple[int, ...] = (),
    check: Check | None = None,
    reason: str = "",
    stress: str = "",
) -> BuiltTest:
    return BuiltTest(
        test=source.test.name,
        hash=content_hash(source.test),
        arch=assembler.architecture,
        number=number,
        function=function,
        constants=constants,
        optcheck="" if check is None else str(check.finding),
        optcheck_text="" if check is None else join_explanations(check.deviations),
        ptx=() if check is None else tuple(line for found in check.deviations for line in found.ptx),
        sass=() if check is None else tuple(line for found in check.deviations for line in found.sass),
        reason=reason,
        stress=stress,
        litmus=source.litmus,
        toolkit=assembler.version,
        optimise=assembler.level,
        harness=templates_hash(),
    )


def _check_tests(cubin: bytes, meant: dict[str, _Meant], assembler: Assembler) -> Iterator[BuiltTest]:
    """The tests of a cubin with their findings; a test that optcheck does not find unchanged gets a reason."""
    codes = [one.code for one in meant.values()]
    found = check_cubin(cubin, codes, assembler.architecture, reference_for(assembler))
    for number, (one, check) in enumerate(zip(meant.values(), found.checks, strict=True)):
        for source in one.sources:
            yield _make_built_test(
                source,
                assembler,
                number=number,
                function=one.code.function,
                constants=one.code.constants,
                check=check,
                reason=found.stress if check.finding is Finding.UNCHANGED else f"optcheck: {check.finding}",
                stress=found.stress,
            )


def _compile_tests(meant: dict[str, _Meant], assembler: Assembler, results: list[BuildResult]) -> bytes:
    """The cubin of the tests. Those that the compiler rejects are removed from `meant` and added to `results`."""
    while meant:
        try:
            return assembler.compile([one.code for one in meant.values()])
        except RejectedTests as error:
            for meaning, one in list(meant.items()):
                rejected = error.rejected.get(one.code.function)
                if rejected is not None:
                    del meant[meaning]
                    results += ((source.test, _make_rejection(source.test, rejected)) for source in one.sources)
        except CompileError as error:
            if len(meant) == 1:
                results += _make_failures(meant.popitem()[1], error.log)
            else:
                _remove_culprits(meant, assembler, results)
    return b""


def _remove_culprits(meant: dict[str, _Meant], assembler: Assembler, results: list[BuildResult]) -> None:
    """Remove every test that does not compile alone; if all of them do, remove all, since together they do not."""
    before = len(meant)
    for meaning, one in list(meant.items()):
        alone = {meaning: one}
        _compile_tests(alone, assembler, results)
        if not alone:
            del meant[meaning]
    if len(meant) == before:
        for one in meant.values():
            results += _make_failures(one, "it compiles alone, but not together with the other tests")
        meant.clear()


def _make_failures(one: _Meant, why: str) -> list[BuildResult]:
    return [(source.test, BuildFailure(f"{source.test.name}: {why}")) for source in one.sources]


def _make_rejection(test: Test, rejected: Rejected) -> BuildFailure:
    """The message of the compiler, with the thread and index of the instruction."""
    message = f"{test.name}: the compiler rejects this: {rejected.message}"
    return BuildFailure(message, True, rejected.thread, rejected.index)


def _build_in_processes(
    batches: Iterable[Sequence[_Source]], architecture: str, store: Path, jobs: int, options: BuildOptions
) -> Iterator[BuildResult]:
    """Build batches in worker processes. Only this process handles interrupts; finished batches are in the cache."""
    context = get_context("forkserver")
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=follow_parent)
    try:
        running: dict[Future[list[BuildResult]], Sequence[_Source]] = {
            pool.submit(build_batch, batch, architecture, store, options): batch for batch in batches
        }
        while running:
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                batch = running.pop(future)
                try:
                    yield from future.result()
                except BrokenProcessPool:
                    crashed = BuildFailure("the compiler crashed")
                    yield from ((source.test, crashed) for source in batch)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@cache
def _open_cache(store: Path) -> BuildCache:
    return BuildCache(store)
