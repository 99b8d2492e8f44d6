"""What is written is read again, in every format."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from log_records import records

import gpudiy.logs
from gpudiy.logs import Columns, LogError, frame_of_records, load_log, records_of, write_log
from gpudiy.logs.columns import NAMES
from gpudiy.logs.record import Ending, LaunchSums, Liveness, Record, add_launch_sums, sum_launch

SOME = [Record("SB", chip="GTX Titan", positive=3, negative=97, iterations=100), Record("MP", negative=5, iterations=5)]


def written_and_read(found: list[Record], path: Path) -> list[Record]:
    write_log(Columns.of(found), str(path))
    log = load_log(path)
    assert not log.problems
    return list(log.columns.records())


def distinct(found: list[Record]) -> list[Record]:
    """A log does not hold a record twice."""
    return list(dict.fromkeys(found))


@pytest.mark.parametrize("suffix", ["jsonl", "parquet", "jsonl.gz"])
@settings(max_examples=30)
@given(found=st.lists(records(), min_size=1, max_size=4).map(distinct))
def test_structured_formats_lose_nothing(
    suffix: str, found: list[Record], tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert written_and_read(found, tmp_path_factory.mktemp("logs") / f"log.{suffix}") == found


@settings(max_examples=100)
@given(found=st.lists(records(), min_size=1, max_size=4).map(distinct))
def test_text_loses_nothing_it_has_words_for(found: list[Record], tmp_path_factory: pytest.TempPathFactory) -> None:
    again = written_and_read(found, tmp_path_factory.mktemp("logs") / "log.txt")
    assert again == found


@given(st.lists(records(), min_size=1, max_size=4))
def test_frames_hold_the_same_records(found: list[Record]) -> None:
    frame = frame_of_records(found)
    assert list(frame.columns) == list(NAMES)
    assert list(records_of(frame)) == found


def test_one_frame_of_many_logs(tmp_path: Path) -> None:
    write_log(Columns.of(SOME[:1]), str(tmp_path / "one.txt"))
    write_log(Columns.of(SOME[1:]), str(tmp_path / "deep" / "two.jsonl.gz"))
    write_log(Columns.of(SOME), str(tmp_path / "three.parquet"))
    for paths in (
        tmp_path,
        [tmp_path],
        str(tmp_path),
        [tmp_path / "*.txt", tmp_path / "deep", f"{tmp_path}/t*.parquet"],
    ):
        frame = gpudiy.logs.read_log(paths)
        assert sorted(frame["test"]) == ["MP", "MP", "SB", "SB"]
        assert frame["positive"].sum() == 6
        assert frame.attrs["problems"] == []
    assert frame["chip"].dtype == "category"
    assert frame["seed"].isna().all()


def test_outcomes_are_a_tidy_frame(corpus: Path) -> None:
    frame = gpudiy.logs.read_log(corpus / "gpu-litmus-titan" / "IRIW_gl_cta.txt")
    rows = gpudiy.logs.outcomes(frame)
    assert len(rows) == 10
    assert rows["count"].sum() == 100_002
    assert set(rows["test"]) == {"IRIW"}
    assert not rows["weak"].any()


def test_counts_from_csv(tmp_path: Path) -> None:
    log = tmp_path / "counts.csv"
    log.write_text("test,chip,observed,runs,figure\nmp,GTX 660,3,1000,7\nmp,GTX 750,,1000,7\n")
    (record,) = load_log(log).columns.records()
    assert (record.test, record.chip, record.positive, record.negative) == ("mp", "GTX 660", 3, 997)
    assert record.source == "figure 7"
    again = tmp_path / "again.csv"
    write_log(Columns.of([record]), str(again))
    assert list(load_log(again).columns.records()) == [record]


def test_published_tables(corpus: Path) -> None:
    """Chips and incantations that stand in columns."""
    frame = gpudiy.logs.read_log(corpus / "observations")
    titan = frame[frame["chip"] == "GTX Titan"]
    by_incantation = titan[titan["test"] == "sb (inter-CTA)"].set_index("incantation")["positive"]
    assert by_incantation["none"] == 0
    assert by_incantation["stress+sync+random"] == 6673
    assert by_incantation["stress+bank+sync+random"] == 749
    assert set(frame["architecture"]) >= {"Fermi", "Kepler", "Maxwell"}
    assert "n/a" not in set(frame["positive"].astype(str))


def test_parquet_opens_in_pandas(tmp_path: Path) -> None:
    write_log(Columns.of(SOME), str(tmp_path / "log.parquet"))
    frame = pandas.read_parquet(tmp_path / "log.parquet")
    assert list(frame["positive"]) == [3, 0]
    assert [name for name in NAMES if name not in ("file", "line")] == list(frame.columns)


def test_without_pyarrow_the_command_to_install_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(LogError, match="pyarrow") as error:
        write_log(Columns.of(SOME), str(tmp_path / "log.parquet"))
    assert "pip install 'gpudiy[parquet]'" in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_a_log_appears_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.jsonl"
    write_log(Columns.of(SOME), str(path))
    before = path.read_bytes()
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        write_log(Columns.of(SOME[:1]), str(path))
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_several_gzip_members(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl.gz"
    texts = []
    for record in SOME:
        write_log(Columns.of([record]), str(tmp_path / "part.jsonl"))
        texts.append(gzip.compress((tmp_path / "part.jsonl").read_bytes()))
    log.write_bytes(b"".join(texts))
    assert list(load_log(log).columns.records()) == SOME


COUNTED = Record(
    "SB",
    positive=3,
    negative=97,
    iterations=100,
    liveness=Liveness(1, 2, 3, 4, 5, timed=6, inversions=7, skew=8, warmed=9, near=10, launches=4),
    launch_sums=LaunchSums(2500, 5, 75, 2),
    no_evidence="threads ran one after another",
)


@pytest.mark.parametrize("suffix", ["txt", "jsonl", "parquet", "csv"])
def test_every_format_carries_all_counters(suffix: str, tmp_path: Path) -> None:
    uncounted = Record("MP", negative=5, iterations=5)
    partly = replace(COUNTED, test="LB", liveness=Liveness(meetings=7, near=0), launch_sums=None, no_evidence="")
    failed = Record("R", ending=Ending.TIMEOUT, reason="no answer in 120 s")
    given = [COUNTED, uncounted, partly, failed]
    again = written_and_read(given, tmp_path / f"log.{suffix}")
    for name in ("liveness", "launch_sums", "no_evidence", "ending", "reason", "iterations"):
        assert [getattr(record, name) for record in again] == [getattr(record, name) for record in given]


def test_what_an_old_log_does_not_say_is_not_zero(tmp_path: Path) -> None:
    old = tmp_path / "old.jsonl"
    liveness = '{"meetings": 5, "timeouts": 0, "overlaps": 5, "stress_accesses": 9, "discarded": 0}'
    old.write_text(f'{{"test": "SB", "iterations": 5, "positive": 0, "negative": 5, "liveness": {liveness}}}\n')
    (record,) = load_log(old).columns.records()
    assert record.liveness is not None
    assert record.liveness.near is None and record.liveness.launches is None and record.launch_sums is None
    both = record.liveness + Liveness(near=3, launches=2)
    assert both.near is None and both.launches is None and both.meetings == 5


def test_sums_over_launches_are_additive() -> None:
    launches = [(100, 3), (200, 0), (50, 50)]
    total = add_launch_sums(sum_launch(*launch) for launch in launches)
    assert total == LaunchSums(100**2 + 200**2 + 50**2, 9 + 2500, 300 + 2500, 2)
    assert add_launch_sums([total, None]) is None
    huge = LaunchSums(10**18 - 1, 1, 1, 1)
    assert add_launch_sums([huge, huge]) is None  # no format could hold it: not known is better than wrong
