"""The tests of locks on devices: what was seen of every question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from gpudiy.devices.opening import check_kind
from gpudiy.devices.runner import Runner, RunWatch, UnwatchedRun
from gpudiy.devices.settings import RunSettings
from gpudiy.devices.worker import WorkerFailure
from gpudiy.errors import DeviceFailure
from gpudiy.locks.generation import Case, cases, lock_test
from gpudiy.locks.lock import Lock
from gpudiy.locks.question import Question
from gpudiy.logs.decision import Sighting, count_sightings, decide_record
from gpudiy.logs.record import Record


@dataclass(frozen=True, slots=True)
class LockTestRun:
    """One test of a lock on one device."""

    case: Case
    device: str
    record: Record

    @property
    def sighting(self) -> Sighting:
        return decide_record(self.record).sighting


@dataclass(slots=True)
class Experiment:
    """All that was run; a device that could not be opened has failed."""

    devices: tuple[str, ...] = ()
    runs: list[LockTestRun] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @property
    def seen(self) -> bool:
        """Whether any outcome in question was observed."""
        return any(run.sighting is Sighting.OBSERVED for run in self.runs)

    @property
    def failed(self) -> bool:
        """Whether anything went wrong with a device, or one could run nothing at all: then nothing is not fine."""
        bad = any(run.sighting in (Sighting.FAILED, Sighting.DEAD) for run in self.runs)
        idle = any(
            all(s.sighting is Sighting.NOT_RUNNABLE for s in self.runs if s.device == device) for device in self.devices
        )
        return bool(self.failures) or bad or idle

    def of(self, lock: Lock, question: Question, device: str) -> list[LockTestRun]:
        return [s for s in self.runs if s.case.lock is lock and s.case.question is question and s.device == device]


def run_lock_tests(
    locks: Sequence[Lock],
    devices: Sequence[str],
    *,
    iterations: int = 100_000,
    seed: int = 1,
    watch: Callable[[int], RunWatch] = UnwatchedRun,
    report_failure: Callable[[DeviceFailure], None] = lambda failure: None,
) -> Experiment:
    """Run one test for each way in which threads can stand to one another, on every device.

    `watch` is given the number of tests and follows the run on one device. A device that does not open is passed to
    `report_failure`, and the others go on.
    """
    for device in devices:
        check_kind(device)
    experiment = Experiment(tuple(devices))
    tests = [(case, made.test) for lock in locks for case in _plain_cases(lock) if (made := lock_test(case))]
    for device in devices:
        watching = watch(len(tests))
        try:
            with Runner(device, teller=watching.tell) as runner:
                records = runner.run([test for _, test in tests], RunSettings(iterations=iterations, seed=seed))
                for (case, _), record in zip(tests, records, strict=True):
                    watching.finish_test()
                    experiment.runs.append(LockTestRun(case, device, record))
        except WorkerFailure as failure:
            report_failure(failure)
            experiment.failures.append(device)
    return experiment


def _plain_cases(lock: Lock) -> list[Case]:
    return list({case.plain.name: case.plain for case in cases(lock)}.values())


def summarise_runs(runs: Sequence[LockTestRun]) -> str:
    """What a device showed of a question: sightings and iterations, or why there are none."""
    sightings = [run.sighting for run in runs]
    ran = [s for s in runs if s.sighting in (Sighting.OBSERVED, Sighting.NOT_OBSERVED)]
    seen = sum(count_sightings(s.record) for s in ran)
    iterations = sum(s.record.iterations for s in ran)
    if seen:
        return f"seen {seen:,}/{_short(iterations)}"
    for bad in (Sighting.FAILED, Sighting.DEAD):
        if bad in sightings:
            return str(bad)
    return f"0/{_short(iterations)}" if ran else str(Sighting.NOT_RUNNABLE)


def _short(number: int) -> str:
    for unit, letter in ((1_000_000, "M"), (1_000, "k")):
        if number >= 10 * unit:
            return f"{number / unit:,.0f}{letter}"
    return f"{number:,}"
