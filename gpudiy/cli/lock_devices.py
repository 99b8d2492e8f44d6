"""The tests of locks on devices: what was seen of every question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gpudiy.cli.progress import say
from gpudiy.litmus.test import Test
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

    @staticmethod
    def run(devices: Sequence[str], locks: Sequence[Lock], iterations: int, seed: int, quiet: bool) -> Experiment:
        """Run one test for each way in which threads can stand to one another, on every device."""
        experiment = Experiment(tuple(devices))
        if not devices:
            return experiment
        from gpudiy.devices.opening import check_kind

        for device in devices:
            check_kind(device)
        wanted = [(case, made.test) for lock in locks for case in _plain_cases(lock) if (made := lock_test(case))]
        for device in devices:
            experiment._run_on(device, wanted, iterations, seed, quiet)
        return experiment

    def _run_on(self, device: str, wanted: list[tuple[Case, Test]], iterations: int, seed: int, quiet: bool) -> None:
        from gpudiy.cli.progress import RunProgress
        from gpudiy.cli.run import OPENER
        from gpudiy.devices.runner import Runner
        from gpudiy.devices.settings import RunSettings
        from gpudiy.devices.worker import WorkerFailure

        progress = RunProgress(len(wanted), iterations, quiet)
        settings = RunSettings(iterations=iterations, seed=seed)
        try:
            with Runner(device, OPENER, progress.tell) as runner:
                records = runner.run([test for _, test in wanted], settings)
                for (case, _), record in zip(wanted, records, strict=True):
                    progress.finish_test()
                    self.runs.append(LockTestRun(case, device, record))
        except WorkerFailure as failure:
            say(failure.report("gpudiy lock check"))
            self.failures.append(device)


def _plain_cases(lock: Lock) -> list[Case]:
    return list({case.plain.name: case.plain for case in cases(lock)}.values())


def summary(runs: Sequence[LockTestRun]) -> str:
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
