"""The status of a campaign: work done and left, speed, failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field

from gpudiy.campaign.campaign import Campaign
from gpudiy.campaign.records import load_records
from gpudiy.campaign.schedule import Knowledge
from gpudiy.campaign.unit import ROUND, unit_key
from gpudiy.campaign.verdicts import load_verdicts
from gpudiy.logs.decision import count_sightings
from gpudiy.logs.memory_place import memory_of
from gpudiy.logs.record import EVIDENCE, Record

RECENT = 500  # records of a device from which the time of the next ones is estimated


@dataclass(slots=True)
class DeviceStatus:
    """The work of one device. `left` does not include later rounds, which depend on the results of this one."""

    device: str
    done: int = 0
    left: int = 0
    observed: int = 0
    iterations: int = 0
    seconds_each: float = 0.0  # of the recent runs, measured by the runs: a changed system date does no harm

    @property
    def seconds_left(self) -> float:
        return self.left * self.seconds_each


@dataclass(slots=True)
class CampaignStatus:
    """The status of a whole campaign; `decided` tests have all verdicts of the plan."""

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
        """Devices work in parallel: the slowest one counts."""
        return max((device.seconds_left for device in self.devices), default=0.0)

    def as_json(self) -> dict[str, object]:
        return asdict(self) | {"done": self.done, "left": self.left, "seconds_left": round(self.seconds_left, 1)}


def read_status(campaign: Campaign) -> CampaignStatus:
    """Read the status from the stored records; this does not disturb a campaign that runs."""
    plan = campaign.plan
    planned = {test.hash for test in campaign.tests}
    records = [
        record
        for record in load_records(plan)
        if record.hash in planned and memory_of(record.options) == plan.run.memory  # a plan may change later
    ]
    verdicts = load_verdicts(plan)
    decided = sum(set(plan.models.names) <= set(verdicts.get(test.hash, {})) for test in campaign.tests)
    round, left = _count_open_units(campaign, records)
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


def _count_open_units(campaign: Campaign, records: Sequence[Record]) -> tuple[int, Counter[str]]:
    """The current round, and how many of its units are left on each device."""
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
