"""The command line as a user meets it: help, exit codes, bad input, interruption."""

from __future__ import annotations

import errno
import gc
import gzip
import io
import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import DATA

from gpudiy.cli import VERBS, discard_output, main
from gpudiy.errors import UnwritableOutput
from gpudiy.files import write_whole
from gpudiy.litmus import sources
from gpudiy.litmus.errors import LitmusError

FIGURES = DATA / "litmus" / "figures"
SB = FIGURES / "A.1-sb.litmus"
HEAVY = ("pyparsing", "rich", "numpy", "pandas", "jinja2", "hypothesis", "networkx")
FEW_MODULES = 140  # a bare Python with argparse imports about 100


def gpudiy(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gpudiy", *words], capture_output=True, text=True, timeout=120, **options
    )  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize("words", [["--help"], ["--version"], *([verb, "--help"] for verb in VERBS)])
def test_help_imports_little(words: list[str]) -> None:
    """What `--help` costs is what it imports."""
    code = f"""
import sys
from gpudiy.cli import main
try:
    main({words!r})
except SystemExit as stop:
    assert stop.code == 0, stop.code
print("modules:", *sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    modules = run.stdout.rsplit("modules:", 1)[1].split()
    assert not [module for module in modules if module.split(".")[0] in HEAVY]
    assert len(modules) < FEW_MODULES


def test_version_and_help() -> None:
    assert gpudiy("--version").stdout.startswith("gpudiy 0.")
    help = gpudiy("--help").stdout
    assert all(f"\n  {verb} " in help for verb in VERBS)


@pytest.mark.parametrize(
    "words", [[], ["lock"], ["campaign"], ["check"], ["check", "--nope", "x"], ["convert", "--to", "x", "y"]]
)
def test_bad_usage(words: list[str]) -> None:
    run = gpudiy(*words)
    assert run.returncode == 2
    assert "usage: gpudiy" in run.stderr and run.stdout == ""


def test_check_reports_every_bad_file(tmp_path: Path) -> None:
    for number in range(30):
        text = SB.read_text()
        (tmp_path / f"{number:02}.litmus").write_text(text.replace("r2=0", "r9=0") if number % 10 == 7 else text)
    (tmp_path / "empty.litmus").write_text("")
    (tmp_path / "binary.litmus").write_bytes(b"\0\1\2")
    (tmp_path / "notes.txt").write_text("not a test")
    run = gpudiy("check", str(tmp_path), str(tmp_path / "missing"))
    assert run.returncode == 2
    assert run.stdout == "27 tests in 32 files: 6 bad\n"
    errors = [line for line in run.stderr.splitlines() if ": error: " in line]
    assert [Path(line.split(":")[0]).name for line in errors] == [
        "missing", "07.litmus", "17.litmus", "27.litmus", "binary.litmus", "empty.litmus",
    ]  # fmt: skip
    assert f"{tmp_path / '07.litmus'}:21:1: error: the condition names r9" in run.stderr


def test_check_in_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.litmus"
    bad.write_text("GPU_PTX\n")
    assert main(["check", "--json", str(SB), str(bad)]) == 2
    good, fault = map(json.loads, capsys.readouterr().out.splitlines())
    assert good["valid"] and good["name"] == "SB" and len(good["content_hash"]) == 32
    assert fault == {"file": str(bad), "line": 1, "column": 8, "valid": False, "error": "the test has no name"}


def test_sources(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "a.litmus").write_text(SB.read_text())
    (tmp_path / "b.litmus").write_text(SB.read_text() * 3)
    (tmp_path / "@inner").write_text("deep\n")
    (tmp_path / "@all").write_text("# a comment\n\nb.litmus\n@@inner\n".replace("@@inner", "@inner"))
    for words, tests in (
        ([str(tmp_path)], 4),
        ([f"@{tmp_path / '@all'}"], 4),
        ([str(tmp_path / "@all")], 4),
        ([str(tmp_path / "b.litmus"), str(tmp_path / "deep")], 4),
    ):
        assert main(["check", *words]) == 0
        assert capsys.readouterr().out.startswith(f"{tests} tests in 2 files")


def test_a_list_that_names_itself_or_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "@loop").write_text("@loop\n")
    (tmp_path / "@gone").write_text("\nnowhere.litmus\n")
    (tmp_path / "nothing").mkdir()
    assert main(["check", str(tmp_path / "@loop"), str(tmp_path / "@gone"), str(tmp_path / "nothing")]) == 2
    errors = capsys.readouterr().err
    assert "this list names itself" in errors
    assert f"{tmp_path / '@gone'}:2:1: error: {tmp_path / 'nowhere.litmus'}: no such file" in errors
    assert "there is no .litmus file in this directory" in errors


def test_standard_input() -> None:
    run = gpudiy("check", "-", input=SB.read_text() + SB.read_text())
    assert run.stdout == "2 tests in 1 file: all valid\n"
    run = gpudiy("check", "-", input=SB.read_text() + SB.read_text().replace("ld.cg", "ld.zz"))
    assert run.returncode == 2
    assert run.stderr.startswith("<stdin>:36:4: error: unknown modifier .zz")


def test_an_unreadable_file_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    packed = tmp_path / "packed.litmus"
    packed.write_bytes(gzip.compress(SB.read_bytes()))
    assert main(["show", str(packed)]) == 2
    assert "this is binary" in capsys.readouterr().err


def test_convert_there_and_back(tmp_path: Path) -> None:
    assert main(["convert", "--to", "herd", str(FIGURES), "-o", str(tmp_path / "herd")]) == 0
    assert main(["convert", str(tmp_path / "herd"), "-o", str(tmp_path / "back")]) == 0
    assert (tmp_path / "back" / SB.name).read_text() == SB.read_text()
    assert sorted(path.name for path in (tmp_path / "back").iterdir()) == sorted(
        path.name for path in FIGURES.iterdir()
    )


def test_convert_writes_nothing_for_a_bad_test(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", "--to", "dat3m", str(SB), "-o", str(tmp_path / "out")]) == 2
    assert "cannot express the cache operator .cg" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert main(["convert", str(SB), "-o", str(blocked / "out")]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_show_in_colour_and_without(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert main(["show", "--color", "always", str(SB)]) == 0
    coloured = capsys.readouterr().out
    assert main(["show", "--color", "never", str(SB)]) == 0
    plain = capsys.readouterr().out
    assert "\x1b[" in coloured and "\x1b[" not in plain
    assert "└─ cta\n      └─ warp  P1" in plain


def test_a_reader_that_goes_away() -> None:
    command = f"{sys.executable} -m gpudiy show {FIGURES} {FIGURES} {FIGURES} | head -1"
    run = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert run.stderr == "" and run.stdout.strip() == "coherent-reads"


def family(folder: Path, count: int) -> None:
    text = SB.read_text()
    for number in range(count):
        (folder / f"{number}.litmus").write_text(text.replace("GPU_PTX SB", f"GPU_PTX SB{number}"))


def test_progress_on_a_terminal_and_elsewhere(tmp_path: Path) -> None:
    family(tmp_path, 6000)
    run = gpudiy("check", str(tmp_path))
    assert run.stdout == "6,000 tests in 6,000 files: all valid\n"
    assert run.stderr == "" or "of 6,000 files checked" in run.stderr
    assert gpudiy("check", "-q", str(tmp_path)).stderr == ""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "gpudiy", "check", str(tmp_path)], stderr=theirs, stdout=-3
    ) as process:
        shown = b""
        while process.poll() is None and b"6,000 of 6,000" not in shown:
            shown += os.read(ours, 4096)
    os.close(ours)
    os.close(theirs)
    assert "█".encode() in shown and b"of 6,000 files checked" in shown


def test_interruption_leaves_whole_files(tmp_path: Path) -> None:
    source, target = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    family(source, 4000)
    command = [sys.executable, "-m", "gpudiy", "convert", "--to", "herd", str(source), "-o", str(target)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        for _ in range(2000):
            if target.exists() and len(list(target.iterdir())) > 20:
                break
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and errors.endswith("gpudiy: interrupted\n") and "Traceback" not in errors
    written = list(target.iterdir())
    assert 0 < len(written) < 4000
    assert all(file.suffix == ".litmus" and file.read_text().endswith("(0:r2=0 /\\ 1:r2=0)\n") for file in written)


def test_check_reports_every_test_of_a_file(tmp_path: Path) -> None:
    bad = SB.read_text().replace("ld.cg", "ld.zz")
    (tmp_path / "many.litmus").write_text(bad + SB.read_text() + bad + SB.read_text())
    run = gpudiy("check", str(tmp_path))
    assert run.stdout == "2 tests in 1 file: 2 bad\n"
    assert run.stderr.count(": error: ") == 2


@pytest.mark.parametrize("verb", ["show", "check", "convert"])
def test_outputs_that_fail(verb: str) -> None:
    with Path("/dev/full").open("w") as full:
        run = subprocess.run(
            [sys.executable, "-m", "gpudiy", verb, str(SB)], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60
        )
    assert run.returncode == 3 and run.stderr == "gpudiy: error: output: No space left on device\n"
    command = f"{sys.executable} -m gpudiy {verb} {SB}"
    for closed, code in ((">&-", 0), ("2>&-", 0), ("- <&-", 2)):
        run = subprocess.run(["bash", "-c", f"{command} {closed}"], capture_output=True, text=True, timeout=60)
        assert run.returncode == code and "Traceback" not in run.stderr
    run = gpudiy(verb, str(SB), env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert run.returncode == 0 and run.stderr == ""


@pytest.mark.parametrize("verb", ["show", "convert"])
def test_a_reader_that_goes_away_is_no_error(verb: str) -> None:
    command = f"{sys.executable} -m gpudiy {verb} {' '.join([str(FIGURES)] * 200)} | head -1; exit ${{PIPESTATUS[0]}}"
    run = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0 and run.stderr == ""


def test_paths_that_name_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "folder.litmus").mkdir()
    (tmp_path / "folder.litmus" / "a.litmus").write_text(SB.read_text())
    assert main(["check", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "1 test in 1 file: all valid\n"
    assert main(["check", "x" * 300, "", "a\0b"]) == 2
    errors = capsys.readouterr().err
    assert "File name too long" in errors and "an empty path" in errors and "no such file" in errors


def test_standard_input_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpudiy.litmus.sources.LARGEST_FILE", 10)
    with pytest.raises(LitmusError, match="larger than 10 bytes"):
        sources._read_limited(io.BytesIO(b"x" * 11), "<stdin>")


def test_convert_keeps_its_sources(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "a.litmus"
    source.write_text(SB.read_text())
    assert main(["convert", "--to", "herd", str(source), "-o", str(tmp_path)]) == 2
    assert "would overwrite" in capsys.readouterr().err
    assert source.read_text() == SB.read_text()


def test_a_full_disk_is_reported_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", fail)
    with pytest.raises(UnwritableOutput, match=r"a\.litmus: error: cannot be written: No space left on device"):
        write_whole(tmp_path / "a.litmus", "text")
    assert list(tmp_path.iterdir()) == []


def test_discarded_output_keeps_no_file_open(monkeypatch: pytest.MonkeyPatch, capsys: object) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    discard_output()
    print("nobody reads this")
    monkeypatch.undo()
    gc.collect()  # a stream left open would give a warning, and here a warning is an error
    with Path(os.devnull).open("w") as output:
        monkeypatch.setattr(sys, "stdout", output)
        discard_output()
        monkeypatch.undo()
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_an_interrupted_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "a.litmus", "text")
    assert list(tmp_path.iterdir()) == []
