"""`run`: tests on devices, from Python in one line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from gpudiy.devices.opening import list_device_names
from gpudiy.devices.runner import Runner
from gpudiy.devices.settings import ITERATIONS, LAUNCHES, RunSettings, make_settings
from gpudiy.devices.worker import OPENER
from gpudiy.harness.built import find_built_folder, load_built_tests
from gpudiy.litmus.loading import TestSource, read_all
from gpudiy.litmus.test import Test
from gpudiy.logs.frame import frame_of_records
from gpudiy.logs.growing_log import GrowingLog, open_log_of_run
from gpudiy.logs.record import Record

if TYPE_CHECKING:
    from pandas import DataFrame


def run(
    tests: TestSource,
    *,
    device: str | Iterable[str],
    iterations: int = ITERATIONS,
    seed: int | None = None,
    incantation: str = "default",
    until: str | None = None,
    limit: float | None = None,
    memory: Literal["device", "managed", "host"] = "device",
    launches: int = LAUNCHES,
    seconds: float | None = None,
    output: str | Path | None = None,
    format: Literal["text", "jsonl", "parquet"] | None = None,
    resume: bool = False,
) -> DataFrame:
    """Run tests on devices: `gpudiy.run("mp.litmus", device="sim:kepler", iterations=100_000)`.

    `tests` is a test or a path, or several, or a folder that `gpudiy.build` left; `device` is a name such as `cuda:0`,
    `opencl` or `sim:kepler`, or several. The result has one row per record, with the columns of `gpudiy.logs.SCHEMA`.
    What hung, crashed or could not be run is a record that says so.

    The same `seed` gives the same run; without one it is a new one. `incantation` is default, none, all, switches such
    as stress+sync, or a file of `gpudiy tune`. `until` stops a test early: "observed", a number of sightings, or
    "confidence". `limit` is the time for each test, in seconds. Where a device runs launches, a test has at least so
    many `launches`, and lasts so many `seconds` (without it: 1 on a GPU), whatever the iterations. `memory` is where
    the locations lie: on the device, in managed memory, or in pinned memory of the host.

    `output` is a log that grows with every record, in the format of its suffix or in `format`; an interrupt leaves what
    was finished there. With `resume` it is continued: tests that are in it are not run again, and not in the result.

    Bad input and unknown devices raise `InputError`, a device that does not open raises `DeviceFailure`.
    """
    names = list_device_names(device)
    settings = make_settings(
        iterations=iterations,
        seed=seed,
        incantation=incantation,
        until=until,
        limit=limit,
        launches=launches,
        seconds=seconds,
        memory=memory,
    )
    sources = [tests] if isinstance(tests, (Test, str, Path)) or not isinstance(tests, Iterable) else list(tests)
    built = find_built_folder(sources)
    loaded = read_all(sources) if built is None else load_built_tests(built)
    records: list[Record] = []
    log = open_log_of_run(None if output is None else str(output), format, resume=resume)
    with log or nullcontext():
        for name in names:
            records += run_on_device(name, loaded, settings, log=log, built=built)
    return frame_of_records(records)


class RunWatch(Protocol):
    """Somebody who follows a run on a device."""

    def start(self, device: str, left: int) -> None:
        """The device is open, and so many tests are left to run."""
        ...

    def tell(self, test: Test, iterations: int, sightings: int) -> None:
        """So many iterations of the test are done, with so many sightings."""
        ...

    def finish_test(self) -> None:
        """One more test is done."""
        ...


def run_on_device(
    device: str,
    tests: Sequence[Test],
    settings: RunSettings,
    *,
    log: GrowingLog | None = None,
    built: Path | None = None,
    watch: RunWatch | None = None,
    opener: str = OPENER,
) -> Iterator[Record]:
    """The records of tests on one device as they come; those of a log are added to it, and not run if it has them."""
    with Runner(device, opener, None if watch is None else watch.tell, built) as runner:
        left = tests if log is None else log.missing(tests, runner.chip.device, settings.memory)
        if watch is not None:
            watch.start(device, len(left))
        for record in runner.run(left, settings):
            if watch is not None:
                watch.finish_test()
            if log is not None:
                log.add(record)
            yield record
