"""Many tests to checked cubins: batches, worker processes, the cache. What one test does wrong is its own affair."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path

from gpudiy.harness.cache import Cache, Entry
from gpudiy.harness.checking import check_cubin, checker_version
from gpudiy.harness.module import PlayPtx, Rejected, RejectedPlays, assembler_for
from gpudiy.harness.nvrtc import CompileError
from gpudiy.harness.source import NotRunnable, play_name, templates_hash
from gpudiy.litmus.content import content_hash
from gpudiy.litmus.errors import InvalidTest, LitmusError, SourcePlace
from gpudiy.litmus.reader import Piece
from gpudiy.litmus.test import Test

BATCH = int(os.environ.get("GPUDIY_BATCH", "1000"))  # tests of a module: the more, the more share their code


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one test: an entry, or what is wrong with it."""

    piece: Piece
    entry: Entry | None = None
    problem: str = ""
    bad_input: bool = False  # the problem is the test's, not a tool's


def toolchain_folder(folder: Path, architecture: str) -> Path:
    """Where the cache keeps what these tools make of these templates; raises `MissingTool`."""
    version = f"{assembler_for(architecture).version} {checker_version()} {templates_hash()}"
    return folder / f"{architecture}-{sha256(version.encode()).hexdigest()[:16]}"


def build(pieces: Sequence[Piece], architecture: str, folder: Path, jobs: int = 2) -> Iterator[Outcome]:
    """Build the tests for an architecture; outcomes come as they are ready, those in the cache first.

    Tests with the same text are one test.
    """
    store = toolchain_folder(folder, architecture)
    known = Cache(store)
    missing = []
    for source, piece in {source_hash(piece): piece for piece in pieces}.items():
        entry = known.find(source)
        if entry is not None:
            yield Outcome(piece, entry)
        else:
            missing.append(piece)
    size = max(1, min(BATCH, -(-len(missing) // max(1, jobs))))
    batches = [missing[at : at + size] for at in range(0, len(missing), size)]
    if len(batches) <= 1 or jobs == 1:
        for batch in batches:
            yield from build_batch(batch, architecture, store)
        return
    yield from _in_processes(batches, architecture, store, jobs)


def build_batch(batch: Sequence[Piece], architecture: str, store: Path) -> list[Outcome]:
    """Build one module of these tests and keep it in the cache."""
    assembler_for(architecture).folder = store
    outcomes: list[Outcome] = []
    entries: list[Entry] = []
    meant: dict[str, _Meant] = {}
    for piece in batch:
        test = piece.read()
        if isinstance(test, LitmusError):
            outcomes.append(Outcome(piece, problem=str(test), bad_input=True))
            continue
        name = play_name(test)
        if name in meant:
            meant[name].tests.append((piece, test))
            continue
        try:
            meant[name] = _Meant(PlayPtx.of(test), [(piece, test)])
        except NotRunnable as problem:
            entries.append(
                Entry(source_hash(piece), test.name, content_hash(test), architecture, obstacle=str(problem))
            )
    cubin = _compiled(meant, architecture, outcomes)
    if cubin:
        entries += _checked(cubin, meant, architecture)
    kept = {entry.source: entry for entry in _cache(store).store(cubin, entries)} if entries else {}
    outcomes += (Outcome(piece, kept[found]) for piece in batch if (found := source_hash(piece)) in kept)
    return outcomes


@dataclass(frozen=True, slots=True)
class _Meant:
    """What a test means as code, with its results in their order, and the tests that mean it: names may differ."""

    play: PlayPtx
    tests: list[tuple[Piece, Test]]


def _checked(cubin: bytes, meant: dict[str, _Meant], architecture: str) -> Iterator[Entry]:
    """The tests of a cubin, with the verdicts on them."""
    found = check_cubin(cubin, [one.play for one in meant.values()], architecture)
    for number, (one, verdict) in enumerate(zip(meant.values(), found.verdicts, strict=True)):
        for piece, test in one.tests:
            yield Entry(
                source_hash(piece),
                test.name,
                content_hash(test),
                architecture,
                play=one.play.name,
                number=number,
                constants=one.play.constants,
                verdict=verdict[0],
                explanation=verdict[1],
                stress=found.stress,
            )


def source_hash(piece: Piece) -> str:
    return sha256(piece.text.encode()).hexdigest()[:32]


def _compiled(meant: dict[str, _Meant], architecture: str, outcomes: list[Outcome]) -> bytes:
    """The cubin of the tests; those that the compiler rejects are taken out and told."""
    while meant:
        try:
            return assembler_for(architecture).compile([one.play for one in meant.values()])
        except RejectedPlays as error:
            for meaning, one in list(meant.items()):
                rejected = error.rejected.get(one.play.name)
                if rejected is not None:
                    del meant[meaning]
                    outcomes += (
                        Outcome(piece, problem=str(located(piece, test, rejected)), bad_input=True)
                        for piece, test in one.tests
                    )
        except CompileError as error:
            if len(meant) == 1:
                outcomes += _failed(meant.popitem()[1], error.log)
            else:
                _without_culprits(meant, architecture, outcomes)
    return b""


def _without_culprits(meant: dict[str, _Meant], architecture: str, outcomes: list[Outcome]) -> None:
    """Take out every test that does not compile on its own; one at least there is, or all of them go."""
    before = len(meant)
    for meaning, one in list(meant.items()):
        alone = {meaning: one}
        _compiled(alone, architecture, outcomes)
        if not alone:
            del meant[meaning]
    if len(meant) == before:
        for one in meant.values():
            outcomes += _failed(one, "does not compile with others")
        meant.clear()


def _failed(one: _Meant, why: str) -> list[Outcome]:
    return [Outcome(piece, problem=f"{piece.path}: error: {test.name}: {why}") for piece, test in one.tests]


def located(piece: Piece, test: Test, rejected: Rejected) -> LitmusError:
    """The compiler's message with the place of the instruction it means."""
    message = f"{test.name}: the compiler rejects this: {rejected.message}"
    place = (
        SourcePlace("test") if rejected.index is None else SourcePlace("instruction", (rejected.thread, rejected.index))
    )
    return piece.objected(InvalidTest(message, place))


def _in_processes(batches: Iterable[Sequence[Piece]], architecture: str, store: Path, jobs: int) -> Iterator[Outcome]:
    """Batches in worker processes, which leave interrupts to this one; what is finished is in the cache."""
    context = get_context("forkserver")
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_ignore_interrupts)
    try:
        running: dict[Future[list[Outcome]], Sequence[Piece]] = {
            pool.submit(build_batch, batch, architecture, store): batch for batch in batches
        }
        while running:
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                batch = running.pop(future)
                try:
                    yield from future.result()
                except BrokenProcessPool:
                    yield from (Outcome(piece, problem=f"{piece.path}: error: the compiler crashed") for piece in batch)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@cache
def _cache(store: Path) -> Cache:
    return Cache(store)


__all__ = ["BATCH", "Outcome", "build", "build_batch", "located", "source_hash", "toolchain_folder"]
