"""How far a campaign is: work done and left, how fast it goes, what failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field

from gpudiy.campaign.campaign import Campaign
from gpudiy.campaign.records import finished_records
from gpudiy.campaign.schedule import Knowledge
from gpudiy.campaign.unit import ROUND, unit_key
from gpudiy.campaign.verdicts import verdict_table
from gpudiy.logs.decision import count_sightings
from gpudiy.logs.record import EVIDENCE, Record

RECENT = 500  # records of a device whose time tells how long the next ones take


@dataclass(slots=True)
class DeviceStatus:
    """The work of one device. `left` is that of the rounds that are known: a later round depends on the earlier."""

    device: str
    done: int = 0
    left: int = 0
    observed: int = 0
    iterations: int = 0
    seconds_each: float = 0.0  # of late, by the clock of the runs themselves, which no jump of the date disturbs

    @property
    def seconds_left(self) -> float:
        return self.left * self.seconds_each


@dataclass(slots=True)
class CampaignStatus:
    tests: int
    decided: int
    round: int
    rounds: int
    devices: list[DeviceStatus] = field(default_factory=list)
    failures: dict[str, int] = field(default_factory=dict)  # by kind

    @property
    def done(self) -> int:
        return sum(device.done for device in self.devices)

    @property
    def left(self) -> int:
        return sum(device.left for device in self.devices)

    @property
    def seconds_left(self) -> float:
        """Devices work side by side: the slowest decides."""
        return max((device.seconds_left for device in self.devices), default=0.0)

    def as_json(self) -> dict[str, object]:
        return asdict(self) | {"done": self.done, "left": self.left, "seconds_left": round(self.seconds_left, 1)}


def status_of(campaign: Campaign) -> CampaignStatus:
    """Read what is there; a campaign that runs meanwhile is not disturbed."""
    plan = campaign.plan
    records = finished_records(plan)
    verdicts = verdict_table(plan)
    decided = sum(set(plan.models.names) <= set(verdicts.get(test.hash, {})) for test in campaign.tests)
    round, left = _open_work(campaign, records)
    status = CampaignStatus(len(campaign.tests), decided, round, plan.run.rounds)
    for name in plan.run.devices:
        own = [record for record in records if record.device == name]
        device = DeviceStatus(name, done=len(own), left=left[name])
        device.observed = len({record.hash for record in own if record.ending in EVIDENCE and count_sightings(record)})
        device.iterations = sum(record.iterations for record in own)
        device.seconds_each = _seconds_each(own)
        status.devices.append(device)
    status.failures = dict(Counter(str(record.ending) for record in records if record.ending not in EVIDENCE))
    return status


def _open_work(campaign: Campaign, records: Sequence[Record]) -> tuple[int, Counter[str]]:
    """The round that is under way and its units that are left, by device."""
    done = {unit_key(record) for record in records}
    knowledge = Knowledge()
    for record in records:
        knowledge.learn(record)
    for round in range(1, campaign.plan.run.rounds + 1):
        units = campaign.units(round, knowledge.before(round))
        left = Counter(unit.group.device for unit in units if unit.key not in done)
        if left or round == campaign.plan.run.rounds:
            return round, left
    return 0, Counter()


def _seconds_each(records: Iterable[Record]) -> float:
    recent = sorted(records, key=lambda record: (int(dict(record.options)[ROUND]), record.started))[-RECENT:]
    return sum(record.seconds for record in recent) / len(recent) if recent else 0.0
