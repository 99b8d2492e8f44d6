"""Damaged logs: what is whole is kept, and every damage is told with its place."""

from __future__ import annotations

import gzip
import zlib
from itertools import zip_longest
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from log_records import titan_logs

from gpudiy.logs import Columns, LogError, LogFormat, load_log
from gpudiy.logs.json_lines import read_json_lines
from gpudiy.logs.record import OutcomeCount, Record
from gpudiy.logs.sources import LONGEST_LINE
from gpudiy.logs.text_reader import read_text
from gpudiy.logs.writing import log_text

READERS = {LogFormat.TEXT: read_text, LogFormat.JSON_LINES: read_json_lines}


@st.composite
def several(draw: st.DrawFn) -> list[Record]:
    """Records with histograms, which can be told apart by their names."""
    found = []
    for place in range(draw(st.integers(3, 4))):
        counts = draw(st.lists(st.integers(1, 10**6), min_size=1, max_size=4))
        weak = draw(st.integers(-1, len(counts) - 1))
        histogram = tuple(OutcomeCount(f"x={n};", count, n == weak) for n, count in enumerate(counts))
        positive = sum(entry.count for entry in histogram if entry.weak)
        found.append(
            Record(
                f"T{place}",
                hash=f"{place:032x}",
                condition=f"exists (x={max(weak, 9 * (weak < 0))})",
                chip="GTX Titan",
                options=(("memory_stress", "true"),),
                iterations=sum(counts),
                histogram=histogram,
                positive=positive,
                negative=sum(counts) - positive,
                seconds=0.5,
            )
        )
    return found


SEVERAL = several()


@pytest.mark.parametrize("format", READERS)
@settings(max_examples=100)
@given(found=SEVERAL, where=st.floats(0, 1, exclude_max=True))
def test_a_log_cut_anywhere_keeps_what_came_before(format: LogFormat, found: list[Record], where: float) -> None:
    parts = [log_text(Columns.of([record]), format) for record in found]
    text = "".join(parts)
    cut = text[: int(where * len(text))]
    whole = 0
    while whole < len(parts) and len("".join(parts[: whole + 1])) <= len(cut):
        whole += 1
    assume(cut.strip())
    columns, problems = READERS[format](cut, "log")
    read = list(columns.records())
    assert read[:whole] == found[:whole]
    rest = cut[len("".join(parts[:whole])) :]
    if rest.strip() and not rest.endswith("\n") and (format is LogFormat.TEXT or len(read) == whole):
        assert problems
        assert all(problem.line <= cut.count("\n") + 1 for problem in problems)
    for record, original in zip(read, found, strict=False):  # nothing that is kept counts otherwise than it did
        assert (record.positive, record.negative) == (original.positive, original.negative)


@pytest.mark.parametrize("format", READERS)
@settings(max_examples=60)
@given(found=SEVERAL, twice=st.integers(0, 2), behind=st.integers(0, 2))
def test_a_doubled_record_counts_once(format: LogFormat, found: list[Record], twice: int, behind: int) -> None:
    parts = [log_text(Columns.of([record]), format) for record in found]
    parts.insert(max(twice, behind) + 1, parts[twice])
    columns, problems = READERS[format]("".join(parts), "log")
    assert sorted(columns["test"]) == sorted(record.test for record in found)
    assert len(problems) == 1
    assert "twice" in problems[0].message
    assert problems[0].line == 1 + "".join(parts[: max(twice, behind) + 1]).count("\n")


@settings(max_examples=100)
@given(found=SEVERAL)
def test_interleaved_records_are_told_and_left_out(found: list[Record]) -> None:
    parts = [log_text(Columns.of([record]), LogFormat.TEXT) for record in found]
    mixed = zip_longest(parts[0].splitlines(True), parts[1].splitlines(True), fillvalue="")
    text = "".join(line for pair in mixed for line in pair) + "".join(parts[2:])
    columns, problems = read_text(text, "log")
    assert problems
    assert columns["test"][-len(parts[2:]) :] == [record.test for record in found[2:]]
    for record in columns.records():
        original = next(entry for entry in found if entry.test == record.test)
        assert (record.positive, record.negative, record.histogram) == (
            original.positive,
            original.negative,
            original.histogram,
        )


@settings(max_examples=100)
@given(found=SEVERAL, data=st.data())
def test_a_lost_doubled_or_changed_count_is_noticed(found: list[Record], data: st.DataObject) -> None:
    """Mutants: one line of the counts of the second record is lost, doubled, or has another number."""
    parts = [log_text(Columns.of([record]), LogFormat.TEXT) for record in found]
    lines = parts[1].splitlines(True)
    counting = [place for place, line in enumerate(lines) if ":>" in line or "*>" in line]
    place = data.draw(st.sampled_from(counting))
    damage = data.draw(st.sampled_from(("lost", "doubled", "changed")))
    lines[place] = {"lost": "", "doubled": lines[place] * 2, "changed": f"1{lines[place]}"}[damage]
    columns, problems = read_text("".join([parts[0], *lines, *parts[2:]]), "log")
    assert columns["test"] == [record.test for record in found if record is not found[1]]
    assert [problem.test for problem in problems] == [found[1].test]


def test_a_log_of_the_titan_cut_anywhere(corpus: Path) -> None:
    """At every place: the first record is kept as it is, and whatever is lost is told."""
    one, two, _ = (log.read_text() for log in titan_logs(corpus))
    (expected,) = read_text(one, "log")[0].records()
    for end in range(1, len(two), 7):
        columns, problems = read_text(one + two[:end], "log")
        assert columns.record(0) == expected, two[:end]
        if len(columns) == 1:
            assert problems, two[:end]
        else:
            assert (columns["test"][1:], columns["iterations"][1:]) == (["CoRR"], [100_000])


def test_places_of_damages(corpus: Path) -> None:
    """A log of the Titan cut in its histogram: the message names the line and the record."""
    one, two, _ = (log.read_text() for log in titan_logs(corpus))
    cut = one[: one.index("18906")]
    columns, problems = read_text(cut + two, "titan.txt")
    assert columns["test"] == ["CoRR"]
    (problem,) = problems
    line = cut.count("\n") + 1
    assert str(problem).startswith(f"titan.txt:{line}:1: error: IRIW: the histogram breaks off here")
    assert f"the record starts on line {cut[: cut.index('Test IRIW')].count(chr(10)) + 1}" in str(problem)


def test_a_test_of_another_name_before_a_result_is_left_out(corpus: Path) -> None:
    one, two, _ = (log.read_text() for log in titan_logs(corpus))
    mixed = one[: one.index("Test IRIW")] + two[two.index("Test CoRR") :]
    columns, problems = read_text(mixed, "log")
    assert columns["text"] == [""]
    assert "the test printed before this result is IRIW" in problems[0].message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "this log is empty"),
        ("\n \n", "this log is empty"),
        ("hello\nworld\n", "this is not a log"),
        ("a,b\n1,2\n", "this is not a log"),
        ("test,chip\nmp,GTX 750\n", "no column of counts"),
        ("test,test,positive\nmp,mp,1\n", "two columns of the same name"),
    ],
)
def test_what_is_no_log(text: str, message: str, tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text(text)
    with pytest.raises(LogError, match=message) as error:
        load_log(log)
    assert str(error.value).startswith(f"{log}:")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[1]", "a record is an object"),
        ("{", "this is not JSON"),
        ('{"test": ""}', "names its test"),
        ('{"test": "SB", "positive": -1}', "below 0"),
        ('{"test": "SB", "positive": "many"}', "positive must not be"),
        ('{"test": "SB", "positive": true}', "positive must not be"),
        ('{"test": "SB", "positive": 1, "negative": 1, "iterations": 3}', "are not 3 iterations"),
        ('{"test": "SB", "negative": 2, "iterations": 2, "histogram": [{"outcome": "x=1;", "count": 3}]}', "sum to 3"),
        ('{"test": "SB", "ending": "lost"}', "lost"),
        ('{"test": "SB", "positive": ' + "9" * 30 + "}", "more than any run can count"),
        ('{"test": "SB", "positive": ' + "9" * 5000 + "}", "digits"),
        ('{"test": "SB", "seed": 18446744073709551616}', "64 bits"),
        ("{" * 100_000, "no record|not JSON"),
    ],
)
def test_lines_that_are_no_records(line: str, message: str) -> None:
    import re

    text = f'{{"test": "MP", "negative": 7, "iterations": 7}}\n{line}\n{{"test": "LB"}}\n'
    columns, problems = read_json_lines(text, "log.jsonl")
    assert columns["test"] == ["MP", "LB"]
    (problem,) = problems
    assert problem.line == 2
    assert re.search(message, problem.message)


def test_negative_counts_everywhere(tmp_path: Path) -> None:
    csv = tmp_path / "counts.csv"
    csv.write_text("test,GTX660,GTX750\nmp,3,-4\nsb,x,5\n")
    log = load_log(csv)
    assert log.columns["positive"] == [3, 5]
    assert [(problem.line, problem.test) for problem in log.problems] == [(2, "mp"), (3, "sb")]
    text = "Test SB Allowed\nHistogram (1 states)\n-5    :>x=1;\nNo\n\nWitnesses\nPositive: 0, Negative: -5\n"
    columns, problems = read_text(text, "log")
    assert not len(columns)
    assert (problems[0].line, "below 0" in problems[0].message) == (3, True)


def test_damaged_archives_give_what_they_can(tmp_path: Path) -> None:
    lines = "".join(f'{{"test": "T{place}", "source": "{zlib.crc32(bytes(place))}"}}\n' for place in range(5000))
    packed = gzip.compress(lines.encode())
    cut, spoilt, followed = tmp_path / "cut.jsonl.gz", tmp_path / "spoilt.jsonl.gz", tmp_path / "followed.jsonl.gz"
    cut.write_bytes(packed[: len(packed) // 2])
    log = load_log(cut)
    assert 100 < len(log.columns) < 5000
    assert any("ends in the middle" in problem.message for problem in log.problems)
    spoilt.write_bytes(packed[: len(packed) // 2] + b"\xff" * 64 + packed[len(packed) // 2 + 64 :])
    assert any("damaged near byte" in problem.message for problem in load_log(spoilt).problems)
    followed.write_bytes(packed + b"something else")
    log = load_log(followed)
    assert len(log.columns) == 5000
    assert "not gzip" in log.problems[0].message
    wrong = tmp_path / "wrong.gz"
    wrong.write_bytes(b"\x1f\x8bnothing")
    log = load_log(wrong)
    assert not len(log.columns)
    assert "damaged" in log.problems[0].message


def test_a_line_without_end_is_refused_before_it_fills_the_memory(tmp_path: Path) -> None:
    log = tmp_path / "endless.txt"
    with log.open("wb") as file:
        file.write(b"Test SB Allowed\n")
        file.truncate(2 << 30)  # a hole: two gigabytes of zeros that nobody stores
    with pytest.raises(LogError, match="not a log") as error:
        load_log(log)
    assert str(error.value).startswith(f"{log}:2: error: a line of more than {LONGEST_LINE:,} bytes")


def test_parquet_that_is_none(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    cut = tmp_path / "cut.parquet"
    cut.write_bytes(b"PAR1 and no more")
    with pytest.raises(LogError, match="not a whole Parquet file"):
        load_log(cut)
    other = tmp_path / "other.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"name": ["x"]}), other)
    with pytest.raises(LogError, match="no column `test`"):
        load_log(other)
    below = tmp_path / "below.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"test": ["x"], "positive": [-1]}), below)
    with pytest.raises(LogError, match="below 0"):
        load_log(below)


def test_reading_warns_of_damages(tmp_path: Path) -> None:
    from gpudiy.logs import DamagedLog, read_log

    log = tmp_path / "log.jsonl"
    log.write_text('{"test": "MP"}\n{"test"')
    with pytest.warns(DamagedLog, match="log.jsonl:2:1: error: this is not JSON"):
        frame = read_log(log)
    assert frame.attrs["problems"][0]["line"] == 2
    assert list(frame["test"]) == ["MP"]


def test_a_directory_may_hold_other_files(corpus: Path, tmp_path: Path) -> None:
    log = load_log(corpus / "gpu-litmus-titan")
    assert len(log.columns) == 3
    assert [(Path(problem.path).name, problem.line) for problem in log.problems] == [("LICENSE.txt", 1)]
    with pytest.raises(LogError, match="no log"):
        load_log(tmp_path)


@pytest.mark.parametrize("digits", [19, 5000])
def test_numbers_beyond_all_counting(digits: int, tmp_path: Path) -> None:
    many = "9" * digits
    text = f"Test SB Allowed\nHistogram (1 states)\n{many} :>x=1;\nNo\n\nWitnesses\nPositive: 0, Negative: {many}\n"
    columns, problems = read_text(text, "log")
    assert not len(columns)
    assert len(problems) == 1
    csv = tmp_path / "log.csv"
    csv.write_text(f"test,positive\nmp,{many}\n")
    assert "not a count" in load_log(csv).problems[0].message


def test_histograms_may_be_missing() -> None:
    text = "Test SB Allowed\nWitnesses\nPositive: 1, Negative: 2\nObservation SB Sometimes 1 2\n"
    columns, problems = read_text(text, "log")
    assert not problems
    assert columns.record(0) == Record("SB", positive=1, negative=2, iterations=3)
    assert OutcomeCount("x", 1) not in columns.record(0).histogram


def test_an_index_is_no_log(tmp_path: Path) -> None:
    index = tmp_path / "index.jsonl"
    index.write_text('{"test": "SB", "arch": "sm_90", "file": "a.cubin"}\n')
    with pytest.raises(LogError, match="this is not a log: its lines are not records"):
        load_log(str(index))
    (tmp_path / "log.jsonl").write_text('{"test": "SB", "iterations": 5, "positive": 1, "negative": 4}\n')
    log = load_log(str(tmp_path))
    assert len(log.columns) == 1 and [problem.path for problem in log.problems] == [str(index)]
