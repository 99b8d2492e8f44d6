"""`Unit`: a piece of work that is done or not: one test on one device under one incantation, seed and round."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

from gpudiy.campaign.plan import CampaignPlan
from gpudiy.campaign.test_set import PlannedTest
from gpudiy.devices.settings import RunSettings
from gpudiy.harness.incantation_text import IncantationBook, incantation_options
from gpudiy.logs.record import Record

WORK, ROUND = "work", "round"  # the options of a record that tell, with its test, which piece of work it is
DIGEST = 16


@dataclass(frozen=True, slots=True)
class Group:
    """What the units of a round on one device have in common, so that they run in one go."""

    device: str
    incantations: IncantationBook
    seed: int
    round: int
    iterations: int
    limit: float

    def settings(self) -> RunSettings:
        """The settings of the runs; every round has seeds of its own."""
        digest = hashlib.sha256(f"{self.seed} {self.round}".encode()).digest()
        seed = self.seed if self.round == 1 else int.from_bytes(digest[:7], "big")
        return RunSettings(self.iterations, seed, self.incantations, limit=self.limit)


@dataclass(frozen=True, slots=True)
class Unit:
    """`work` covers all that the result depends on besides the test, so that a changed plan keeps what is of use."""

    test: PlannedTest
    group: Group
    work: str

    @classmethod
    def of(cls, test: PlannedTest, group: Group) -> Unit:
        incantation = incantation_options(group.incantations.of(test.name))
        parts = (group.device, incantation, group.seed, group.round, group.iterations)
        return cls(test, group, hashlib.sha256(repr(parts).encode()).hexdigest()[:DIGEST])

    @property
    def key(self) -> str:
        return f"{self.test.hash}-{self.work}"

    def stamped(self, record: Record) -> Record:
        """The record of this unit, which tells that it is, and names the device as the plan does."""
        options = (*record.options, (ROUND, str(self.group.round)), (WORK, self.work))
        return replace(record, options=options, seed=self.group.seed, device=self.group.device)


def unit_key(record: Record) -> str:
    return f"{record.hash}-{dict(record.options)[WORK]}"


def groups(plan: CampaignPlan, books: dict[str, IncantationBook], round: int) -> list[Group]:
    """The groups of a round: for each device, incantation and seed one."""
    return [
        Group(device, books[name], seed, round, plan.run.iterations, float(plan.run.limit))
        for device in plan.run.devices
        for name in plan.run.incantations
        for seed in plan.run.seeds
    ]
