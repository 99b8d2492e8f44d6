"""`Campaign`: the stages of a plan; each stage continues where it stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from gpudiy.campaign.junit import junit_text
from gpudiy.campaign.plan import CampaignPlan, read_plan
from gpudiy.campaign.records import load_records, open_record_store
from gpudiy.campaign.schedule import Evidence, Knowledge, Place, list_units
from gpudiy.campaign.test_set import PlannedTest, collect_tests
from gpudiy.campaign.unit import Unit
from gpudiy.campaign.verdicts import decide_tests, load_verdicts
from gpudiy.devices.opening import check_kind
from gpudiy.errors import InputError
from gpudiy.harness.incantation_text import IncantationBook, read_incantation
from gpudiy.litmus.content import content_hash
from gpudiy.litmus.draft import SourcedTest
from gpudiy.litmus.test import Test
from gpudiy.logs.columns import Columns
from gpudiy.logs.conformance import Conformance, conform
from gpudiy.logs.record import Ending, Record
from gpudiy.models.library import load_model

if TYPE_CHECKING:
    from gpudiy.harness.build_folder import BuildWatch, FolderEntry
    from gpudiy.logs.html_report.report import HtmlReport, Watch

Execute = Callable[[Sequence[Unit]], Iterator[tuple[Unit, Record]]]
INTERRUPTED = "interrupted"  # the reason of an incomplete record, whose unit runs again


@dataclass(frozen=True, slots=True)
class CampaignStep:
    """One more unit of a round is finished; `done` of `total` are."""

    round: int
    done: int
    total: int
    record: Record


@dataclass(frozen=True, slots=True)
class CampaignConformance:
    """The records of a campaign, and whether they conform to each model."""

    name: str
    records: Sequence[Record]
    by_model: dict[str, Conformance]

    @property
    def forbidden(self) -> bool:
        """Whether an outcome was observed that a model forbids."""
        return any(conformance.findings for conformance in self.by_model.values())

    def junit_text(self) -> str:
        return junit_text(self.name, self.records, self.by_model)


class Campaign:
    """A plan and its stages. Every stage can be interrupted at any point and called again."""

    def __init__(self, plan: CampaignPlan) -> None:
        self.plan = plan
        self.problems: list[str] = []  # damaged files that were found and set aside

    @classmethod
    def open(cls, path: Path, *, begun: bool = False) -> Campaign:
        """Open the campaign of a plan file; with `begun`, raise `InputError` if it has not started yet."""
        plan = read_plan(path)
        if begun and not plan.directory.is_dir():
            hint = f"`gpudiy campaign run {path}` starts it"
            raise InputError("this campaign has not started yet", path=str(path), hint=hint)
        return cls(plan)

    def check(self) -> None:
        """Raise `InputError` for a device or incantation that does not exist, before any work starts."""
        for device in self.plan.run.devices:
            check_kind(device)
        _ = self.books  # reads every incantation

    @cached_property
    def tests(self) -> list[PlannedTest]:
        return collect_tests(self.plan)

    @cached_property
    def books(self) -> dict[str, IncantationBook]:
        """The incantations of the plan, by the names it uses; paths are relative to the plan."""
        found = {}
        for name in self.plan.run.incantations:
            beside = self.plan.path(name)
            found[name] = read_incantation(str(beside) if _is_file(beside) else name)
        return found

    def decide(self, jobs: int = 2) -> Iterator[PlannedTest]:
        """Decide all tests that are not decided yet; yield each test when its verdicts are stored."""
        return decide_tests(self.plan, self.tests, jobs)

    def build(self, jobs: int = 2, watch: BuildWatch = lambda architecture, results: results) -> list[FolderEntry]:
        """Build the tests for the architectures of the plan, into the folder `built` of the campaign."""
        from gpudiy.harness.build_folder import build_folder  # the compiler, which few plans need

        tests = [test.load() for test in self.tests]
        return build_folder(tests, self.plan.build.architectures, self.built_path, jobs, watch=watch)

    def find_source(self, test: Test) -> SourcedTest:
        """The source of a test of the campaign, to report a problem with its place."""
        hash = content_hash(test)
        return next(planned.load_with_places() for planned in self.tests if planned.hash == hash)

    def run(self, execute: Execute) -> Iterator[CampaignStep]:
        """Run all rounds; yield a step when the record of a unit is stored."""
        knowledge = Knowledge()
        with open_record_store(self.plan, knowledge.learn) as store:
            self.problems += store.problems
            for round in range(1, self.plan.run.rounds + 1):
                units = self.units(round, knowledge.before(round))
                left = [unit for unit in units if unit.key not in store]
                done = len(units) - len(left)
                for _, record in execute(left) if left else ():
                    if record.ending is Ending.STOPPED and record.reason == INTERRUPTED:
                        continue
                    store.add(record)
                    done += 1
                    yield CampaignStep(round, done, len(units), record)
            store.flush()

    def conform(self) -> CampaignConformance:
        """Compare the records so far with every model of the plan."""
        records = load_records(self.plan)
        columns, limit = Columns.of(records), float(self.plan.models.limit)
        found = {name: conform(columns, load_model(name), limit=limit) for name in self.plan.models.names}
        return CampaignConformance(self.plan.name, records, found)

    def report(self, jobs: int = 2, watch: Watch = lambda verdicts, total: verdicts) -> HtmlReport:
        """Write the HTML report on the records so far as `report.html` in the directory of the campaign."""
        from gpudiy.logs.html_report.report import report  # it draws, and so needs numpy

        records = Columns.of(load_records(self.plan))
        made = report(records, title=self.plan.name, models=self.plan.models.names, jobs=jobs, watch=watch)
        made.write(self.report_path)
        return made

    @property
    def built_path(self) -> Path:
        return self.plan.directory / "built"

    @property
    def report_path(self) -> Path:
        return self.plan.directory / "report.html"

    def units(self, round: int, known: dict[Place, Evidence]) -> list[Unit]:
        verdicts = load_verdicts(self.plan)
        return list_units(self.plan, self.tests, self.books, verdicts, known, round)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False
