"""Run units on a Dask cluster: each unit goes to a worker that has its device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gpudiy.campaign.local import Result
from gpudiy.campaign.unit import Group, Unit
from gpudiy.devices.runner import Runner
from gpudiy.devices.worker import WorkerFailure
from gpudiy.errors import InputError, ToolFailure
from gpudiy.litmus.reader import read_test
from gpudiy.logs.record import Ending, Record

if TYPE_CHECKING:
    from distributed import Client

CONNECT = 15  # seconds to find the scheduler
INSTALL = "the cluster needs dask.distributed: pip install 'gpudiy[cluster]'"


class ClusterError(ToolFailure):
    """The cluster cannot do the work: it cannot be reached, or no worker has a device."""


@dataclass(frozen=True, slots=True)
class DaskCluster:
    """A scheduler to connect to; without one, `workers` processes on this machine."""

    scheduler: str | None = None
    workers: int = 2

    def run(self, units: Sequence[Unit]) -> Iterator[Result]:
        """Yield every unit with its record as it finishes. The unit of a worker that dies runs again on another."""
        try:
            from distributed import Client, LocalCluster
        except ImportError:
            raise ClusterError(INSTALL) from None
        if self.scheduler is not None:
            try:
                client = Client(self.scheduler, timeout=CONNECT)
            except (OSError, ValueError) as error:
                raise ClusterError(f"cannot reach a scheduler at {self.scheduler}: {error}") from None
            with client:
                yield from _run(client, units)
            return
        local = LocalCluster(n_workers=self.workers, threads_per_worker=1, processes=True, dashboard_address=None)
        with local, Client(local) as client:
            yield from _run(client, units)


def _run(client: Client, units: Sequence[Unit]) -> Iterator[Result]:
    from distributed import as_completed

    places = _find_workers(client, units)
    waiting: dict[Any, Unit] = {}
    for unit in units:
        text = unit.test.path.read_text(encoding="utf-8")
        future = client.submit(
            run_on_worker, text, unit.group, key=f"gpudiy-{unit.key}", workers=places[unit.group.device], pure=False
        )
        waiting[future] = unit
    for future in as_completed(list(waiting)):
        unit = waiting.pop(future)
        error = future.exception()
        record = future.result() if error is None else _make_lost_record(unit, error)
        future.release()
        yield unit, unit.stamp_record(record)


def _find_workers(client: Client, units: Sequence[Unit]) -> dict[str, list[str]]:
    """Ask all workers which devices they have; the workers of each device."""
    devices = sorted({unit.group.device for unit in units})
    answers: dict[str, dict[str, str]] = client.run(check_devices, devices)
    places = {device: [worker for worker, found in answers.items() if not found[device]] for device in devices}
    for device, workers in places.items():
        if not workers:
            reasons = sorted({found[device] for found in answers.values()}) or ["the cluster has no worker"]
            raise ClusterError(f"no worker has the device {device}: {'; '.join(reasons)}")
    return places


_RUNNERS: dict[str, Runner] = {}  # of this worker process, one per device


def check_devices(devices: Sequence[str]) -> dict[str, str]:
    """Try to open devices, on a worker: for each device an empty text, or why it does not open."""
    found = {}
    for device in devices:
        try:
            _runner(device).open()
            found[device] = ""
        except (WorkerFailure, InputError) as error:
            found[device] = str(error)
    return found


def run_on_worker(text: str, group: Group) -> Record:
    """Run one test on a worker, whose process keeps the device open."""
    (record,) = _runner(group.device).run([read_test(text)], group.settings())
    return record


def _runner(device: str) -> Runner:
    return _RUNNERS.setdefault(device, Runner(device))


def _make_lost_record(unit: Unit, error: BaseException) -> Record:
    """The record of a unit that killed every worker, or that could not run at all."""
    test = unit.test.load()
    blank = Record(test.name, hash=unit.test.hash, device=unit.group.device)
    return replace(blank, ending=Ending.CRASHED, reason=f"{type(error).__name__}: {error}"[:300])
