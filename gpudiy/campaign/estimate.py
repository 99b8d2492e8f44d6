"""Estimate the work of a plan: how many tests and runs, and how long they take, from a few trial runs."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from gpudiy.campaign.campaign import Campaign
from gpudiy.campaign.plan import CampaignPlan
from gpudiy.campaign.unit import Unit
from gpudiy.devices.runner import Runner
from gpudiy.devices.worker import WorkerFailure
from gpudiy.errors import InputError
from gpudiy.logs.record import EVIDENCE

PROBES = 5  # units that run to measure how long one takes
PROBE_ITERATIONS = 20_000


@dataclass(frozen=True, slots=True)
class DeviceEstimate:
    """The runs of the first round on one device and the seconds they take; `problem` says why it does not open."""

    device: str
    runs: int
    seconds: float
    not_runnable: int = 0  # of the `tried` units
    tried: int = 0
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The work of a whole plan."""

    tests: int
    models: int
    architectures: int
    rounds: int
    devices: tuple[DeviceEstimate, ...]

    @property
    def seconds(self) -> float:
        return max((device.seconds for device in self.devices), default=0.0)


def estimate(plan: CampaignPlan) -> Estimate:
    """Estimate the work of a plan without writing anything into its directory."""
    with TemporaryDirectory(prefix="gpudiy-") as temporary:
        campaign = Campaign(replace(plan, directory=Path(temporary)))
        units = campaign.units(1, {})
        devices = [
            _estimate_device(plan, device, [unit for unit in units if unit.group.device == device])
            for device in plan.run.devices
        ]
        return Estimate(
            len(campaign.tests), len(plan.models.names), len(plan.build.architectures), plan.run.rounds, tuple(devices)
        )


def _estimate_device(plan: CampaignPlan, device: str, units: list[Unit]) -> DeviceEstimate:
    """Run a few units, evenly spread, with fewer iterations."""
    chosen = units[:: max(1, len(units) // PROBES)][:PROBES]
    seconds, busy, ran = 0.0, 0.0, 0
    iterations = min(PROBE_ITERATIONS, plan.run.iterations)
    try:
        with Runner(device) as runner:
            for place, unit in enumerate([*chosen[:1], *chosen]):
                settings = replace(unit.group.settings(), iterations=iterations)
                start = time.monotonic()
                (record,) = runner.run([unit.test.load()], settings)
                if place and record.ending in EVIDENCE:  # the first run includes the start-up of the device
                    ran += 1
                    seconds += time.monotonic() - start
                    busy += record.seconds
    except (WorkerFailure, InputError) as error:
        return DeviceEstimate(device, len(units), 0.0, problem=str(error))
    iterating = min(busy, seconds)  # only this part grows with the iterations
    each = (seconds - iterating + iterating * plan.run.iterations / iterations) / max(1, ran)
    share = ran / max(1, len(chosen))
    return DeviceEstimate(device, len(units), each * share * len(units), len(chosen) - ran, len(chosen))
