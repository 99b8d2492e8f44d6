"""`check_lock`: is a lock right? The answer is a `LockReport`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from gpudiy.devices.opening import list_device_names
from gpudiy.locks.experiment import LockExperiment, run_lock_tests
from gpudiy.locks.judge import CaseVerdict, LockJudge, Watch, list_assumptions
from gpudiy.locks.lock import Lock
from gpudiy.locks.question import Question
from gpudiy.locks.remarks import Remark, find_remarks
from gpudiy.locks.source import PLAIN, Reading, load_lock
from gpudiy.locks.witness import LockWitness, draw_witness, find_witness, simplest_case
from gpudiy.models.library import list_model_names, load_model
from gpudiy.models.verdict import Answer
from gpudiy.pictures.writing import write_picture

WITNESS_ORDER = dict.fromkeys(  # the clearest first
    (Question.MUTUAL_EXCLUSION, Question.STALE_VALUE, Question.FUTURE_VALUE, *Question)
)


class Judgement(StrEnum):
    """The answer of a lock check."""

    RIGHT = "right"
    WRONG = "wrong"
    UNKNOWN = "unknown"  # a model gives no answer, a path of the lock is not asked about, or a device failed


@dataclass(frozen=True, slots=True)
class LockReport:
    """The verdicts of models and the runs on devices for one lock; `str(report)` is the text for people."""

    lock: Lock
    models: tuple[str, ...]
    verdicts: tuple[CaseVerdict, ...]
    experiment: LockExperiment = field(default_factory=LockExperiment)

    @property
    def judgement(self) -> Judgement:
        """Wrong if a model allows or a device showed an outcome in question, even if something else is unknown.

        A lock that is never released is wrong without any model.
        """
        by_models = {self.judgement_by(model) for model in self.models}
        if Judgement.WRONG in by_models or self.experiment.shows(self.lock):
            return Judgement.WRONG
        unknown = Judgement.UNKNOWN in by_models or self.experiment.failed
        return Judgement.UNKNOWN if unknown else Judgement.RIGHT

    def judgement_by(self, model: str) -> Judgement:
        """The judgement of one model."""
        answers = self.answers(model)
        if Answer.ALLOWED in answers or self.lock.fault:
            return Judgement.WRONG
        complete = answers == {Answer.FORBIDDEN} and not self.lock.gaps
        return Judgement.RIGHT if complete else Judgement.UNKNOWN

    def answers(self, model: str | None = None) -> set[Answer]:
        """The different answers of a model, or of all models."""
        return {found.verdict.answer for found in self.verdicts if model is None or found.model == model}

    def wrong_questions(self, model: str) -> list[Question]:
        """The questions whose outcome a model allows."""
        allowed = [found for found in self.verdicts if found.model == model and found.verdict.allowed]
        return list(dict.fromkeys(found.case.question for found in allowed))

    def reason(self, model: str) -> str:
        """Why a model has no answer; empty if it has one for every question."""
        undecided = (found for found in self.verdicts if found.model == model and found.verdict.undecided)
        gaps = (f"line {gap.line}: {gap.text}" if gap.line else gap.text for gap in self.lock.gaps)
        return next((found.verdict.reason for found in undecided), next(gaps, ""))

    def find_witness(self, model: str, question: Question) -> LockWitness | None:
        """The simplest execution that shows that the lock is wrong; None if the model forbids the outcome."""
        case = simplest_case(self.verdicts, question, model)
        return None if case is None else find_witness(case, load_model(model))

    def find_witnesses(self) -> Iterator[LockWitness]:
        """The simplest execution for each model and question that shows that the lock is wrong."""
        for model in self.models:
            for question in WITNESS_ORDER:
                found = self.find_witness(model, question)
                if found is not None:
                    yield found

    @property
    def assumptions(self) -> list[tuple[str, str]]:
        """What the judgements rest on beside the models, each with the name of its model."""
        return list_assumptions(self.lock, self.models)

    @property
    def remarks(self) -> list[Remark]:
        """Notes about the lock that need no model."""
        return find_remarks(self.lock)

    def __str__(self) -> str:
        from gpudiy.locks.report_text import format_report

        return format_report(self)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from gpudiy.locks.notebook import html_of_report

        return html_of_report(self)

    def __repr__(self) -> str:
        by_models = []
        for model in self.models:
            wrong = ", ".join([*self.wrong_questions(model), *(["never released"] if self.lock.fault else [])])
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
    """Check by models and on devices whether a lock is right: `gpudiy.check_lock("he-yu-spinlock", models="ptx-6.0")`.

    `lock` is a `Lock`, a name of the library or a file; `reading` says how to read its source. `models` are names of
    the library or `.cat` files. On each device, such as `sim:kepler`, every test runs for `iterations` iterations; a
    device that does not open makes the judgement unknown. `jobs` is the number of worker processes. An unknown lock,
    model or device raises `InputError`.
    """
    names = list_model_names(models)
    for name in names:
        load_model(name)  # a model that cannot be read is an error before any work starts
    devices = list_device_names(device) if device else []
    loaded = load_lock(lock, reading)
    (report,) = check_locks([loaded], names, jobs=jobs)
    return replace(report, experiment=run_lock_tests([loaded], devices, iterations=iterations, seed=seed))


def check_locks(
    locks: Sequence[Lock],
    models: Sequence[str] = ("ptx-6.0",),
    *,
    jobs: int = 1,
    watch: Watch = iter,
) -> list[LockReport]:
    """One report per lock, without devices; a test that several locks have in common is decided once."""
    judge = LockJudge(tuple(models))
    verdicts = judge.judge(locks, jobs, watch)
    return [LockReport(lock, judge.models, tuple(v for v in verdicts if v.case.lock is lock)) for lock in locks]


def draw_witnesses(reports: Sequence[LockReport], folder: Path, suffix: str) -> int:
    """Draw one execution for each question that a model answers with allowed; how many were drawn."""
    drawn = 0
    for report in reports:
        for witness in report.find_witnesses():
            model = Path(witness.model).name.removesuffix(".cat")
            name = f"{report.lock.name}+{witness.made.case.question}+{model}.{suffix}"
            write_picture(draw_witness(witness), folder / name)
            drawn += 1
    return drawn
