"""`log2log`: what it does to logs, and its command line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from log_records import records

from gpudiy.cli.log2log import main
from gpudiy.logs import Columns, load_log, write_log
from gpudiy.logs.histogram import find_fault
from gpudiy.logs.operations import (
    Filter,
    average_records,
    keep_best,
    merge_records,
    natural,
    normalize_record,
    sort_records,
    sum_records,
)
from gpudiy.logs.record import OutcomeCount, Record, options_of_column

TITAN = Record("mp", chip="GTX Titan", positive=30, negative=70, iterations=100)
NEVER = replace(TITAN, positive=0, negative=100)


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_log(Columns.of([TITAN, replace(NEVER, test="sb"), replace(TITAN, test="lb")]), "log1.txt")
    write_log(Columns.of([NEVER, replace(NEVER, test="sb"), replace(TITAN, test="only")]), "log2.txt")
    return tmp_path


def read(path: str) -> list[Record]:
    log = load_log(path)
    assert not log.problems
    return list(log.columns.records())


@pytest.mark.parametrize(
    ("option", "tests"),
    [("weaker", ["lb", "mp"]), ("stronger", []), ("equal", ["sb"]), ("all", ["lb", "mp", "only", "sb"])],
)
@pytest.mark.parametrize("dashes", ["-", "--"])
def test_cmp(option: str, tests: list[str], dashes: str, logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As in the literature: what the first log shows and the second does not, or does not have."""
    assert main(["cmp", f"{dashes}{option}", "log1.txt", "log2.txt"]) == 0
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.split() == ["test", "log1.txt", "log2.txt"]
    assert [row.split()[0] for row in rows] == tests


@pytest.mark.parametrize(
    ("option", "code"), [("-equal", 1), ("-weaker-or-equal", 0), ("-stronger-or-equal", 1), ("--weaker-or-equal", 0)]
)
def test_assert(option: str, code: int, logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["assert", option, "log1.txt", "log2.txt"]) == code
    assert capsys.readouterr().out.splitlines()[-1].startswith("fail" if code else "pass")


def test_everything_that_writes(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["merge", "log1.txt", "log2.txt", "-o", "all.jsonl"]) == 0
    assert len(read("all.jsonl")) == 4
    assert main(["sum", "log1.txt", "log2.txt", "-output", "sum.parquet"]) == 0
    assert {record.test: (record.positive, record.iterations) for record in read("sum.parquet")}["mp"] == (30, 200)
    assert main(["avg", "log1.txt", "log2.txt", "-o", "avg.txt"]) == 0
    assert next(record for record in read("avg.txt") if record.test == "mp").positive == 15_000
    assert main(["normalize", "log1.txt", "-o", "per100k.csv"]) == 0
    assert read("per100k.csv")[0].positive == 30_000
    assert main(["sort", "log1.txt", "-o", "sorted.txt.gz"]) == 0
    assert [record.test for record in read("sorted.txt.gz")] == ["lb", "mp", "sb"]
    assert main(["filter", "-observed", "log1.txt", "-o", "seen.txt"]) == 0
    assert [record.test for record in read("seen.txt")] == ["mp", "lb"]
    assert main(["filter", "--test", "m*", "log1.txt", "-f", "jsonl"]) == 0
    assert '"test": "mp"' in capsys.readouterr().out
    assert main(["rename", "-test", "mp=MP", "--chip", "GTX Titan=Titan", "log1.txt", "-o", "renamed.txt"]) == 0
    assert (read("renamed.txt")[0].test, read("renamed.txt")[0].chip) == ("MP", "Titan")
    assert main(["convert", "log1.txt", "-o", "log1.jsonl"]) == 0
    assert read("log1.jsonl") == read("log1.txt")
    assert main(["best", "log1.txt"]) == 0
    assert main(["dump", "log1.txt"]) == 0
    assert main(["summary", "log1.txt", "sum.parquet"]) == 0
    assert "GTX Titan" in capsys.readouterr().out


def test_parse_tells_damages(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parse", "log1.txt"]) == 0
    assert capsys.readouterr().out == "3 records in 1 log\n"
    text = Path("log1.txt").read_text()
    Path("cut.txt").write_text(text[: text.rindex("Positive")])
    assert main(["parse", "cut.txt"]) == 2
    captured = capsys.readouterr()
    assert captured.out == "2 records in 1 log, 1 problem\n"
    assert captured.err.startswith("cut.txt:")


@pytest.mark.parametrize(
    "words",
    [
        ["cmp", "-weaker", "log1.txt", "nowhere.txt"],
        ["convert", "log1.txt", "-o", "log1.doc"],
        ["convert", "log1.txt", "-f", "parquet"],
        ["rename", "log1.txt"],
        ["rename", "--test", "mp", "log1.txt"],
        ["rename", "--regex", "(", "x", "log1.txt"],
        ["rename", "--map", "nowhere", "log1.txt"],
        ["filter", "--test", "nothing", "log1.txt", "-o", "nowhere.xyz"],
    ],
)
def test_bad_input(words: list[str], logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(logs.iterdir())
    assert main(words) == 2
    assert "error: " in capsys.readouterr().err
    assert sorted(logs.iterdir()) == before


@pytest.mark.parametrize("words", [["nothing"], ["cmp", "log1.txt", "log2.txt"], ["assert", "-equal", "log1.txt"]])
def test_bad_usage(words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2


def test_sums_add_histograms() -> None:
    one = replace(TITAN, histogram=(OutcomeCount("x=1;", 30, True), OutcomeCount("x=0;", 70)), seconds=1.0)
    two = replace(one, histogram=(OutcomeCount("x=0;", 90), OutcomeCount("x=1;", 10, True)), positive=10, negative=90)
    (found,) = sum_records([one, two])
    assert found.histogram == (OutcomeCount("x=1;", 40, True), OutcomeCount("x=0;", 160))
    assert (found.positive, found.iterations, found.seconds) == (40, 200, 2.0)
    changed = replace(two, optcheck="reordered")
    assert sum_records([one, changed]) == [one]


def test_best_over_incantations(corpus: Path) -> None:
    """The published table: the best of 16 combinations."""
    found = keep_best(list(load_log(corpus / "observations" / "incantations-table6.csv").columns.records()))
    by_test = {(record.chip, record.test): record for record in found}
    assert len(found) == 8
    assert by_test["GTX Titan", "coRR (intra-CTA)"].positive == 9985
    assert by_test["GTX Titan", "sb (inter-CTA)"].options == options_of_column(12)
    assert by_test["Radeon HD 7970", "lb (inter-CTA)"].positive == 38664


@given(records(failed=False))
def test_normalized_counts_are_sound(record: Record) -> None:
    found = normalize_record(record)
    assert not find_fault(found)
    if record.iterations:
        assert found.iterations == 100_000
        assert (found.positive > 0, found.negative > 0) == (record.positive > 0, record.negative > 0)
        assert abs(found.positive / 100_000 - record.positive / record.iterations) <= 1e-5


def test_averages_merges_and_order() -> None:
    assert average_records([TITAN, replace(TITAN, positive=10, negative=90)])[0].positive == 20_000
    kept, dropped = merge_records([TITAN, NEVER, replace(NEVER, chip="GTX 750")])
    assert (len(kept), dropped) == (2, [NEVER])
    names = ["T10", "T9", "t1"]
    assert [record.test for record in sort_records([replace(TITAN, test=name) for name in names])] == [
        "t1",
        "T9",
        "T10",
    ]
    assert natural("2+2W") < natural("MP")


def test_filters() -> None:
    columns = Columns.of([TITAN, NEVER, replace(TITAN, optcheck="reordered"), replace(TITAN, chip="GTX 750")])
    assert Filter(chips=("GTX T*",)).places(columns) == [0, 1, 2]
    assert Filter(observed=False).places(columns) == [1]
    assert Filter(evidence=False).places(columns) == [2]
    assert Filter(least=101).places(columns) == []
