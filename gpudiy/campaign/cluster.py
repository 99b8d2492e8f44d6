"""Running units on a Dask cluster: each goes to a worker that has its device, records come back."""

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
    """The cluster cannot do the work: it is not there, or nobody in it has a device."""


@dataclass(frozen=True, slots=True)
class DaskCluster:
    """A scheduler to connect to, or, without one, so many worker processes on this machine."""

    scheduler: str | None = None
    workers: int = 2

    def run(self, units: Sequence[Unit]) -> Iterator[Result]:
        """Every unit with its record, as they come. A worker that dies costs the unit in flight, which runs again."""
        try:
            from distributed import Client, LocalCluster
        except ImportError:
            raise ClusterError(INSTALL) from None
        if self.scheduler is not None:
            try:
                client = Client(self.scheduler, timeout=CONNECT)
            except (OSError, ValueError) as error:
                raise ClusterError(f"there is no scheduler at {self.scheduler}: {error}") from None
            with client:
                yield from _run(client, units)
            return
        local = LocalCluster(n_workers=self.workers, threads_per_worker=1, processes=True, dashboard_address=None)
        with local, Client(local) as client:
            yield from _run(client, units)


def _run(client: Client, units: Sequence[Unit]) -> Iterator[Result]:
    from distributed import as_completed

    places = _places(client, units)
    waiting: dict[Any, Unit] = {}
    for unit in units:
        text = unit.test.path.read_text(encoding="utf-8")
        future = client.submit(
            run_far, text, unit.group, key=f"gpudiy-{unit.key}", workers=places[unit.group.device], pure=False
        )
        waiting[future] = unit
    for future in as_completed(list(waiting)):
        unit = waiting.pop(future)
        error = future.exception()
        record = future.result() if error is None else _lost(unit, error)
        future.release()
        yield unit, unit.stamped(record)


def _places(client: Client, units: Sequence[Unit]) -> dict[str, list[str]]:
    """The workers that have each device, by asking all of them."""
    wanted = sorted({unit.group.device for unit in units})
    answers: dict[str, dict[str, str]] = client.run(devices_here, wanted)
    places = {device: [worker for worker, found in answers.items() if not found[device]] for device in wanted}
    for device, workers in places.items():
        if not workers:
            reasons = sorted({found[device] for found in answers.values()}) or ["the cluster has no worker"]
            raise ClusterError(f"no worker has the device {device}: {'; '.join(reasons)}")
    return places


_RUNNERS: dict[str, Runner] = {}  # of this worker process, one a device


def devices_here(wanted: Sequence[str]) -> dict[str, str]:
    """For each device an empty text if this process can open it, else why not. Runs on a worker."""
    found = {}
    for device in wanted:
        try:
            _runner(device).open()
            found[device] = ""
        except (WorkerFailure, InputError) as error:
            found[device] = str(error)
    return found


def run_far(text: str, group: Group) -> Record:
    """The record of one test. Runs on a worker, in whose process the device stays open."""
    (record,) = _runner(group.device).run([read_test(text)], group.settings())
    return record


def _runner(device: str) -> Runner:
    return _RUNNERS.setdefault(device, Runner(device))


def _lost(unit: Unit, error: BaseException) -> Record:
    """The record of a unit that no worker survived, or that could not be run at all."""
    test = unit.test.load()
    blank = Record(test.name, hash=unit.test.hash, device=unit.group.device)
    return replace(blank, ending=Ending.CRASHED, reason=f"{type(error).__name__}: {error}"[:300])
