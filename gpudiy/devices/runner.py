"""`Runner`: runs tests on a device, with one record per test, whatever the device does.

The iterations of a test are run in chunks whose sizes do not depend on chance. So a run can stop early and report its
progress, and the same seed still gives the same result. A failure ends its test and is recorded; then the device is
opened again in a new process, and the next test runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from gpudiy.devices.device import Chip, Observation
from gpudiy.devices.run_length import COLD_SECONDS, MOST_SECONDS, WarmUp, run_length
from gpudiy.devices.settings import RunSettings, derived_seed
from gpudiy.devices.tally import RunTally
from gpudiy.devices.worker import OPENER, Worker, WorkerFailure
from gpudiy.errors import InputError
from gpudiy.litmus import Test, content_hash
from gpudiy.logs.memory_place import MemoryPlace
from gpudiy.logs.record import Ending, Record

BATCH = 32  # tests that are built together
FIRST_CHUNK, LARGEST_CHUNK, GROWTH = 1 << 14, 1 << 20, 4  # iterations
SLOW_CHUNK = 8.0  # seconds: after so slow a chunk the next is not larger, except on a simulated device
SILENCE = 120.0  # seconds without an answer that count as a hang, if there is no limit
SIMULATED_SILENCE = 3600.0  # the same for a simulated device, which may be slow but does not hang
BUILD_LIMIT = 300.0  # seconds in which a batch is built
WARM_UP_SHARE = 4  # of the time limit, a fourth may go to a warm-up
GRACE = 0.5  # part of the time limit by which the last chunk may exceed it
MOST_PROBES = 3  # failures to open a device in a row, after which it is given up

HARMLESS = (Ending.BUILD_FAILED, Ending.REFUSED, Ending.NOT_RUNNABLE)  # endings after which the device still works

Teller = Callable[[Test, int, int], None]  # a test, its iterations done, its sightings


class Runner:
    """A device and the process it lives in. Use it in a `with` block, or `close` it.

    `built` is a folder that `gpudiy build` wrote: a device that loads binaries runs these, and no others.
    """

    def __init__(
        self, device: str, opener: str = OPENER, teller: Teller | None = None, built: Path | None = None
    ) -> None:
        self._worker = Worker(device, opener)
        self._teller = teller
        self._built = built
        self._chip = Chip(device, "")
        self._prepared: set[str] = set()
        self._suspects: set[str] = set()  # tests that could not be built together
        self._memory = MemoryPlace.DEVICE
        self._failed_probes = 0
        self._cold = True  # just opened: its clocks are low

    def __enter__(self) -> Runner:
        try:
            self.open()
        except WorkerFailure as failure:
            raise WorkerFailure(failure.ending, f"{self._worker.device} cannot be opened: {failure.reason}") from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self._worker.kill()

    @property
    def chip(self) -> Chip:
        """The description of the device when it was last opened."""
        return self._chip

    def open(self) -> Chip:
        """Open the device; raises `WorkerFailure` if that fails.

        Raises `InputError` if there is no such device, or if it cannot run what was built.
        """
        if not self._worker.alive:
            self._prepared.clear()
            self._memory = MemoryPlace.DEVICE
            self._cold = True
            self._chip = self._worker.start()
            if self._built is not None:
                self._use_built(self._built)
        return self._chip

    def _use_built(self, folder: Path) -> None:
        try:
            chip = self._worker.ask("use_built", str(folder), limit=BUILD_LIMIT)
        except (InputError, WorkerFailure):
            self._worker.kill()
            raise
        self._chip = chip or self._chip

    def _use_memory(self, place: MemoryPlace) -> str | None:
        """Let the locations of tests lie there; returns why they cannot, or None."""
        if place is not self._memory:
            if self._worker.ask("use_memory", place.value, limit=SILENCE) is None:
                return f"there is no {place} memory here: only NVIDIA's GPUs have other memory than their own"
            self._memory = place
        return None

    def close(self) -> None:
        self._worker.close()

    def run(self, tests: Sequence[Test], settings: RunSettings) -> Iterator[Record]:
        """One record per test, in order. After an interrupt the running test gets a record of what it has counted."""
        for start in range(0, len(tests), BATCH):
            batch = tests[start : start + BATCH]
            for position, test in enumerate(batch):
                record, interrupt = self._run_one(test, batch[position:], settings)
                if record is not None:
                    yield record
                if interrupt is not None:
                    raise interrupt

    def _run_one(
        self, test: Test, batch: Sequence[Test], settings: RunSettings
    ) -> tuple[Record | None, KeyboardInterrupt | None]:
        tally = RunTally(test, settings.incantations.of(test.name))
        try:
            self._reopen()
            obstacle = self._use_memory(settings.memory) or self._worker.ask("obstacle", test, limit=SILENCE)
            if obstacle is not None:
                return tally.record(self._chip, settings, Ending.NOT_RUNNABLE, str(obstacle)), None
            self._prepare(test, batch)
            self._worker.ask("warm_up", test, limit=BUILD_LIMIT)
            self._settle(tally, settings)
            reason = self._measure(tally, settings)
            ending = Ending.STOPPED if reason else Ending.FINISHED
        except WorkerFailure as failure:
            ending, reason = failure.ending, failure.reason
            if ending not in HARMLESS:
                self._worker.kill()
        except KeyboardInterrupt as interrupt:
            self._worker.kill()
            interrupted = tally.record(self._chip, settings, Ending.STOPPED, "interrupted")
            return interrupted if tally.iterations else None, interrupt
        return tally.record(self._chip, settings, ending, reason), None

    def _reopen(self) -> None:
        """Open the device again after a failure; give it up after several failures in a row."""
        if self._failed_probes >= MOST_PROBES:
            raise WorkerFailure(Ending.DEVICE_LOST, f"the device did not come back in {MOST_PROBES} attempts")
        try:
            self.open()
        except (WorkerFailure, InputError) as failure:
            self._failed_probes += 1
            raise WorkerFailure(Ending.DEVICE_LOST, f"the device did not come back: {failure.args[0]}") from None
        self._failed_probes = 0

    def _prepare(self, test: Test, batch: Sequence[Test]) -> None:
        """Build all tests of the batch at once; if that fails, build each alone, since one of them is the cause."""
        if content_hash(test) in self._prepared:
            return
        together = [one for one in batch if content_hash(one) not in self._suspects]
        if len(together) > 1 and test in together:
            with suppress(WorkerFailure):
                self._build([one for one in together if self._worker.ask("obstacle", one, limit=SILENCE) is None])
                return
            self._suspects.update(map(content_hash, together))
            self._reopen()
        self._build([test])

    def _build(self, tests: Sequence[Test]) -> None:
        try:
            self._worker.ask("prepare", tuple(tests), limit=BUILD_LIMIT)
        except WorkerFailure as failure:
            if not failure.alive and failure.ending is not Ending.TIMEOUT:
                failure.reason = f"while building: {failure.reason}"
            raise
        self._prepared.update(map(content_hash, tests))

    def _settle(self, tally: RunTally, settings: RunSettings) -> None:
        """Launch a test on a GPU, without counting, until its clocks have settled; not if `seconds` is 0."""
        if not self._chip.gpu or not run_length(settings, self._chip).seconds:
            return
        warm_up = WarmUp(COLD_SECONDS if self._cold else 0.0)
        asked = min(FIRST_CHUNK, run_length(settings, self._chip).largest_launch)
        meaning = content_hash(tally.test)
        patience = _patience(settings, 0.0, simulated=False)
        most = MOST_SECONDS if settings.limit is None else settings.limit / WARM_UP_SHARE
        while not warm_up.ended and warm_up.seconds < most:
            seed = derived_seed(settings.seed, meaning, -1 - len(warm_up.times))
            given = self._worker.ask("run", tally.test, tally.incantation, asked, seed, limit=patience)
            if not isinstance(given, Observation):
                return  # reported when the test itself is run
            warm_up.add(given)
        tally.warm_up = warm_up.describe()
        self._cold = False

    def _measure(self, tally: RunTally, settings: RunSettings) -> str:
        """Run all chunks; returns why the run stopped early, or an empty text."""
        start = time.monotonic()
        number, size, each = 0, FIRST_CHUNK, 0.0  # `each`: seconds that an iteration of the last chunk took
        meaning = content_hash(tally.test)
        incantation = tally.incantation
        length = run_length(settings, self._chip)
        while not length.is_reached(tally):
            elapsed = time.monotonic() - start
            if settings.limit is not None:
                size = _in_time(size, each, settings.limit - elapsed)
                if not size:
                    return f"time was up after {elapsed:.3g} s"
            asked = length.next_chunk(tally, size)
            seed = derived_seed(settings.seed, meaning, number)
            patience = _patience(settings, elapsed, self._chip.simulated)
            observation = self._worker.ask("run", tally.test, incantation, asked, seed, limit=patience)
            problem = tally.add(observation, asked)
            if problem:
                raise WorkerFailure(Ending.CRASHED, problem)
            sightings = tally.sightings()
            if self._teller is not None:
                self._teller(tally.test, tally.iterations, sightings)
            reason = settings.until.find_reason(sightings, tally.iterations, tally.launches())
            if reason and not length.is_reached(tally):
                return reason
            took = time.monotonic() - start - elapsed
            each = took / asked
            if (took < SLOW_CHUNK or self._chip.simulated) and size < LARGEST_CHUNK:
                size *= GROWTH
            number += 1
        return ""


def _in_time(size: int, each: float, left: float) -> int:
    """The size of a chunk that probably ends in the time left, or 0."""
    while size * each > left and size > FIRST_CHUNK:
        size //= GROWTH
    return 0 if size * each > left else size


def _patience(settings: RunSettings, elapsed: float, simulated: bool) -> float:
    if settings.limit is None:
        return SIMULATED_SILENCE if simulated else SILENCE
    return max(1.0, settings.limit * (1 + GRACE) - elapsed)


def run_tests(
    tests: Sequence[Test], device: str, settings: RunSettings | None = None, opener: str = OPENER
) -> list[Record]:
    """The records of tests on a device, for use from Python."""
    with Runner(device, opener) as runner:
        return list(runner.run(tests, settings or RunSettings()))
