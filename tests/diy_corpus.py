"""Where the corpus is that tests compare with: beside the checkout, or where GPUDIY_CORPUS says."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import pytest


def diy_cycles() -> dict[tuple[str, ...], str]:
    """The cycles that diy7 made, each as its smallest rotation, with the name diy7 gave it, without its number."""
    folder = Path(os.environ.get("GPUDIY_CORPUS", Path(__file__).resolve().parents[1].parent / "shared" / "corpus"))
    file = folder / "diy-cycles" / "diy7-611.csv"
    if not file.exists():
        pytest.skip(f"the corpus is not there: {file}")
    with file.open(encoding="utf-8") as rows:
        return {smallest_rotation(row["cycle"].split()): row["name"][:-3] for row in csv.DictReader(rows)}


def smallest_rotation(items: list[str]) -> tuple[str, ...]:
    return min(tuple(items[start:] + items[:start]) for start in range(len(items)))
