"""Logs that were cut, changed or joined: nothing of them becomes evidence that the GPU did not give."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from kit_samples import ExportedKit, SampleLog, sum_lines

import gpudiy
from gpudiy.cli import main
from gpudiy.errors import GpudiyError, InputError
from gpudiy.kits.importing import read_records
from gpudiy.kits.kit_log import KitLog, read_kit_log
from gpudiy.logs.decision import decide_record
from gpudiy.logs.frame import DamagedLog
from gpudiy.logs.log import LogError
from gpudiy.logs.record import Ending, Record

LAUNCHES = 4
PLACE = re.compile(r"log\.jsonl:(\d+):1: error: ")


def make_log(kit: ExportedKit) -> SampleLog:
    """Two tests that finished, with a warm-up; one that failed, and was run again."""
    log = SampleLog(kit.folder)
    for test in (0, 1):
        log.begin(test)
        log.launch(warm=True)
        for _ in range(LAUNCHES):
            log.launch(weak=3)
        log.end()
    log.begin(2)
    log.launch()
    log.end("error", code=999, call="cuStreamSynchronize", message="unknown error")
    log.add_device(80, "cubin", 80)
    log.begin(2)
    for _ in range(LAUNCHES):
        log.launch(weak=1)
    log.end()
    return log


def records_of(log: KitLog) -> dict[str, Record]:
    return {record.test: record for record in read_records(log)}


def lines_of(log: SampleLog) -> list[str]:
    return log.text().splitlines()


def write_lines(log: SampleLog, lines: Sequence[str]) -> str:
    return log.write("".join(f"{line}\n" for line in lines))


def find_line(lines: Sequence[str], beginning: str, number: int = 0) -> int:
    return [place for place, line in enumerate(lines) if line.startswith(beginning)][number]


def test_a_whole_log_has_no_problem(kit: ExportedKit) -> None:
    log = read_kit_log(make_log(kit).write())
    assert log.problems == ()
    assert {name: records_of(log)[name].positive for name in ("SB0", "SB1", "SB2")} == {"SB0": 12, "SB1": 12, "SB2": 4}


def test_a_launch_that_is_there_twice_counts_once(kit: ExportedKit, capsys: pytest.CaptureFixture[str]) -> None:
    """Before, it counted twice, and launches were said to be missing."""
    log = make_log(kit)
    lines = lines_of(log)
    twice = find_line(lines, '{"launch":1,', 3)
    path = write_lines(log, [*lines[: twice + 1], lines[twice], *lines[twice + 1 :]])
    assert main(["run", "--import", path]) >= 2
    assert f"log.jsonl:{twice + 2}:1: error: this line was changed or damaged: it and all lines after it" in (
        capsys.readouterr().err
    )
    record = records_of(read_kit_log(path))["SB1"]
    assert record.liveness is not None and record.liveness.launches == 3
    assert (record.ending, record.reason) == (Ending.STOPPED, "the log is damaged after this")
    again = list(log.lines)
    at = find_line(again, '{"launch":1,', 3)
    problem = read_kit_log(write_lines(log, sum_lines([*again[: at + 1], again[at], *again[at + 1 :]]))).problems[0]
    assert problem.message.startswith("launch number 2 is here twice")


@pytest.mark.parametrize("resummed", [False, True])
def test_the_last_launches_cannot_be_dropped(kit: ExportedKit, resummed: bool) -> None:
    """Before, a test whose last launches were deleted was finished."""
    log = make_log(kit)
    lines = log.lines if resummed else lines_of(log)
    last = find_line(lines, '{"launch":0,', LAUNCHES)
    kept = [*lines[:last], *lines[last + 1 :]]
    found = read_kit_log(write_lines(log, sum_lines(kept) if resummed else kept))
    assert found.problems[0].line == last + 1
    if resummed:
        assert "4 of the 5 launches of this test are here" in found.problems[0].message
    assert records_of(found)["SB0"].ending is Ending.STOPPED
    assert "SB1" not in records_of(found)


EDITS = {
    "outcome": ('"outcomes":[[3,0,0],', '"outcomes":[[2,0,0],'),
    "counter": ('"counters":[', '"counters":[1'),
    "seconds": ('"microseconds":1000', '"microseconds":1'),
    "not a number": ('"microseconds":1000', '"microseconds":NaN'),
    "incantation": ('"memory_stress":"true"', '"memory_stress":"false"'),
    "end": ('"how":"finished"', '"how":"time"'),
    "chip": ('"name":"Sample"', '"name":"Simple"'),
}
HEAD_EDITS = {
    "seed": ('"seed":7', '"seed":8'),
    "iterations": ('"iterations":1000', '"iterations":10'),
    "harness": ('"harness":"', '"harness":"0'),
    "incantation": ('"incantation":"default"', '"incantation":"all"'),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_is_noticed(kit: ExportedKit, edit: str) -> None:
    """Before, all of these were accepted."""
    old, new = EDITS[edit]
    log = make_log(kit)
    lines = lines_of(log)
    at = next(place for place, line in enumerate(lines) if old in line and not line.startswith(('{"kit"', '{"test"')))
    lines[at] = lines[at].replace(old, new, 1)
    (problem,) = read_kit_log(write_lines(log, lines)).problems
    assert (problem.line, problem.message.startswith("this line was changed or damaged")) == (at + 1, True)


@pytest.mark.parametrize("edit", HEAD_EDITS)
def test_an_edit_of_the_head_is_refused(kit: ExportedKit, edit: str, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = HEAD_EDITS[edit]
    log = make_log(kit)
    text = log.text()
    assert old in text.splitlines()[0]
    assert main(["run", "--import", log.write(text.replace(old, new, 1))]) == 2
    assert "log.jsonl:1:1: error: the head of this log is damaged: this line was changed" in capsys.readouterr().err


HEADS = {
    "index": ('"optcheck": "unchanged"', '"optcheck": "reordered"', "is not what was exported"),
    "head": ('{"kit":2,', '{"kit":2', "the head of this log is damaged"),
    "version": ('{"kit":2,', '{"kit":9,', "another version of kits, 9, not 2"),
    "another file": ('{"kit":2,', '{"kot":2,', "this is not the log of a kit"),
}


@pytest.mark.parametrize("case", HEADS)
def test_a_head_that_was_changed_is_refused(kit: ExportedKit, case: str) -> None:
    old, new, message = HEADS[case]
    log = make_log(kit)
    text = log.text()
    assert old in text
    with pytest.raises(LogError, match=message):
        read_kit_log(log.write(text.replace(old, new, 1)))


def test_a_log_that_is_cut_in_its_head_is_refused(kit: ExportedKit) -> None:
    log = make_log(kit)
    lines = lines_of(log)
    with pytest.raises(LogError, match="is not what was exported"):
        read_kit_log(log.write("\n".join(lines[:3])[:-50]))
    with pytest.raises(LogError, match="the head of this log is damaged"):
        read_kit_log(log.write(lines[0][:-50]))


def test_a_cut_log_loses_one_launch(kit: ExportedKit, capsys: pytest.CaptureFixture[str]) -> None:
    log = SampleLog(kit.folder)
    log.begin(0)
    log.launch()
    log.launch()
    path = log.write(log.text()[:-30])
    assert main(["run", "--import", path, "-q"]) == 3  # one was refused when the kit was made
    assert "this line was cut, and is left out" in capsys.readouterr().err
    found = read_kit_log(path)
    assert records_of(found)["SB0"].liveness.launches == 1  # type: ignore[union-attr]
    with pytest.warns(DamagedLog, match="this line was cut"):
        assert gpudiy.import_log(path).attrs["problems"][0]["line"] == found.problems[0].line


def test_joined_logs_of_two_kits(kit: ExportedKit, capsys: pytest.CaptureFixture[str]) -> None:
    log = make_log(kit)
    text = log.text()
    assert main(["run", "--import", log.write(text + text), "-q"]) >= 2
    end = len(text.splitlines())
    assert f"log.jsonl:{end + 1}:1: error: this line was changed or damaged" in capsys.readouterr().err
    other = SampleLog(kit.folder)
    other.lines.pop()
    other.add_device(80, "cubin", 80, gpu="GPU-another")
    assert read_kit_log(other.write()).problems[0].message.startswith("this line is of another GPU")


LINES = (
    "{}", "[]", "7", '"launch"', "null", "{", '{"launch":0}', '{"something":1}', '{"end":0,"how":"danced"}', "\0\0\0",
)  # fmt: skip


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("place", ["begin", "launch", "end"])
def test_a_line_of_another_kind(kit: ExportedKit, line: str, place: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Before, an empty object was a bug in gpudiy."""
    log = make_log(kit)
    lines = lines_of(log)
    at = find_line(lines, f'{{"{place}":', 2)
    assert main(["run", "--import", write_lines(log, [*lines[:at], line, *lines[at:]]), "-q"]) >= 2
    shown = capsys.readouterr().err
    assert f"log.jsonl:{at + 1}:1: error: " in shown and "bug in gpudiy" not in shown


WRONG_VALUES = {
    "slots": ('"slots":256', '"slots":1000000000000'),
    "count": ('"outcomes":[[3,', '"outcomes":[[18446744073709551616,'),
    "value": ('"outcomes":[[3,0,', '"outcomes":[[3,18446744073709551616,'),
    "width": ('"outcomes":[[3,0,0]', '"outcomes":[[3,0]'),
    "test": ('"begin":1', '"begin":"one"'),
    "hash": ('"hash":"', '"hash":"f'),
    "time": ('"started":"2030-01-02T03:04:05+00:00","settings', '"started":"yesterday","settings'),
    "plan": ('"batch":1', '"batch":0'),
    "fields": ('"registers":40,', ""),
    "code": ('"code":999', '"code":-1'),
    "flag": ('"warm":true', '"warm":1'),
    "fraction": ('"microseconds":1000', '"microseconds":0.5'),
    "infinity": ('"microseconds":1000', '"microseconds":Infinity'),
    "incantation": ('"memory_stress":"true"', '"memory_stress":"perhaps"'),
}


@pytest.mark.parametrize("case", WRONG_VALUES)
def test_a_value_that_no_program_writes_is_refused(
    kit: ExportedKit, case: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Even if the sums are right."""
    assert main(["run", "--import", make_log(kit).write_changed(*WRONG_VALUES[case]), "-q"]) >= 2
    shown = capsys.readouterr().err
    assert PLACE.search(shown) and "bug in gpudiy" not in shown


# ---- any change at all: never a traceback, never more evidence than the log had ----

Change = Callable[[random.Random, list[str]], list[str]]
ODD = (None, -1, 0, 1, 0.5, 1 << 64, 10**12, "", "x", "finished", True, [], {}, [[]], [1, 2], {"a": 1}, "\ud800")


def drop_line(dice: random.Random, lines: list[str]) -> list[str]:
    at = dice.randrange(len(lines))
    return lines[:at] + lines[at + 1 :]


def double_line(dice: random.Random, lines: list[str]) -> list[str]:
    at, to = dice.randrange(len(lines)), dice.randrange(len(lines))
    return [*lines[:to], lines[at], *lines[to:]]


def swap_lines(dice: random.Random, lines: list[str]) -> list[str]:
    at, to = dice.randrange(len(lines)), dice.randrange(len(lines))
    lines[at], lines[to] = lines[to], lines[at]
    return lines


def cut_line(dice: random.Random, lines: list[str]) -> list[str]:
    at = dice.randrange(len(lines))
    return [*lines[:at], lines[at][: dice.randrange(len(lines[at]) + 1)]]


def change_letter(dice: random.Random, lines: list[str]) -> list[str]:
    at = dice.randrange(len(lines))
    place = dice.randrange(len(lines[at]) + 1)
    lines[at] = lines[at][:place] + dice.choice('0123456789{}[]",:ax\0é') + lines[at][place + 1 :]
    return lines


def change_value(dice: random.Random, lines: list[str]) -> list[str]:
    """Another value somewhere in a line, or a key that is gone, or one more."""
    at = dice.randrange(len(lines))
    try:
        entry = json.loads(lines[at])
    except ValueError:  # it was changed before
        return lines
    inside = entry
    while isinstance(inside, (dict, list)) and inside:
        key = dice.choice(sorted(inside)) if isinstance(inside, dict) else dice.randrange(len(inside))
        what = dice.randrange(8)
        if not isinstance(inside[key], (dict, list)) or not inside[key] or what == 0:
            if what == 1:
                del inside[key]
            elif what == 2 and isinstance(inside, dict):
                inside["odd"] = dice.choice(ODD)
            else:
                inside[key] = dice.choice(ODD)
            break
        inside = inside[key]
    lines[at] = json.dumps(entry, separators=(",", ":")) if not lines[at].startswith('{"test"') else json.dumps(entry)
    return lines


CHANGES: tuple[Change, ...] = (drop_line, double_line, swap_lines, cut_line, change_letter, change_value, change_value)


def count_evidence(path: str) -> dict[str, tuple[int, int]]:
    """Of each test that is evidence: iterations and sightings; raises only what gpudiy reports to its user."""
    log = read_kit_log(path)
    for problem in log.problems:
        assert PLACE.search(str(problem))
    return {
        record.hash: (record.iterations, record.positive)
        for record in read_records(log)
        if decide_record(record).sighting.is_evidence
    }


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("resummed", [False, True])
def test_any_change(kit: ExportedKit, resummed: bool, seed: int) -> None:
    """Without new sums a changed log has no more evidence than before; with new sums it is no traceback at least."""
    log = make_log(kit)
    whole = count_evidence(log.write())
    assert len(whole) == 3
    dice = random.Random(f"{seed} {resummed}")
    summed = lines_of(log)
    for _ in range(25):
        lines = list(log.lines if resummed else summed)
        for _ in range(dice.choice((1, 1, 2))):
            lines = dice.choice(CHANGES)(dice, lines) if lines else lines
        if resummed:
            lines = sum_lines(lines)
        Path(log.write()).write_bytes("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass"))
        try:
            found = count_evidence(str(kit.folder / "log.jsonl"))
        except GpudiyError as error:
            assert (isinstance(error, InputError) and error.line is not None) or "not the log of a kit" in str(error)
            continue
        if not resummed:
            for test, (iterations, sightings) in found.items():
                assert iterations <= whole[test][0] and sightings <= whole[test][1]
