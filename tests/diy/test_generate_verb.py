"""`gpudiy generate` and `gpu-diy`, as a user meets them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpudiy.cli import main
from gpudiy.cli.gpu_diy import main as gpu_diy
from gpudiy.diy.families import FAMILIES
from gpudiy.litmus.content import content_hash
from gpudiy.litmus.reader import read_test, read_tests

EDGES = "Pod** MembarGld** Rfe Fre Coe"


def test_the_example_of_the_thesis(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert gpu_diy(["-gpu-safe", "Po-d-Wgl2-Rgl2 Fr-c-gl2l2"]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["3.SB.litmus", "@all", "SB.litmus", "index.jsonl"]
    assert (tmp_path / "@all").read_text() == "SB.litmus\n3.SB.litmus\n"
    assert main(["check", "./@all"]) == 0
    assert "2 tests in 2 files: all valid" in capsys.readouterr().out


def test_a_directory_has_its_indexes(tmp_path: Path) -> None:
    assert main(["generate", "--safe", EDGES, "-o", str(tmp_path / "deep" / "tests"), "-q"]) == 0
    rows = [json.loads(line) for line in (tmp_path / "deep/tests/index.jsonl").read_text().splitlines()]
    listed = (tmp_path / "deep/tests/@all").read_text().split()
    assert listed == [f"{row['name']}.litmus" for row in rows]
    assert len(rows) == 131
    for row in rows:
        test = read_test((tmp_path / "deep/tests" / f"{row['name']}.litmus").read_text())
        assert row["content_hash"] == content_hash(test)
        assert row["cycle"] == " ".join(row["edges"]) == test.cycle
        assert row["scope_tree"].startswith("(device (kernel (cta")
        assert set(row) == {"name", "cycle", "edges", "scope_tree", "memory_map", "content_hash"}


def test_a_stream_can_have_an_index(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", "--safe", EDGES, "--edges", "4", "--index", str(tmp_path / "index.jsonl")]) == 0
    tests = list(read_tests(capsys.readouterr().out))
    rows = [json.loads(line) for line in (tmp_path / "index.jsonl").read_text().splitlines()]
    assert [row["content_hash"] for row in rows] == [content_hash(test) for test in tests]
    assert [path.name for path in tmp_path.iterdir()] == ["index.jsonl"]


def test_a_stream_holds_the_same_tests(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", "--safe", EDGES, "--edges", "4", "-o", "-"]) == 0
    tests = list(read_tests(capsys.readouterr().out))
    assert main(["generate", "--safe", EDGES, "--edges", "4", "--count"]) == 0
    assert capsys.readouterr().out == f"{len(tests)}\n"


@pytest.mark.parametrize(
    ("options", "count"),
    [
        (["--safe", EDGES, "--edges", "8", "--threads", "4"], 611),
        (["--safe", "Pod** MembarGld** MembarCtad** Rfe Fre Coe", "--edges", "10", "--threads", "5"], 19_035),
        (["--safe", "Po-d-Wgl2-Rgl2, Fr-c-gl2l2"], 2),
        (["--safe", "Po-d-Wgl2-Rgl2, Fr-c-gl2l2", "--edges", "8"], 12),
        (["--safe", "Po-d-Wgl2-Rgl2, Fr-c-gl2l2", "--edges", "8", "--trees", "one"], 3),
        (["--safe", "Po-d-Wgl2-Rgl2, Fr-c-gl2l2", "--edges", "8", "--levels", "wc"], 5),
        (["--safe", EDGES, "--locations", "2", "--threads", "2"], 21),
        (["--safe", "Pod** Rfe Fre Coe", "--relaxed", "MembarGld**", "--edges", "4", "--threads", "2"], 15),
        (["--safe", EDGES, "--exclude", "Coe Mgl-*-*-*", "--edges", "4"], 3),
        (["--safe", EDGES, "--conform", "PodWW Rfe ... Fre", "--edges", "4"], 2),
        (["--safe", EDGES, "--conform", "PodWR Fre PodWR Fre"], 1),
        (["--family", "coherence", "--edges", "2"], 6),
        (["--cycle", "Rfe PodRR Fre PodWW"], 1),
    ],
)
def test_counts(options: list[str], count: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", *options, "--count"]) == 0
    assert capsys.readouterr().out == f"{count}\n"


def test_one_cycle(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", "--cycle", "Rfe PodRR Fre PodWW"]) == 0
    assert read_test(capsys.readouterr().out).name == "MP"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--safe", "Rfe Pod-x"], "--safe:1:5: error: unknown edge 'Pod-x'\n  Rfe Pod-x\n      ^\n  did you mean"),
        (["--relaxed", "Rfee"], "--relaxed:1:1: error: unknown edge 'Rfee'"),
        (["--safe", "Rfe", "--exclude", "Nope"], "--exclude:1:1: error: unknown edge 'Nope'"),
        (["--safe", "Rfe", "--conform", "Rfe .. Fre"], "--conform:1:5: error: unknown edge '..'"),
        (["--cycle", "Rfe PodRR Rfe Fre"], "--cycle:1:11: error: Rf-c-gl2l2 cannot follow Po-d-Rgl2-Rgl2"),
        (["--cycle", "Rfe PodRR Fre"], "--cycle:1:1: error: this is not a cycle: one edge changes the location"),
        (["--cycle", "Pod** Rfe"], "--cycle:1:1: error: 'Pod**' means 4 edges; a cycle needs one edge here"),
        (["--cycle", "Rfe"], "--cycle:1:1: error: a cycle has at least two edges"),
        (["--cycle", "PodWR Fr-c PodWR Fr-w"], "no scope tree separates the threads like this"),
        ([], "give one of --safe (with or without --relaxed), --cycle and --family"),
        (["--safe", "Rfe", "--family", "classic"], "give one of --safe"),
        (["--safe", " , "], "no edges: name at least one safe or relaxed edge"),
        (["--safe", "Rfe", "--levels", "xy"], "--levels: expected letters of twlckd, not 'xy'"),
    ],
)
def test_bad_input(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", *options]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""


@pytest.mark.parametrize("options", [["--edges", "0"], ["--threads", "many"], ["--family", "clasic"]])
def test_bad_options(options: list[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["generate", "--safe", "Rfe", *options])
    assert left.value.code == 2


def test_no_cycle_is_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", "--safe", "PodWW Rfe"]) == 1
    assert "no cycle" in capsys.readouterr().err


def test_a_directory_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["generate", "--family", "classic", "-o", str(tmp_path / "file")]) == 2
    assert "error: cannot be written" in capsys.readouterr().err


def test_an_interrupted_run_leaves_whole_files_and_no_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = 0
    rename = os.rename

    def interrupted(*arguments: object, **options: object) -> None:
        nonlocal written
        written += 1
        if written == 5:
            raise KeyboardInterrupt
        rename(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "rename", interrupted)
    assert main(["generate", "--family", "classic", "-o", str(tmp_path)]) == 130
    files = sorted(tmp_path.iterdir())
    assert len(files) == 4
    assert all(file.suffix == ".litmus" and read_test(file.read_text()) for file in files)


def test_the_list_of_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert gpu_diy(["-gpu-list"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    names = line.split(",")
    assert {"Po-d-Wgl2-Rgl2", "Fr-c-gl2l2", "Rf-w-s.weak.weak"} <= set(names)


def test_gpu_diy_names_its_own_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert gpu_diy(["-gpu-safe", "Fr-c-gl2l3"]) == 2
    assert "-gpu-safe:1:1: error: unknown edge 'Fr-c-gl2l3'" in capsys.readouterr().err
    with pytest.raises(SystemExit) as left:
        gpu_diy([])
    assert left.value.code == 2


def test_gpu_diy_takes_the_limits_of_diy(tmp_path: Path) -> None:
    options = ["-gpu-safe", "Pod** Rfe Fre Coe", "-gpu-relax", "MembarGldWW", "-size", "4", "-nprocs", "2", "-q"]
    assert gpu_diy([*options, "-o", str(tmp_path)]) == 0
    assert sorted((tmp_path / "@all").read_text().split()) == [
        "2+2W+membar.gl+po.litmus",
        "2+2W+membar.gls.litmus",
        "MP+membar.gl+po.litmus",
        "R+membar.gl+po.litmus",
        "S+membar.gl+po.litmus",
    ]


def test_the_table_of_edges(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", "--list"]) == 0
    out = capsys.readouterr().out
    assert "Po-d-W-R " in out and "PodWR" in out and "a write, then a read, different locations, nothing between" in out
    assert all(family.meaning in out for family in FAMILIES.values())


def test_help_is_quick_and_names_the_families() -> None:
    code = "import sys; from gpudiy.cli import main\ntry: main(['generate', '--help'])\nfinally: print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "gpudiy.diy" not in done.stdout.split()
    assert "pyparsing" not in done.stdout.split()
    assert all(name in done.stdout for name in FAMILIES)


def test_generating_reads_no_test() -> None:
    code = (
        "import sys; from gpudiy.cli import main; main(['generate', '--family', 'classic', '-q']); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pyparsing" not in done.stdout.splitlines()[-1].split()
