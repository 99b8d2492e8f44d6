"""The recorded observations that ship with gpudiy are what the literature printed."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from gpudiy.cli import main
from gpudiy.litmus import content_hash, print_test, read_test
from gpudiy.logs import Record, load_log
from gpudiy.logs.decision import Sighting
from gpudiy.logs.tables.tally import observe
from gpudiy.shipped import find_shipped

THESIS_CHIPS = ["GTX 540m", "Tesla C2075", "GTX 660", "GTX Titan", "GTX 750"]
THESIS = {  # figures 2.10, 2.11, 2.13, 2.15, typed from the page
    "coherent-reads": [11642, 8879, 9599, 9787, 0],
    "mp-cas": [0, 0, 0, 11, 0],
    "spinlock-future-value": [0, 40, 0, 478, 0],
    "counter-lock-stale-value": [0, 0, 0, 22, 0],
}
TABLE_6_SB = [0, 0, 0, 0, 0, 0, 0, 0, 462, 1403, 3308, 6673, 3, 50, 88, 749]  # GTX Titan
FILES = {"thesis.jsonl": 20, "asplos15.jsonl": 76, "asplos15-incantations.jsonl": 128, "sorensen-2014.jsonl": 90}


def records(name: str) -> list[Record]:
    log = load_log(find_shipped("logs") / name)
    assert not log.problems
    return list(log.columns.records())


def rows(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, list[str]]:
    assert main(["table", *words, "--format", "csv"]) == 0
    return {row[0]: row[1:] for row in csv.reader(io.StringIO(capsys.readouterr().out))}


@pytest.mark.parametrize(("name", "count"), FILES.items())
def test_every_record_is_whole(name: str, count: int) -> None:
    found = records(name)
    assert len(found) == count
    for record in found:
        assert record.iterations == 100_000 == record.positive + record.negative
        assert record.source and record.chip and record.architecture and record.tool.endswith("run by gpu-litmus")
        if record.text:
            test = read_test(record.text)
            assert print_test(test) == record.text and content_hash(test) == record.hash
            assert test.name == record.test
            assert record.condition.startswith("exists (")
        else:
            assert "placement" in dict(record.options)


def test_figures_of_the_thesis_come_out_as_printed(capsys: pytest.CaptureFixture[str]) -> None:
    table = rows(capsys, str(find_shipped("logs") / "thesis.jsonl"))
    assert table.pop("test") == THESIS_CHIPS
    assert table == {test: [str(count) for count in counts] for test, counts in THESIS.items()}


def test_figures_are_the_tests_of_the_figures(figures: list[Path]) -> None:
    hashes = {content_hash(read_test(path.read_text())) for path in figures}
    assert {record.hash for record in records("thesis.jsonl")} <= hashes


def test_chips_are_those_of_figure_2_9() -> None:
    told = {(r.chip, r.toolkit, r.driver, dict(r.options)["arch"]) for r in records("thesis.jsonl")}
    assert told == {
        ("GTX 540m", "CUDA 5.5", "331.20", "sm_21"), ("Tesla C2075", "CUDA 5.5", "334.16", "sm_20"),
        ("GTX 660", "CUDA 5.0", "331.67", "sm_30"), ("GTX Titan", "CUDA 6.0", "331.62", "sm_35"),
        ("GTX 750", "CUDA 6.0", "331.62", "sm_50"),
    }  # fmt: skip


def test_table_6_comes_out_as_printed(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(find_shipped("logs") / "asplos15-incantations.jsonl")
    assert main(["table", path, "--kind", "incantations", "--format", "csv", "--chips", "GTX Titan"]) == 0
    table = {tuple(row[:2]): row[2:] for row in csv.reader(io.StringIO(capsys.readouterr().out))}
    assert table["GTX Titan", "sb"] == [str(count) for count in TABLE_6_SB]
    assert table["chip", "test"][11] == "msr"  # stress, synchronisation and randomisation: its best column


def test_titan_is_weaker_than_gtx_750_wherever_both_have_counts() -> None:
    found = observe(record for name in FILES for record in records(name))
    both = [test for test in found.tests if {(test, "GTX Titan"), (test, "GTX 750")} <= found.tallies.keys()]
    seen = {
        chip: {test for test in both if found.tallies[test, chip].sighting is Sighting.OBSERVED}
        for chip in ("GTX Titan", "GTX 750")
    }
    assert len(both) > 40 and seen["GTX 750"] < seen["GTX Titan"]


def test_all_counts_are_those_of_the_corpus(corpus: Path) -> None:
    """The corpus was typed by somebody else."""
    with (corpus / "observations" / "observations.csv").open() as file:
        table = list(csv.DictReader(file))
    found = records("asplos15.jsonl") + [r for r in records("thesis.jsonl") if r.test == "coherent-reads"]
    chips = {chip.replace(" ", ""): chip for chip in [*THESIS_CHIPS, "HD 6570", "HD 7970"]}
    wanted = sorted(
        (chip, int(row[column])) for row in table for column, chip in chips.items() if row[column].isdecimal()
    )
    assert sorted((record.chip, record.positive) for record in found) == wanted
    with (corpus / "observations" / "incantations-table6.csv").open() as file:
        sweeps = {
            (row["chip"].removeprefix("Radeon "), row["test"], n): int(row[f"c{n + 1}"])
            for row in csv.DictReader(file)
            for n in range(16)
        }
    sums = observe(records("asplos15-incantations.jsonl")).incantations
    assert {(chip, test, n): tally.sightings for (test, chip, n), tally in sums.items()} == sweeps
