"""What all verbs have in common: help, near names, options of one name, outputs of one form, no tracebacks."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from argparse import ArgumentParser
from pathlib import Path

import pytest
from conftest import ROOT

from gpudiy import cli
from gpudiy.cli import SUBVERBS, VERBS, main, verb_parser
from gpudiy.cli.help_text import WIDEST
from gpudiy.errors import UnwritableOutput
from gpudiy.files import expect_writable, write_whole

EXAMPLES = ROOT / "docs" / "examples"
SB, THESIS = str(EXAMPLES / "sb.litmus"), str(ROOT / "logs" / "thesis.jsonl")
PIPELINE = (
    "show check convert generate model build export optcheck devices doctor run tune compare conform table report lock"
    " campaign completion"
)
COMMANDS = {**VERBS, **{" ".join(words): what for words, what in SUBVERBS.items()}}
PRINTING_TABLES = (
    "check", "model", "model list", "model diff", "model minimal", "optcheck", "devices", "doctor", "run", "tune",
    "compare", "conform", "table", "lock list", "lock check", "lock fix", "campaign plan", "campaign status",
)  # fmt: skip
LONG_WORK = (
    "check", "convert", "generate", "model", "model diff", "build", "run", "tune", "conform", "report", "lock tests",
    "lock check", "lock fix", "campaign run", "campaign resume",
)  # fmt: skip


def parser_of(command: str) -> ArgumentParser:
    return verb_parser(command, COMMANDS[command])


def options_of(command: str) -> set[str]:
    return {option for action in parser_of(command)._actions for option in action.option_strings}


def test_verbs_follow_the_pipeline() -> None:
    assert list(VERBS) == PIPELINE.split()


@pytest.mark.parametrize("columns", [80, 250])
@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_and_has_an_example(command: str, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    help = parser_of(command).format_help()
    assert max(map(len, help.splitlines())) <= min(columns, WIDEST)
    examples = help.partition("\nexample")[2].splitlines()
    assert any(f"gpudiy {command.partition(' ')[0]}" in line for line in examples)


def test_lists_in_help_go_on_below_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = parser_of("table").format_help().splitlines()
    place = next(number for number, line in enumerate(lines) if line.startswith("  grid  "))
    assert lines[place + 1].startswith(" " * 16) and lines[place + 2].startswith("  incantations  ")


@pytest.mark.parametrize("command", PRINTING_TABLES)
def test_tables_come_as_json(command: str) -> None:
    assert "--json" in options_of(command)


@pytest.mark.parametrize("command", LONG_WORK)
def test_long_work_can_be_quiet(command: str) -> None:
    assert {"-q", "--quiet"} <= options_of(command)


@pytest.mark.parametrize("command", COMMANDS)
def test_options_have_one_name(command: str) -> None:
    options = options_of(command)
    for short, long in (("-o", "--output"), ("-j", "--jobs"), ("-q", "--quiet"), ("-s", "--iterations")):
        assert (short in options) == (long in options)


@pytest.mark.parametrize(
    ("words", "near"), [("shwo x", "show"), ("lock chek x", "check"), ("campaign rnu x", "run"), ("tabel x", "table")]
)
def test_misspelt_verbs(words: str, near: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words.split()) == 2
    assert f"did you mean {near!r}?" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["table", THESIS, "--json"],
        ["table", str(ROOT / "logs"), "--kind", "grid", "--json"],
        ["model", "minimal", SB, "--json"],
        ["model", "diff", "sc", "tso", "--most", "1", "--json", "-q"],
        ["tune", "sim:kepler", SB, "-s", "500", "--candidates", "2", "--json", "-q"],
    ],
)
def test_json_lines(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) in (0, 1)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines and all(isinstance(line, dict) for line in lines)


def test_cells_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table", THESIS, "--tests", "mp-cas", "--json"]) == 0
    cells = json.loads(capsys.readouterr().out)["cells"]
    assert cells["GTX Titan"] == {"text": "11", "number": 11.0, "verdict": "observed", "counts": "11 of 100,000"}
    assert cells["GTX 750"]["verdict"] == "not observed"


def test_a_fault_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def broken(words: list[str]) -> int:
        raise ValueError("no\nsuch thing")

    monkeypatch.delenv(cli.TRACEBACK, raising=False)
    monkeypatch.setattr(cli, "_run", broken)
    assert main(["show"]) == 3
    assert "bug in gpudiy: ValueError: no such thing\n" in capsys.readouterr().err
    monkeypatch.setenv(cli.TRACEBACK, "1")
    with pytest.raises(ValueError, match="such thing"):
        main(["show"])


@pytest.mark.parametrize("verb", [["table"], ["report", "--models", "none", "-o", "r.html"], ["compare"]])
def test_a_test_is_no_log(
    verb: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*verb, SB]) == 2
    assert "sb.litmus: error: this is a test, not a log" in capsys.readouterr().err


def test_a_text_is_no_binary(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["optcheck", SB]) == 2
    assert "this is not a binary" in capsys.readouterr().err


def test_models_that_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "folder.cat").mkdir()
    (tmp_path / "binary.cat").write_bytes(b"\xff\xfe\x00")
    assert main(["model", SB, "--models", str(tmp_path / "folder.cat")]) == 2
    assert main(["model", SB, "--models", str(tmp_path / "binary.cat")]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first.endswith("cannot be read: Is a directory") and second.endswith("this is not text in UTF-8")


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    file, folder = tmp_path / "file", tmp_path / "folder"
    file.touch()
    folder.mkdir()
    for place, is_folder in ((folder, False), (file, True), (file / "x", False), (file / "x" / "y", True)):
        with pytest.raises(UnwritableOutput, match="cannot be written"):
            expect_writable(place, is_folder)
    for place, is_folder in ((file, False), (folder, True), (folder / "new" / "x", False), (folder / "new", True)):
        expect_writable(place, is_folder)
    for place, reason in ((folder, "this is a directory"), (file / "x" / "y", f"{file} is not a directory")):
        with pytest.raises(UnwritableOutput, match=f"{place}: error: cannot be written: {reason}"):
            write_whole(place, "text")
    assert {*tmp_path.iterdir()} == {file, folder}


@pytest.mark.parametrize(
    "words",
    [
        ["table", THESIS, "-o", "folder.html"],
        ["report", THESIS, "-o", "folder.html"],
        ["report", THESIS, "-o", "r.html", "--plots", "file"],
        ["tune", "sim:kepler", SB, "-o", "folder.toml"],
        ["campaign", "init", "folder.toml", "--force"],
        ["build", SB, "--emit", "source", "-o", "file"],
        ["model", "diff", "sc", "tso", "-o", "file"],
    ],
)
def test_no_work_for_a_place_that_cannot_be_written(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for suffix in ("html", "toml"):
        Path(f"folder.{suffix}").mkdir()
    Path("file").touch()
    assert main(words) == 2
    printed = capsys.readouterr()
    assert "cannot be written" in printed.err and printed.out == ""


def test_a_run_without_a_reader_goes_on_writing_its_log(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    tests = [str(EXAMPLES / name) for name in ("sb.litmus", "mp-cas.litmus", "sb.litmus")]
    command = [sys.executable, "-m", "gpudiy", "run", *tests, "--device", "sim:kepler", "-s", "100", "-o", str(log)]
    reader, writer = os.pipe()
    os.close(reader)
    run = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(writer)
    assert run.returncode == 0 and "Traceback" not in run.stderr and len(log.read_text().splitlines()) == 3


def test_one_run_at_a_time_writes_a_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log.jsonl"
    words = ["run", SB, "--device", "sim:kepler", "-s", "100", "-q", "-o", str(log)]
    log.write_text("precious\n")
    with log.open("a") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert main(words) == 2
    assert "another gpudiy is writing this log" in capsys.readouterr().err and log.read_text() == "precious\n"
    assert main([*words, "--device", "cuda:x"]) == 2  # nothing was run: what stood there stays
    assert log.read_text() == "precious\n"
    assert main(words) == 0
    assert json.loads(log.read_text())["test"] == "SB"


@pytest.mark.parametrize(("name", "meant"), [("kepler", "sim:kepler"), ("opencll", "opencl")])
def test_devices_without_their_kind(name: str, meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", SB, "--device", name]) == 2
    assert f"did you mean {meant!r}?" in capsys.readouterr().err


def test_more_is_told_when_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sb = str(ROOT / "docs/examples/sb.litmus")
    assert main(["run", sb, "-d", "sim:kepler", "-s", "2000", "--seed", "1", "-v"]) == 0
    told = capsys.readouterr().out
    assert "*> 0:r2=0; 1:r2=0;" in told and "meetings" in told
    plan = tmp_path / "plan.toml"
    tests, run = f'[tests]\npaths = ["{sb}"]\n', '[run]\ndevices = ["sim:sc"]\niterations = 100\n'
    plan.write_text(f"report = false\n{tests}[models]\nnames = []\n{run}")
    assert main(["campaign", "run", str(plan), "-v"]) == 0
    assert "round 1: sim:sc: SB: not observed" in capsys.readouterr().err
