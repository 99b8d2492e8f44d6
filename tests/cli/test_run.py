"""The verbs that run tests, on fake devices."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from fake_devices import OPENER, fake_test

import gpudiy
from gpudiy.cli import gpu_litmus, main
from gpudiy.devices.tuning import Tuning
from gpudiy.harness.incantation_text import read_incantation
from gpudiy.litmus import print_test
from gpudiy.logs.memory_place import memory_of
from gpudiy.logs.reading import read_file
from gpudiy.logs.record import Ending

SCRIPT = f"""
import sys
from gpudiy.cli import main, run
from gpudiy.devices import opening
opening.KINDS["fake"] = "fake_devices"
run.OPENER = {OPENER!r}
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current directory, with a device `fake`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(__import__("gpudiy.devices.opening", fromlist=["KINDS"]).KINDS, "fake", "fake_devices")
    for module in ("run", "tune", "gpu_litmus"):
        monkeypatch.setattr(f"gpudiy.cli.{module}.OPENER", OPENER)
    return tmp_path


def write(*names: str, quantifier: str = "exists") -> list[str]:
    for name in names:
        Path(f"{name}.litmus").write_text(print_test(fake_test(name, quantifier)))
    return [f"{name}.litmus" for name in names]


def test_a_line_for_each_test(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["run", *write("SB", "strong", "impossible", "strong-dead"), "--device", "fake", "-s", "5000"])
    lines = capsys.readouterr().out.splitlines()
    assert code == 3
    assert lines[0] == "on fake: fake chip"
    assert lines[1].split()[:2] == ["SB", "observed"] and "of 5,000: 0." in lines[1]
    assert lines[2].split()[:3] == ["strong", "not", "observed"] and "0 of 5,000: below 0.0006" in lines[2]
    assert lines[3].split(maxsplit=3)[1:] == ["no", "evidence", "not runnable: it has too many threads"]
    assert lines[4].split(maxsplit=3)[1:3] == ["no", "evidence"] and "at the same time" in lines[4]
    assert lines[5].startswith("4 tests: 1 observed, 1 not observed, 2 no evidence (1 not runnable)")


@pytest.mark.parametrize(
    ("names", "quantifier", "code"),
    [
        (["SB", "strong"], "exists", 0),
        (["SB"], "~exists", 1),
        (["strong"], "~exists", 0),
        (["SB"], "forall", 1),
        (["SB", "impossible"], "exists", 0),
        (["impossible"], "exists", 3),
        (["SB", "exit"], "exists", 3),
    ],
)
def test_exit_codes(folder: Path, names: list[str], quantifier: str, code: int) -> None:
    assert main(["run", *write(*names, quantifier=quantifier), "--device", "fake", "-s", "5000"]) == code


@pytest.mark.parametrize("name", ["log.txt", "log.jsonl", "log.parquet"])
def test_logs_say_the_same_in_every_format_and_are_continued(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    first = write("SB", "exit", "lost")
    assert main(["run", *first, "--device", "fake", "-s", "5000", "--seed", "7", "-o", name]) == 3
    columns, problems = read_file(name)
    assert not problems
    records = list(columns.records())
    assert [record.test for record in records] == ["SB", "exit", "lost"]
    assert [record.ending for record in records] == [Ending.FINISHED, Ending.CRASHED, Ending.DEVICE_LOST]
    assert (records[0].iterations, records[0].seed, records[0].device) == (5000, 7, "fake")
    capsys.readouterr()
    assert main(["run", *first, *write("strong"), "--device", "fake", "-s", "5000", "-o", name, "--resume"]) == 3
    assert "2 of 4 tests are in the log already" in capsys.readouterr().err
    columns, problems = read_file(name)
    assert not problems
    assert [record.test for record in columns.records()] == ["SB", "exit", "lost", "lost", "strong"]
    assert sorted(path.name for path in folder.iterdir() if path.suffix != ".litmus") == [name]


def test_a_log_that_was_cut_is_continued(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tests = write("SB", "strong")
    main(["run", *tests, "--device", "fake", "-s", "5000", "-o", "log.jsonl"])
    log = Path("log.jsonl")
    log.write_text(log.read_text()[:-100])
    assert main(["run", *tests, "--device", "fake", "-s", "5000", "-o", "log.jsonl", "--resume"]) == 0
    assert "log.jsonl:2:1: error" in capsys.readouterr().err
    columns, problems = read_file("log.jsonl")
    assert len(problems) == 1
    assert [record.test for record in columns.records()] == ["SB", "strong"]


def test_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", *write("SB"), "--device", "fake,fake:2", "-s", "100000", "--json", "--until", "observed"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["device"] for line in lines] == ["fake", "fake:2"]
    assert all(line["ending"] == "stopped" and line["positive"] > 0 for line in lines)
    assert lines[0]["options"]["memory_stress"] == "true"


CACHED = """GPU_PTX MP-ca
{1:.reg .s32 r0; 1:.reg .s32 r1;}
 P0 | P1 ;
 st.cg.s32 [x],1 | ld.ca.s32 r0,[y] ;
 membar.gl | membar.gl ;
 st.cg.s32 [y],1 | ld.ca.s32 r1,[x] ;
(device (kernel (cta (warp P0)) (cta (warp P1))))
x: global, y: global
exists (1:r0=1 /\\ 1:r1=0)
"""


def test_every_record_says_that_it_is_no_evidence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A reader that cannot decide a record must not take its zero for evidence."""
    monkeypatch.chdir(tmp_path)
    Path("ca.litmus").write_text(CACHED)
    Path("cold.toml").write_text("location_stride = 64\nwarm_percent = 0\n")
    words = ["run", "ca.litmus", "-d", "sim:fermi", "--incantation", "cold.toml", "-s", "2000", "--seed", "1"]
    reason = "may be answered by a cache"
    for log in ("log.jsonl", "log.txt", "log.parquet"):
        assert main([*words, "-o", log, "--json"]) == 3
        line = json.loads(capsys.readouterr().out)
        assert reason in line["no_evidence"]
        assert (line["sighting"], line["sighting_reason"]) == ("no evidence", line["no_evidence"])
        assert read_file(log)[0]["no_evidence"] == [line["no_evidence"]]
        assert main([*words, "-o", log, "--resume"]) == 0
        assert "1 of 1 tests are in the log already" in capsys.readouterr().err
    assert "sighting" not in Path("log.jsonl").read_text()
    assert reason in Path("log.txt").read_text()
    assert gpudiy.run("ca.litmus", device="sim:fermi", incantation="cold.toml", iterations=2000).no_evidence[0]


def test_json_lines_say_the_sighting_and_are_read_as_records(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tests = write("SB", "strong", "impossible", "strong-dead")
    assert main(["run", *tests, "--device", "fake", "-s", "5000", "--seed", "1", "-o", "log.jsonl", "--json"]) == 3
    printed = capsys.readouterr().out
    lines = [json.loads(line) for line in printed.splitlines()]
    sightings = ["observed", "not observed", "no evidence", "no evidence"]
    assert [line["sighting"] for line in lines] == sightings
    assert ["sighting_reason" in line for line in lines] == [False, False, True, True]
    assert lines[2]["sighting_reason"] == "not runnable: it has too many threads"
    Path("printed.jsonl").write_text(printed)
    assert list(read_file("printed.jsonl")[0].records()) == list(read_file("log.jsonl")[0].records())


def test_a_log_is_continued_in_another_memory(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", *write("SB"), "--device", "fake", "-s", "5000", "-o", "log.jsonl", "--resume"]
    assert main([*words, "--memory", "host"]) == 3  # not runnable: this device has one memory
    assert "on fake: fake chip (host memory)" in capsys.readouterr().out
    assert main(words) == 0
    assert main([*words, "--memory", "managed"]) == 3
    assert "are in the log already" not in capsys.readouterr().err
    assert main(words) == main([*words, "--memory", "host"]) == 0
    assert capsys.readouterr().err.count("1 of 1 tests are in the log already") == 2
    records = list(read_file("log.jsonl")[0].records())
    assert [memory_of(record.options) for record in records] == ["host", "device", "managed"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--device", "fakes"], "did you mean 'fake'?"),
        (["--device", "qpu:0"], "there is no device 'qpu:0'"),
        (["--device", ","], "no device is named"),
        (["--device", "fake", "--until", "later"], "'later' does not say when a run stops"),
        (["--device", "fake", "--incantation", "stres"], "did you mean 'stress'?"),
        (["--device", "fake", "--resume"], "nothing to resume"),
        (["--device", "fake", "--format", "jsonl"], "no log to write as jsonl"),
        (["--device", "fake", "-o", "log.docx"], "the name of the log of a run ends in"),
        (["--device", "fake", "-o", "log.csv"], ".jsonl, .json, .parquet"),
        (["--device", "fake", "-o", "SB.litmus/log.txt"], "cannot be written"),
    ],
)
def test_bad_arguments(folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    assert main(["run", *write("SB"), *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["-s", "0"], ["-s", "-5"], ["-s", "many"], ["--seed", "x"], ["--limit", "0"]])
def test_bad_numbers(folder: Path, arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["run", *write("SB"), "--device", "fake", *arguments])
    assert caught.value.code == 2


def test_other_tests_go_on_when_a_file_is_bad(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.litmus").write_text("nonsense")
    assert main(["run", "bad.litmus", *write("strong"), "--device", "fake", "-s", "5000"]) == 2
    printed = capsys.readouterr()
    assert "bad.litmus:1:1: error" in printed.err
    assert "1 test: 1 not observed" in printed.out


def test_a_device_that_does_not_open(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "gone").touch()
    assert main(["run", *write("SB"), "--device", f"fake:{folder / 'gone'}"]) == 3
    assert "cannot be opened: the card is gone" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["log.txt", "log.parquet"])
def test_an_interrupt_keeps_what_is_finished(folder: Path, name: str) -> None:
    tests = write("SB", "strong", "hang")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests")}
    command = [sys.executable, "-c", SCRIPT, "run", *tests, "--device", "fake", "-s", "5000", "-o", name]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    growing = folder / (name if name == "log.txt" else f".{name}.jsonl")
    for _ in range(600):
        time.sleep(0.05)
        if growing.exists() and "strong" in growing.read_text().split("hang")[0]:
            break
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"interrupted; what was finished is in {name}" in err
    assert "2 tests: 1 observed, 1 not observed" in out
    columns, problems = read_file(name)
    assert not problems
    assert [record.test for record in columns.records()] == ["SB", "strong"]


def test_an_interrupt_keeps_what_a_long_test_has_counted(folder: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests")}
    command = [sys.executable, "-c", SCRIPT, "run", *write("strong-slow"), "--device", "fake", "-s", "1" + "0" * 12]
    process = subprocess.Popen(
        [*command, "-o", "log.jsonl"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    assert "iterations" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    (record,) = read_file("log.jsonl")[0].records()
    assert (record.ending, record.reason) == (Ending.STOPPED, "interrupted")
    assert record.iterations == record.negative > 0


def test_devices(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", "--json"]) == 0
    lines = {line["device"]: line for line in map(json.loads, capsys.readouterr().out.splitlines())}
    assert lines["fake"] == {"device": "fake", "there": True, "what": "a fake"}
    assert lines["fake:none"]["command"] == "pip install none"
    assert main(["devices"]) == 0
    assert "to get it: pip install none" in capsys.readouterr().out


def test_gpu_litmus_prints_the_log(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert gpu_litmus.main(["-gpu", *write("SB"), "-s", "1000", "-r", "2", "-device", "fake", "-seed", "3"]) == 0
    text = capsys.readouterr().out
    assert "Test SB Allowed" in text
    assert "Histogram (2 states)" in text
    Path("log.txt").write_text(text)
    (record,) = read_file("log.txt")[0].records()
    assert (record.iterations, record.seed) == (2000, 3)
    assert gpu_litmus.main(["-gpu", "SB.litmus", "-device", "fake", "-o", "default.txt"]) == 0
    assert next(read_file("default.txt")[0].records()).iterations == 100_000


def test_gpu_litmus_tells_what_is_wrong(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert gpu_litmus.main(["missing.litmus", "-device", "fake"]) == 2
    assert "missing.litmus: error: no such file" in capsys.readouterr().err
    assert gpu_litmus.main([*write("SB"), "-device", "nothing"]) == 2
    assert gpu_litmus.main([*write("lost"), "-device", "fake"]) == 3
    with pytest.raises(SystemExit) as caught:
        gpu_litmus.main(["-gpu", "-s", "0", "SB.litmus"])
    assert caught.value.code == 2


def test_tune_finds_better_settings_and_writes_them(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["tune", "fake", *write("tunable", "strong"), "-s", "20000", "--candidates", "16", "--seed", "5"]
    assert main([*arguments, "-o", "best.toml", "--baseline"]) == 0
    printed = capsys.readouterr()
    assert "stage 1 of 4: 16 settings" in printed.err
    row = next(line.split() for line in printed.out.splitlines() if line.startswith("tunable"))
    default, portable, own = (float(number.replace(",", "")) for number in row[1:4])
    assert own > 1.5 * default and portable > 1.5 * default
    assert "with" in row
    book = read_incantation("best.toml")
    assert book.of("tunable").stress_lines < 4
    assert main([*arguments, "-o", "again.toml"]) == 0
    assert Path("again.toml").read_text() == Path("best.toml").read_text()
    assert main(["run", "tunable.litmus", "--device", "fake", "--incantation", "best.toml", "-s", "5000"]) == 0


def test_an_interrupted_tune_keeps_its_best_settings(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    measure = Tuning.measure
    measured = 0

    def interrupted(self: Tuning, *arguments: Any, **options: Any) -> Any:
        nonlocal measured
        measured += 1
        if measured == 16 + 3:  # in the second stage
            raise KeyboardInterrupt
        return measure(self, *arguments, **options)

    monkeypatch.setattr(Tuning, "measure", interrupted)
    arguments = ["tune", "fake", *write("tunable", "strong"), "-s", "20000", "--candidates", "16", "--seed", "5"]
    assert main([*arguments, "-o", "best.toml"]) == 130
    assert "gpudiy: interrupted; the best settings so far are in best.toml" in capsys.readouterr().err
    assert "interrupted, not measured again" in Path("best.toml").read_text()
    assert read_incantation("best.toml").of("tunable").stress_lines < 4
    measured = 16
    assert main([*arguments, "-o", "none.toml"]) == 130  # in the first stage there is nothing to keep
    assert not Path("none.toml").exists()


def test_tune_has_nothing_to_say(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "fake", *write("strong"), "-s", "1000", "--candidates", "2"]) == 1
    assert "no weak outcome was observed" in capsys.readouterr().out
    assert main(["tune", "fake", "strong.litmus", "-o", "best.json"]) == 2
    assert main(["tune", "fakes", "strong.litmus"]) == 2
    assert main(["tune", "fake", "missing.litmus"]) == 2
