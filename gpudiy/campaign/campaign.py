"""`Campaign`: the stages of a plan, each of which goes on where it was left."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from gpudiy.campaign.plan import Plan
from gpudiy.campaign.records import record_store
from gpudiy.campaign.schedule import Evidence, Knowledge, units_of_round
from gpudiy.campaign.test_set import PlannedTest, planned_tests
from gpudiy.campaign.unit import Unit
from gpudiy.campaign.verdicts import verdict_table
from gpudiy.files import write_whole
from gpudiy.harness.incantation_text import IncantationBook, read_incantation
from gpudiy.logs.record import Ending, Record

Execute = Callable[[Sequence[Unit]], Iterator[tuple[Unit, Record]]]
INTERRUPTED = "interrupted"  # the reason of a record that was cut short and is made again


@dataclass(frozen=True, slots=True)
class Step:
    """One more unit is done, so many of so many of its round."""

    round: int
    done: int
    total: int
    record: Record


class Campaign:
    """A plan at work. Every stage can be cut at any point and called again."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.problems: list[str] = []  # damage that was found and set aside

    @cached_property
    def tests(self) -> list[PlannedTest]:
        return planned_tests(self.plan)

    @cached_property
    def books(self) -> dict[str, IncantationBook]:
        """The incantations of the plan by the names it gives them; files stand beside the plan."""
        found = {}
        for name in self.plan.run.incantations:
            beside = self.plan.path(name)
            found[name] = read_incantation(str(beside) if _is_file(beside) else name)
        return found

    def list_tests(self) -> Path:
        """A file of the paths of the tests, which every verb takes as `@FILE`."""
        path = self.plan.directory / "tests.list"
        write_whole(path, "".join(f"{test.path.resolve()}\n" for test in self.tests))
        return path

    def run(self, execute: Execute) -> Iterator[Step]:
        """Do all rounds, giving back each unit when its record is kept."""
        knowledge = Knowledge()
        with record_store(self.plan, knowledge.learn) as store:
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
                    yield Step(round, done, len(units), record)
            store.flush()

    def units(self, round: int, known: dict[tuple[str, str], Evidence]) -> list[Unit]:
        verdicts = verdict_table(self.plan)
        return units_of_round(self.plan, self.tests, self.books, verdicts, known, round)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False
