"""What `gpudiy.logs` offers to Python users: one-line functions on paths, DataFrames and records."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from log_records import PROGRAM

import gpudiy.logs
from gpudiy.cli.log2log import main as log2log
from gpudiy.logs import DamagedLog, LogError, Record
from gpudiy.logs.conformance import Agreement
from gpudiy.shipped import find_shipped

ONE = Record("MP", chip="one", iterations=1000, positive=900, negative=100, condition="exists (1:r0=1)")
OTHER = Record("MP", chip="other", iterations=100_000, positive=0, negative=100_000, condition="exists (1:r0=1)")


def test_every_source_of_records_gives_the_same_comparison(tmp_path: Path) -> None:
    paths = [tmp_path / "one.jsonl", tmp_path / "other.txt"]
    for path, record in zip(paths, (ONE, OTHER), strict=True):
        gpudiy.logs.write_log([record], path)
    frame = gpudiy.logs.read_log(paths)
    sources = ([ONE, OTHER], paths, [str(path) for path in paths], frame, gpudiy.logs.load_log(paths), tmp_path)
    for source in sources:
        found = gpudiy.logs.compare(source)
        assert found.differs
        assert [(stronger, weaker) for stronger, weaker, _ in found.order] == [("other", "one")]
        assert found.as_json()["pairs"][0]["relation"] == "weaker than"
    assert gpudiy.logs.compare([ONE, ONE, OTHER], by="chip").evidence.counts[0][0].sightings == 1800


def test_nothing_to_compare(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="nothing to compare"):
        gpudiy.logs.compare([ONE])
    damaged = tmp_path / "damaged.jsonl"
    damaged.write_text("{\n")
    with pytest.raises(LogError, match="no complete record"):
        gpudiy.logs.compare(damaged)


def test_damage_is_a_warning(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    gpudiy.logs.write_log([ONE, OTHER], log)
    log.write_text(log.read_text() + "{\n")
    with pytest.warns(DamagedLog, match="not JSON"):
        found = gpudiy.logs.compare(log)
    assert len(found.problems) == 1


def test_table_and_report() -> None:
    thesis = find_shipped("logs") / "thesis.jsonl"
    (flat,) = gpudiy.logs.table(thesis, tests=["MP*"], chips=["GTX Titan"])
    assert flat.columns == ("GTX Titan",) and all(row.labels[0].lower().startswith("mp") for row in flat.rows)
    assert len(gpudiy.logs.table(thesis, kind="grid")) > 1
    page = gpudiy.logs.report([ONE, OTHER], title="Two chips", models=())
    assert page.tests == ["MP"] and page.chips == ["one", "other"] and "<title>Two chips" in page.text


def test_conform_takes_the_name_of_a_model() -> None:
    text = PROGRAM.format(name="one", value=1)
    seen = Record("one", text=text, condition="exists (x=1)", iterations=10, positive=10, chip="chip")
    found = gpudiy.logs.conform([seen], "ptx-asplos15")
    assert found.model == "ptx-asplos15" and found.count(Agreement.ALLOWED) == 1
    assert found.as_json()["counts"] == {str(answer): found.count(answer) for answer in Agreement}


def test_json_of_log2log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs = [str(tmp_path / name) for name in ("one.jsonl", "other.jsonl")]
    for path, record in zip(logs, (ONE, OTHER), strict=True):
        gpudiy.logs.write_log([record], path)
    assert log2log(["summary", "-json", *logs]) == 0
    one, other = json.loads(capsys.readouterr().out)
    assert (one["chip"], one["sightings"], other["chip"], other["sightings"]) == ("one", 900, "other", 0)
    assert log2log(["cmp", "-weaker", "--json", *logs]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["test"] == "MP" and row["second"] == {"sightings": 0, "iterations": 100_000}
