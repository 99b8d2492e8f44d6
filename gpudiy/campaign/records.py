"""The records of a campaign: Parquet parts, which every reader of logs can read, and the journal."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from gpudiy.campaign.plan import CampaignPlan
from gpudiy.campaign.store import Form, RowStore, load_rows
from gpudiy.campaign.unit import unit_key
from gpudiy.logs.columns import Columns
from gpudiy.logs.json_lines import print_json_line, record_of_json
from gpudiy.logs.parquet import read_parquet, write_parquet
from gpudiy.logs.record import Record

RECORDS = "records"


def _write_part(records: Sequence[Record], path: Path) -> None:
    write_parquet(Columns.of(records), path)


def _read_part(path: Path) -> list[Record]:
    return list(read_parquet(str(path)).records())


FORM: Form[Record] = Form(
    key=unit_key,
    line=lambda record: print_json_line(record).rstrip("\n"),
    parse=lambda text: record_of_json(json.loads(text)),
    write_part=_write_part,
    read_part=_read_part,
    suffix=".parquet",
)


def open_record_store(plan: CampaignPlan, seen: Callable[[Record], None]) -> RowStore[Record]:
    """The store of the records; it calls `seen` with each record, also with those it already holds."""
    return RowStore(plan.directory / RECORDS, FORM, seen)


def load_records(plan: CampaignPlan) -> list[Record]:
    """The records so far; reading them disturbs no campaign that runs."""
    folder = plan.directory / RECORDS
    return load_rows(folder, FORM) if folder.is_dir() else []
