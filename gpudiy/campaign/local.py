"""Run units on the devices of this machine: one thread per device, each with its worker process."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from queue import Queue

from gpudiy.campaign.unit import Unit
from gpudiy.devices.runner import Runner
from gpudiy.devices.worker import OPENER
from gpudiy.logs.record import Record

Result = tuple[Unit, Record]


class _End:
    """A device has finished its units, or cannot continue because of `error`."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


def run_locally(units: Sequence[Unit], opener: str = OPENER) -> Iterator[Result]:
    """Yield every unit with its record as it finishes; devices work in parallel."""
    by_device: dict[str, list[Unit]] = defaultdict(list)
    for unit in units:
        by_device[unit.group.device].append(unit)
    results: Queue[Result | _End] = Queue()
    stop = threading.Event()
    for device, work in by_device.items():
        threading.Thread(target=_drive, args=(device, work, opener, results, stop), daemon=True).start()
    left = len(by_device)
    try:
        while left:
            result = results.get()
            if not isinstance(result, _End):
                yield result
                continue
            left -= 1
            if result.error is not None:
                raise result.error
    finally:
        stop.set()


def _drive(
    device: str, units: Sequence[Unit], opener: str, results: Queue[Result | _End], stop: threading.Event
) -> None:
    try:
        with Runner(device, opener) as runner:
            for result in run_units(runner, units):
                results.put(result)
                if stop.is_set():
                    break
        results.put(_End(None))
    except BaseException as error:
        results.put(_End(error))


def run_units(runner: Runner, units: Sequence[Unit]) -> Iterator[Result]:
    """Run units on one device, all units of a group together."""
    for group, members in groupby(units, key=lambda unit: unit.group):
        work = list(members)
        records = runner.run([unit.test.load() for unit in work], group.settings())
        for unit, record in zip(work, records, strict=True):
            yield unit, unit.stamp_record(record)
