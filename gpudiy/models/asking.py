"""Other questions about many tests: data races and progress, in several processes if asked to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from gpudiy.errors import ExitCode
from gpudiy.litmus.content import content_hash
from gpudiy.litmus.errors import LitmusError
from gpudiy.litmus.sources import load_tests
from gpudiy.litmus.test import Test
from gpudiy.models.deciding import HowToDecide
from gpudiy.models.library import load_model
from gpudiy.models.progress.guarantee import ProgressGuarantee
from gpudiy.models.progress.report import action_text, progress_text
from gpudiy.models.progress.verdict import ProgressAnswer, ProgressVerdict, decide_progress
from gpudiy.models.race_report import access_text, race_text
from gpudiy.models.races import RaceVerdict, find_race
from gpudiy.models.verdict import AnswerWord, label_model
from gpudiy.processes import map_in_processes


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """What is said of one test under one model. `facts` are what JSON has beside that, `text` explains it."""

    hash: str
    test: str
    model: str
    answer: str
    exit_code: ExitCode
    reason: str
    text: str
    facts: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AskedTest:
    """The answers about one test of a file, one row per model; or the error that kept the file from being read."""

    file: str
    rows: tuple[AnswerRow, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class Asker:
    """Asks about all tests of a file: for races, or whether all runs end. A value that other processes can be sent."""

    models: tuple[str, ...]
    how: HowToDecide
    progress: ProgressGuarantee | None = None  # None asks for races

    def __call__(self, source: str) -> list[AskedTest]:
        found: list[AskedTest] = []
        try:
            for test in load_tests(source):
                found.append(AskedTest(source, tuple(self._row(test, name) for name in self.models)))
        except LitmusError as error:
            found.append(AskedTest(source, error=str(error)))
        return found

    def _row(self, test: Test, name: str) -> AnswerRow:
        if self.progress is None:
            race = self.find_race(test, name)
            code = _exit_code(race.verdict.answer, bad=race.verdict.allowed)
            reason, text, facts = race.reason, race_text(race), _race_facts(race)
            label = label_model(name, self.how.dependencies)
            return AnswerRow(content_hash(test), test.name, label, race.answer, code, reason, text, facts)
        verdict = self.decide_progress(test, name)
        code = _exit_code(verdict.answer, bad=verdict.answer is ProgressAnswer.MAY_HANG)
        answer, text, facts = str(verdict.answer), progress_text(verdict), _progress_facts(verdict)
        return AnswerRow(content_hash(test), test.name, name, answer, code, verdict.reason, text, facts)

    def find_race(self, test: Test, model: str) -> RaceVerdict:
        how = self.how
        return find_race(
            test, load_model(model),
            engine=how.engine, unroll=how.unroll, limit=how.limit, dependencies=how.dependencies,
        )  # fmt: skip

    def decide_progress(self, test: Test, model: str) -> ProgressVerdict:
        assert self.progress is not None
        return decide_progress(test, load_model(model), self.progress, limit=self.how.limit)


def ask_files(sources: Sequence[str], asker: Asker, jobs: int) -> Iterator[list[AskedTest]]:
    """The answers about the tests of each file, in their order."""
    return map_in_processes(asker, sources, jobs)


def _exit_code(answer: AnswerWord, *, bad: bool) -> ExitCode:
    """0 if all is well, 1 if not; else that of an undecided answer."""
    if answer.undecided:
        return answer.exit_code
    return ExitCode.NO if bad else ExitCode.FINE


def _race_facts(verdict: RaceVerdict) -> dict[str, object]:
    return {"races": [[access_text(access) for access in race.accesses] for race in verdict.races]}


def _progress_facts(verdict: ProgressVerdict) -> dict[str, object]:
    facts: dict[str, object] = {"progress": str(verdict.guarantee)}
    if verdict.assumption:
        facts["assumption"] = verdict.assumption
    if verdict.hang is not None:
        for name, actions in (("before", verdict.hang.stem), ("repeated", verdict.hang.cycle)):
            facts[name] = [f"P{each.thread}: {' '.join(action_text(verdict.test, each).split())}" for each in actions]
    return facts
