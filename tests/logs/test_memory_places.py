"""Records of one chip with its locations in another memory are kept apart, wherever records are put together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gpudiy.cli.log2log import main
from gpudiy.logs import Columns, compare, load_log, write_log
from gpudiy.logs.chips import name_chip
from gpudiy.logs.conformance import conform
from gpudiy.logs.memory_place import MemoryPlace, memory_of
from gpudiy.logs.operations import Filter, average_records, keep_best, merge_records, sort_records, sum_records
from gpudiy.logs.record import Record
from gpudiy.logs.summary import summarise
from gpudiy.logs.tables.kinds import table
from gpudiy.logs.tables.tally import observe

CHIP = "NVIDIA A100"
DEVICE = Record("SB", device="cuda:0", chip=CHIP, options=(("memory", "device"),), negative=1000, iterations=1000)
HOST = replace(DEVICE, options=(("memory", "host"),), positive=677, negative=323)
SILENT = replace(DEVICE, options=())  # as records were written before there was another memory
FORMATS = ["txt", "jsonl", "parquet", "csv"]


def test_absent_means_device_and_other_tools_mean_something_else() -> None:
    assert memory_of(HOST.options) is MemoryPlace.HOST
    assert memory_of(()) is memory_of((("memory", "direct"),)) is MemoryPlace.DEVICE  # litmus7 writes `memory: direct`
    assert [name_chip(record) for record in (DEVICE, HOST, SILENT)] == [CHIP, f"{CHIP} (host memory)", CHIP]


def test_a_merge_keeps_both_memories() -> None:
    kept, dropped = merge_records([DEVICE, HOST, SILENT])
    assert (kept, dropped) == ([DEVICE, HOST], [SILENT])


def test_sums_averages_and_the_best_are_of_one_memory() -> None:
    records = [DEVICE, HOST, SILENT, HOST]
    assert [(name_chip(found), found.positive, found.iterations) for found in sum_records(records)] == [
        (CHIP, 0, 2000),
        (f"{CHIP} (host memory)", 2 * 677, 2000),
    ]
    assert [found.positive for found in average_records(records)] == [0, 67_700]
    assert [memory_of(found.options) for found in average_records(records)] == [MemoryPlace.DEVICE, MemoryPlace.HOST]
    assert [found.positive for found in keep_best(records)] == [0, 677]
    assert sort_records([HOST, replace(HOST, test="SB2"), DEVICE], "chip")[0] == DEVICE


@pytest.mark.parametrize("suffix", FORMATS)
def test_every_format_keeps_them_apart(tmp_path: Path, suffix: str) -> None:
    log = tmp_path / f"log.{suffix}"
    write_log(Columns.of([DEVICE, HOST]), log)
    (pair,) = compare(log).pairs
    assert (len(pair.stronger), len(pair.weaker), pair.both) == (1, 0, 0)
    assert compare(log).evidence.chips.names == [CHIP, f"{CHIP} (host memory)"]
    assert [(line.chip, line.records, line.sightings) for line in summarise(log)] == [
        (CHIP, 1, 0),
        (f"{CHIP} (host memory)", 1, 677),
    ]
    assert {chip: tally.sightings for (_, chip), tally in observe(log).tallies.items()} == {
        CHIP: 0,
        f"{CHIP} (host memory)": 677,
    }
    assert f"{CHIP} (host memory)" in str(table(log))


def test_conformance_is_of_one_memory(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "examples" / "sb.litmus").read_text()
    about = {"text": text, "condition": "exists (0:r2=0 /\\ 1:r2=0)"}
    found = conform([replace(DEVICE, **about), replace(HOST, **about)], "sc")  # type: ignore[arg-type]
    assert [(row.chip, row.sightings) for row in found.judged] == [(CHIP, 0), (f"{CHIP} (host memory)", 677)]


def test_the_command_line_names_the_memory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other, merged = (str(tmp_path / name) for name in ("device.jsonl", "host.jsonl", "merged.txt"))
    write_log(Columns.of([DEVICE]), one)
    write_log(Columns.of([HOST]), other)
    assert main(["merge", "-o", merged, one, other]) == 0
    assert "left out" not in capsys.readouterr().err
    assert [record.positive for record in load_log(merged).columns.records()] == [0, 677]
    assert main(["dump", merged]) == 0
    assert f"{CHIP} (host memory)" in capsys.readouterr().out


def test_a_filter_finds_chips_by_both_names() -> None:
    columns = Columns.of([DEVICE, HOST, SILENT])
    assert Filter(chips=(CHIP,)).places(columns) == [0, 1, 2]
    assert Filter(chips=("*(host memory)",)).places(columns) == [1]
