"""Run the tests of locks on devices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from gpudiy.devices.opening import check_kind
from gpudiy.devices.run import RunWatch, run_on_device
from gpudiy.devices.settings import RunSettings
from gpudiy.devices.worker import WorkerFailure
from gpudiy.errors import DeviceFailure
from gpudiy.locks.generation import Case, LockTest, build_lock_test, list_cases
from gpudiy.locks.lock import Lock
from gpudiy.locks.question import Question
from gpudiy.logs.decision import Decision, NoEvidence, Sighting, count_sightings, decide_sighting
from gpudiy.logs.record import Record


@dataclass(frozen=True, slots=True)
class LockTestRun:
    """One test of a lock on one device."""

    case: Case
    device: str
    record: Record

    @property
    def decision(self) -> Decision:
        """Whether the outcome in question was observed; if the run is no evidence, of which kind it is."""
        return decide_sighting(self.record)


@dataclass(slots=True)
class LockExperiment:
    """The runs of locks; `failures` are the devices that did not open."""

    devices: tuple[str, ...] = ()
    runs: list[LockTestRun] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        """Whether a device or a run failed, or a device could run no test at all: then the runs prove nothing."""
        bad = any(run.decision.kind in (NoEvidence.FAILED, NoEvidence.HARNESS) for run in self.runs)
        idle = any(
            all(run.decision.kind is NoEvidence.NOT_RUNNABLE for run in self.runs if run.device == device)
            for device in self.devices
        )
        return bool(self.failures) or bad or idle

    def runs_of(self, lock: Lock, device: str | None = None, question: Question | None = None) -> list[LockTestRun]:
        """The runs of a lock, of one device or question if given."""
        return [
            run for run in self.runs
            if run.case.lock is lock
            and (device is None or run.device == device)
            and (question is None or run.case.question is question)
        ]  # fmt: skip

    def shows(self, lock: Lock) -> bool:
        """Whether an outcome was observed that the lock must prevent."""
        return any(run.decision.sighting is Sighting.OBSERVED for run in self.runs_of(lock))


def run_lock_tests(
    locks: Sequence[Lock],
    devices: Sequence[str],
    *,
    iterations: int = 100_000,
    seed: int = 1,
    watch: Callable[[int], RunWatch | None] = lambda tests: None,
    report_failure: Callable[[DeviceFailure], None] = lambda failure: None,
) -> LockExperiment:
    """Run one test for each question and each way to place the threads, on every device.

    `watch` receives the number of tests and follows the run on one device. The error of a device that does not open is
    passed to `report_failure`, and the run continues on the other devices.
    """
    for device in devices:
        check_kind(device)
    experiment = LockExperiment(tuple(devices))
    tests = _list_tests(locks) if devices else []
    for device in devices:
        settings, following = RunSettings(iterations=iterations, seed=seed), watch(len(tests))
        try:
            records = run_on_device(device, [found.test for found in tests], settings, watch=following)
            for found, record in zip(tests, records, strict=True):
                experiment.runs.append(LockTestRun(found.case, device, record))
        except WorkerFailure as failure:
            report_failure(failure)
            experiment.failures.append(device)
    return experiment


def _list_tests(locks: Iterable[Lock]) -> list[LockTest]:
    cases = [case for lock in locks for case in {case.plain.name: case.plain for case in list_cases(lock)}.values()]
    return [found for case in cases if (found := build_lock_test(case)) is not None]


def describe_runs(runs: Sequence[LockTestRun]) -> str:
    """The sightings and iterations of some runs as text, or why there are none."""
    kinds = [run.decision.kind for run in runs]
    ran = [run for run, kind in zip(runs, kinds, strict=True) if kind is None]
    seen = sum(count_sightings(run.record) for run in ran)
    iterations = sum(run.record.iterations for run in ran)
    if seen:
        return f"seen {seen:,}/{_shorten(iterations)}"
    for bad in (NoEvidence.FAILED, NoEvidence.HARNESS):
        if bad in kinds:
            return str(bad)
    return f"0/{_shorten(iterations)}" if ran else str(NoEvidence.NOT_RUNNABLE)


def _shorten(number: int) -> str:
    for unit, letter in ((1_000_000, "M"), (1_000, "k")):
        if number >= 10 * unit:
            return f"{number / unit:,.0f}{letter}"
    return f"{number:,}"
