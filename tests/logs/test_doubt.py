"""No operation on logs, and no format, turns what is no evidence into evidence."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from log_records import SERIAL_SB, records

from gpudiy.cli.log2log import main
from gpudiy.logs import Columns, load_log, write_log
from gpudiy.logs.decision import Sighting, decide_sighting
from gpudiy.logs.evidence import gather
from gpudiy.logs.operations import (
    Filter,
    average_records,
    compare_tests,
    keep_best,
    key_of,
    merge_records,
    normalize_record,
    sort_records,
    sum_records,
)
from gpudiy.logs.record import Ending, Liveness, OutcomeCount, Record
from gpudiy.logs.summary import summarise
from gpudiy.logs.tables.tally import observe

ALIVE = Liveness(meetings=9, overlaps=9, stress_accesses=9)
SOUND = Record(
    "SB",
    text=SERIAL_SB,
    condition="exists (0:r2=0 /\\ 1:r2=0)",
    iterations=1000,
    negative=1000,
    histogram=(OutcomeCount("0:r2=0; 1:r2=1;", 600), OutcomeCount("0:r2=1; 1:r2=0;", 400)),
    liveness=ALIVE,
    tool="gpudiy 0.2",
)
DOUBTED = {
    "one order": replace(SOUND, histogram=(OutcomeCount("0:r2=0; 1:r2=1;", 1000),)),
    "no overlap": replace(SOUND, liveness=replace(ALIVE, timed=1000, overlaps=0)),
    "no warm line": replace(SOUND, text=SERIAL_SB.replace("ld.cg", "ld.ca"), liveness=replace(ALIVE, near=0, warmed=0)),
    "never met": replace(SOUND, liveness=Liveness()),
    "no stress": replace(SOUND, options=(("memory_stress", "true"),), liveness=Liveness(meetings=9)),
    "failed": replace(SOUND, ending=Ending.TIMEOUT, reason="no answer", histogram=()),
    "optimised": replace(SOUND, optcheck="optimised"),
    "said": replace(SOUND, liveness=None, no_evidence="it was said before"),
}
OPERATIONS: dict[str, Callable[[list[Record]], list[Record]]] = {
    "sort": sort_records,
    "sum": sum_records,
    "sum -i": lambda found: sum_records(found, by_incantation=True),
    "avg": average_records,
    "normalize": lambda found: [normalize_record(record, 777) for record in found],
    "best": keep_best,
    "merge": lambda found: merge_records(found)[0],
}


def is_evidence(record: Record) -> bool:
    return decide_sighting(record).sighting.is_evidence


@pytest.mark.parametrize("doubt", DOUBTED)
@pytest.mark.parametrize("suffix", ["txt", "jsonl", "parquet", "csv"])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_what_is_no_evidence_stays_so(doubt: str, suffix: str, operation: str, tmp_path: Path) -> None:
    assert is_evidence(SOUND) and not is_evidence(DOUBTED[doubt])
    write_log(Columns.of([DOUBTED[doubt]]), str(tmp_path / f"log.{suffix}"))
    read = list(load_log(tmp_path / f"log.{suffix}").columns.records())
    assert len(read) == 1 and not is_evidence(read[0])
    changed = OPERATIONS[operation](read)
    assert not any(is_evidence(record) for record in changed)
    if changed:  # and once more, through another format
        write_log(Columns.of(changed), str(tmp_path / "again.csv"))
        assert not any(is_evidence(record) for record in load_log(tmp_path / "again.csv").columns.records())


@settings(max_examples=60)
@given(st.lists(records(), min_size=1, max_size=4), st.sampled_from(list(OPERATIONS)))
def test_evidence_comes_from_evidence(found: list[Record], operation: str) -> None:
    """What an operation gives of a test is evidence only if some record of that test is."""
    known = {key_of(record) for record in found if is_evidence(record)}
    for record in OPERATIONS[operation](found):
        keys = {key for key in known if key[0].split("\n")[0] == record.test and key[1] in (record.chip, record.device)}
        assert not is_evidence(record) or keys


def test_a_finding_counts_though_the_test_has_another_name(tmp_path: Path) -> None:
    other = replace(DOUBTED["optimised"], test="renamed")
    write_log(Columns.of([other]), str(tmp_path / "log.txt"))
    (read,) = load_log(tmp_path / "log.txt").columns.records()
    assert read.optcheck == "optimised" and not read.text and not is_evidence(read)


@settings(max_examples=40)
@given(found=st.lists(records(), min_size=1, max_size=3), suffix=st.sampled_from(["txt", "jsonl", "parquet", "csv"]))
def test_formats_keep_doubt(found: list[Record], suffix: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    named = [replace(record, test=f"{place}{record.test}") for place, record in enumerate(found)]
    path = tmp_path_factory.mktemp("logs") / f"log.{suffix}"
    write_log(Columns.of(named), str(path))
    evidence = {record.test for record in named if is_evidence(record)}
    assert {record.test for record in load_log(path).columns.records() if is_evidence(record)} <= evidence


@pytest.mark.parametrize("doubt", DOUBTED)
def test_what_counts_leaves_it_out(doubt: str, tmp_path: Path) -> None:
    both = [replace(DOUBTED[doubt], chip="A"), replace(SOUND, test="MP", text="", chip="A")]
    write_log(Columns.of(both), str(tmp_path / "log.parquet"))
    for log in (tmp_path / "log.parquet", tmp_path / "log.jsonl"):
        write_log(Columns.of(both), str(log))
        (summary,) = summarise(log)
        assert (summary.tests, summary.apart, summary.iterations) == (1, 1, 1000)
        columns = load_log(log).columns
        assert Filter(evidence=True).places(columns) == [1]
        assert [count.iterations for count in gather(columns).counts[0].values()] == [1000]
        assert observe(columns).tallies["SB", "A"].sighting is Sighting.NO_EVIDENCE


def test_a_log_without_evidence_is_neither_stronger_nor_weaker(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = replace(SOUND, histogram=(), positive=10, negative=990)
    for name, record in (("shown", shown), ("zero", SOUND), ("doubted", DOUBTED["one order"])):
        write_log(Columns.of([record]), str(tmp_path / f"{name}.jsonl"))
    logs = {name: load_log(tmp_path / f"{name}.jsonl").columns for name in ("shown", "zero", "doubted")}
    (row,) = compare_tests(logs["shown"], logs["zero"])
    assert row.relations == ("weaker",)
    for first in ("shown", "zero"):
        (row,) = compare_tests(logs[first], logs["doubted"])
        assert row.relations == () and row.cell(1) == "no evidence"
    main(["cmp", "-all", "-json", str(tmp_path / "zero.jsonl"), str(tmp_path / "doubted.jsonl")])
    assert json.loads(capsys.readouterr().out)[0]["no_evidence"] == ["second"]
