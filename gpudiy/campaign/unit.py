"""`Unit`: the smallest piece of work: one test on one device under one incantation, seed and round."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

from gpudiy.campaign.plan import CampaignPlan
from gpudiy.campaign.test_set import PlannedTest
from gpudiy.devices.settings import RunSettings
from gpudiy.harness.incantation_text import IncantationBook, incantation_options
from gpudiy.logs.memory_place import MemoryPlace, add_memory
from gpudiy.logs.record import Record

WORK, ROUND = "work", "round"  # the options of a record that identify, with its test, its unit
DIGEST = 16


@dataclass(frozen=True, slots=True)
class Group:
    """What units of a round on one device have in common, so that they can run together."""

    device: str
    incantations: IncantationBook
    seed: int
    round: int
    iterations: int
    limit: float
    memory: MemoryPlace = MemoryPlace.DEVICE

    def settings(self) -> RunSettings:
        """The settings of the runs; every round has different seeds."""
        digest = hashlib.sha256(f"{self.seed} {self.round}".encode()).digest()
        seed = self.seed if self.round == 1 else int.from_bytes(digest[:7], "big")
        return RunSettings(self.iterations, seed, self.incantations, limit=self.limit, memory=self.memory)


@dataclass(frozen=True, slots=True)
class Unit:
    """`work` identifies everything but the test that the result depends on: a changed plan keeps useful results."""

    test: PlannedTest
    group: Group
    work: str

    @classmethod
    def of(cls, test: PlannedTest, group: Group) -> Unit:
        incantation = incantation_options(group.incantations.of(test.name))
        elsewhere = () if group.memory is MemoryPlace.DEVICE else (str(group.memory),)
        parts = (group.device, incantation, group.seed, group.round, group.iterations, *elsewhere)
        return cls(test, group, hashlib.sha256(repr(parts).encode()).hexdigest()[:DIGEST])

    @property
    def key(self) -> str:
        return f"{self.test.hash}-{self.work}"

    def stamp_record(self, record: Record) -> Record:
        """The record, marked as that of this unit, with the name that the plan gives the device."""
        options = (*add_memory(record.options, self.group.memory), (ROUND, str(self.group.round)), (WORK, self.work))
        return replace(record, options=options, seed=self.group.seed, device=self.group.device)


def unit_key(record: Record) -> str:
    """The key of the unit that a record belongs to."""
    return f"{record.hash}-{dict(record.options)[WORK]}"


def list_groups(plan: CampaignPlan, books: dict[str, IncantationBook], round: int) -> list[Group]:
    """The groups of a round: one for each device, incantation and seed."""
    return [
        Group(
            device, books[name], seed, round, plan.run.iterations, float(plan.run.limit), MemoryPlace(plan.run.memory)
        )
        for device in plan.run.devices
        for name in plan.run.incantations
        for seed in plan.run.seeds
    ]
