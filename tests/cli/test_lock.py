"""`gpudiy lock` as a user meets it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gpudiy.cli import main
from gpudiy.harness.nvrtc import compilers
from gpudiy.litmus import load_tests
from gpudiy.pictures.picture import from_json

needs_compiler = pytest.mark.skipif(not compilers(), reason="NVRTC, the compiler of CUDA, is not there")
WRONG, RIGHT = "he-yu-spinlock-ptx", "he-yu-spinlock-ptx-fixed"


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lock", "list", "--json"]) == 0
    entries = {entry["name"]: entry for entry in map(json.loads, capsys.readouterr().out.splitlines())}
    assert (
        entries["he-yu-spinlock"]["mended"] == "he-yu-spinlock-fixed" and "PVLDB" in entries["he-yu-spinlock"]["source"]
    )
    assert main(["lock", "list", "--names"]) == 0
    assert capsys.readouterr().out.split() == sorted(entries)


def test_tests_are_written_and_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lock", "tests", WRONG, "-o", str(tmp_path)]) == 0
    files = sorted(tmp_path.glob("*.litmus"))
    assert all(test.name == file.stem for file in files for test in load_tests(str(file)))
    assert len(files) > 100
    assert main(["lock", "tests", WRONG, "--question", "broken-rmw"]) == 0
    assert "broken-rmw+3+mixed" in capsys.readouterr().out
    assert main(["lock", "tests", WRONG, "--question", "broken"]) == 2


def test_check_says_what_is_wrong_and_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lock", "check", WRONG, "-m", "ptx-asplos15", "--witness", str(tmp_path), "--format", "json"]) == 1
    out = capsys.readouterr().out
    assert "stale-value       allowed" in out and "mutual-exclusion  forbidden" in out
    assert "> P1  7 |     atom.cas r2, [lock], 0, 1" in out and "> P0 11 |     st.cg [lock], 0" in out
    pictures = sorted(tmp_path.iterdir())
    assert all(picture.name.endswith("+ptx-asplos15.json") for picture in pictures)
    assert [picture.stem.split("+")[1] for picture in pictures] == [
        "future-value", "leak-at-acquire", "leak-at-release", "lost-update", "stale-value",
    ]  # fmt: skip
    picture = from_json(pictures[0].read_text())
    assert any("line 7" in node.instruction for node in picture.nodes)


def test_check_of_a_right_lock(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lock", "check", RIGHT, "-m", "ptx-asplos15", "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {line["verdict"] for line in lines if "model" in line} == {"forbidden"}
    assert {line["placement"] for line in lines if "model" in line} == {"warp", "cta", "cluster", "ctas", "mixed"}


@needs_compiler
def test_no_meaning_is_not_fine(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lock", "check", "test-and-set", "-m", "ptx-asplos15"]) == 2
    assert "no answer by ptx-asplos15: the model ptx-asplos15 gives no meaning to" in capsys.readouterr().out
    assert main(["lock", "fix", "test-and-set", "-m", "ptx-asplos15"]) == 2


def test_many_locks_are_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lock", "check", WRONG, RIGHT, "-m", "ptx-asplos15", "-j", "2"]) == 1
    table, notes = capsys.readouterr().out.split("\n\n")
    assert [line.split() for line in table.splitlines()] == [
        ["lock", "ptx-asplos15"], [WRONG, "wrong"], [RIGHT, "right"],
    ]  # fmt: skip
    assert notes.splitlines() == [
        "note: assumed: 2 or 3 threads anywhere on one GPU (--placement states another)",
        "note: by ptx-asplos15, plain accesses of global memory count as .cg: no L1 cache holds this memory",
        "note: by ptx-asplos15, settings with shared memory are left out: the model does not cover it",
    ]


def test_fix(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lock", "fix", WRONG, "--most", "1"]) == 1
    out = capsys.readouterr().out
    assert "+    atom.acquire.gpu.cas.b32 r2, [lock], 0, 1\n" in out and "+    st.release.gpu.s32 [lock], 0\n" in out
    assert "checked again" in out
    assert main(["lock", "fix", RIGHT, "-m", "ptx-asplos15"]) == 0
    out = capsys.readouterr().out
    assert "nothing is wrong" in out and "note: by ptx-asplos15, plain accesses of global memory count as .cg" in out
    assert main(["lock", "fix", RIGHT, "-m", "ptx-asplos15,ptx-6.0", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {row["by"] for row in rows} == {"every model", "ptx-asplos15"} and any(
        ".cg" in row["assumption"] for row in rows
    )


@pytest.mark.parametrize(
    "words",
    [
        ["lock", "frob"],
        ["lock", "check", "he-yu-spinlok"],
        ["lock", "check", WRONG, "-m", "ptx-9"],
        ["lock", "check", WRONG, "-m", ","],
        ["lock", "check", WRONG, "-d", "toaster"],
        ["lock", "fix", "nowhere.lock"],
    ],
)
def test_bad_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert "error: " in capsys.readouterr().err


def test_wrong_locks_show_on_a_simulated_device_and_mended_ones_do_not(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["-m", "ptx-asplos15", "-d", "sim:kepler", "-s", "4000", "-q", "--json"]
    assert main(["lock", "check", WRONG, RIGHT, *words]) == 1
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    seen = {(line["lock"], line["question"]) for line in lines if line.get("seen")}
    assert {lock for lock, _ in seen} == {WRONG}
    assert {question for _, question in seen} >= {"stale-value", "future-value"}


def test_an_interrupt_ends_it_quietly() -> None:
    words = [sys.executable, "-m", "gpudiy", "lock", "check", WRONG, "-d", "sim:kepler", "-s", "1000000000"]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, env={**os.environ, "PYTHONUNBUFFERED": "1"}, text=True)
    with process:
        assert process.stderr is not None
        while "iterations" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 130 and "Traceback" not in err
