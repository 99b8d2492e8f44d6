"""`check_lock`: is a lock right? The answer is a `LockReport`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from gpudiy.devices.opening import list_device_names
from gpudiy.locks.experiment import LockExperiment, run_lock_tests
from gpudiy.locks.judge import CaseVerdict, LockJudge, Watch
from gpudiy.locks.lock import Lock
from gpudiy.locks.question import Question
from gpudiy.locks.remarks import Remark, find_remarks
from gpudiy.locks.source import PLAIN, Reading, load_lock
from gpudiy.locks.witness import LockWitness, find_witness, simplest_case
from gpudiy.models.library import list_model_names, load_model
from gpudiy.models.verdict import Answer

TELLING = (Question.STALE_VALUE, Question.FUTURE_VALUE, *Question)  # the order in which a witness is looked for


class Judgement(StrEnum):
    """The answer of a lock check."""

    RIGHT = "right"
    WRONG = "wrong"
    UNKNOWN = "unknown"  # a model gives no meaning to the lock or ran out of time, or a device failed


@dataclass(frozen=True, slots=True)
class LockReport:
    """What models, and devices if they were asked, say of a lock; `str(report)` is the text that a person reads."""

    lock: Lock
    models: tuple[str, ...]
    verdicts: tuple[CaseVerdict, ...]
    experiment: LockExperiment = field(default_factory=LockExperiment)

    @property
    def judgement(self) -> Judgement:
        """Wrong if any model allows or any device shows what must not be, whatever else is unknown."""
        by_models = {self.judgement_by(model) for model in self.models}
        if Judgement.WRONG in by_models or self.experiment.shows(self.lock):
            return Judgement.WRONG
        unknown = Judgement.UNKNOWN in by_models or self.experiment.failed
        return Judgement.UNKNOWN if unknown else Judgement.RIGHT

    def judgement_by(self, model: str) -> Judgement:
        """The judgement of one model."""
        answers = self.answers(model)
        if Answer.ALLOWED in answers:
            return Judgement.WRONG
        return Judgement.RIGHT if answers == {Answer.FORBIDDEN} else Judgement.UNKNOWN

    def answers(self, model: str | None = None) -> set[Answer]:
        """The different answers of a model, or of all models."""
        return {found.verdict.answer for found in self.verdicts if model is None or found.model == model}

    def wrong_questions(self, model: str) -> list[Question]:
        """The questions for which a model allows what must not be."""
        allowed = [found for found in self.verdicts if found.model == model and found.verdict.allowed]
        return list(dict.fromkeys(found.case.question for found in allowed))

    def reason(self, model: str) -> str:
        """Why a model has no answer; empty if it has one for every question."""
        undecided = (found for found in self.verdicts if found.model == model and found.verdict.undecided)
        return next((found.verdict.reason for found in undecided), "")

    def find_witness(self, model: str, question: Question) -> LockWitness | None:
        """The simplest execution that shows the lock wrong; None if the model allows nothing here."""
        case = simplest_case(self.verdicts, question, model)
        return None if case is None else find_witness(case, load_model(model))

    def find_witnesses(self) -> Iterator[LockWitness]:
        """The simplest execution for each model and question that shows the lock wrong, clear questions first."""
        for model in self.models:
            for question in dict.fromkeys(TELLING):
                found = self.find_witness(model, question)
                if found is not None:
                    yield found

    @property
    def remarks(self) -> list[Remark]:
        """What can be said of the lock without a model."""
        return find_remarks(self.lock)

    def __str__(self) -> str:
        from gpudiy.locks.report_text import report_text

        return report_text(self)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from gpudiy.locks.notebook import html_of_report

        return html_of_report(self)

    def __repr__(self) -> str:
        by_models = []
        for model in self.models:
            wrong = ", ".join(self.wrong_questions(model))
            by_models.append(f"{self.judgement_by(model)} by {model}" + (f" ({wrong})" if wrong else ""))
        return f"<{self.lock.name}: {'; '.join(by_models)}>"


def check_lock(
    lock: Lock | str | Path,
    *,
    models: str | Sequence[str] = "ptx-6.0",
    device: str | Sequence[str] = (),
    iterations: int = 100_000,
    seed: int = 1,
    reading: Reading = PLAIN,
    jobs: int = 1,
) -> LockReport:
    """Ask models, and devices, whether a lock is right: `gpudiy.check_lock("he-yu-spinlock", models="ptx-6.0")`.

    The lock is given as such, as a name of the library or as a file; `reading` says how its source is read. `models`
    are names of the library or `.cat` files. On each device, such as `sim:kepler`, every test runs for so many
    iterations, with this seed; a device that does not open makes the judgement unknown. `jobs` is the number of worker
    processes. An unknown lock, model or device raises `InputError`.
    """
    names = list_model_names(models)
    for name in names:
        load_model(name)  # a model that cannot be read is an error before any work is done
    devices = list_device_names(device) if device else []
    loaded = lock if isinstance(lock, Lock) else load_lock(str(lock), reading)
    (report,) = check_locks([loaded], names, jobs=jobs)
    return replace(report, experiment=run_lock_tests([loaded], devices, iterations=iterations, seed=seed))


def check_locks(
    locks: Sequence[Lock],
    models: Sequence[str] = ("ptx-6.0",),
    *,
    jobs: int = 1,
    watch: Watch = iter,
) -> list[LockReport]:
    """One report for each lock, by models; a test that several locks have in common is decided once."""
    judge = LockJudge(tuple(models))
    verdicts = judge.judge_all(locks, jobs, watch)
    return [LockReport(lock, judge.models, tuple(v for v in verdicts if v.case.lock is lock)) for lock in locks]
