"""Plans for tests of campaigns, and their records without what the clock had a part in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gpudiy.campaign.plan import read_plan
from gpudiy.campaign.records import load_records
from gpudiy.campaign.unit import unit_key
from gpudiy.logs.record import Record

PLAN = """
report = false
[tests]
families = [{families}]
sample = {sample}
[models]
names = []
[run]
devices = [{devices}]
iterations = 500
seeds = [1]
"""


def plan_file(folder: Path, sample: int, devices: Sequence[str] = ("sim:kepler", "sim:sc"), more: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    names = ", ".join(f'"{device}"' for device in devices)
    families = '"classic", "coherence"' if sample < 300 else '"rmw", "modern"'
    (folder / "plan.toml").write_text(PLAN.format(families=families, sample=sample, devices=names) + more)
    return folder / "plan.toml"


def essence(plan: Path) -> list[tuple[str, Record]]:
    """The records without what the clock had a part in."""
    records = [replace(record, seconds=0.0, started="") for record in load_records(read_plan(plan))]
    return sorted((unit_key(record), record) for record in records)
