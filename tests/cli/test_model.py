"""`gpudiy model` as a user meets it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import DATA, ROOT

from gpudiy.cli import main

EXAMPLES = ROOT / "docs" / "examples"
SB = str(EXAMPLES / "sb.litmus")
MP = str(EXAMPLES / "mp-acquire.litmus")


def test_table_and_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model", SB, MP, "--models", "sc,tso", "-j", "2"]) == 0
    assert capsys.readouterr().out.splitlines()[1:3] == [
        "SB                      forbidden    allowed",
        "MP-acquire              forbidden    forbidden",
    ]


def test_json_and_csv(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model", SB, "-m", "sc,tso", "--json"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(r["model"], r["verdict"], r["holds"]) for r in records] == [
        ("sc", "forbidden", False),
        ("tso", "allowed", True),
    ]
    assert main(["model", SB, "-m", "sc,tso", "--csv"]) == 0
    assert capsys.readouterr().out == "test,sc,tso\nSB,forbidden,allowed\n"
    assert main(["model", SB, "-m", "sc", "--json", "--all-outcomes"]) == 0
    assert len(json.loads(capsys.readouterr().out)["outcomes"]) == 3


def test_expectations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    right, wrong, columns, other = (tmp_path / name for name in ("right.csv", "wrong.csv", "columns.csv", "other.csv"))
    right.write_text("sb.litmus,0\nMP-acquire,forbidden\n")
    wrong.write_text("examples/sb.litmus,1\n")
    columns.write_text("test,sc,tso\nSB,forbidden,allowed\n")
    other.write_text("LB,1\n")
    assert main(["model", SB, MP, "-m", "sc", "--expect", str(right)]) == 0
    assert main(["model", SB, "-m", "sc,tso", "--expect", str(columns)]) == 0
    capsys.readouterr()
    assert main(["model", SB, "-m", "sc", "--expect", str(wrong)]) == 1
    assert "SB is forbidden by sc, expected 1" in capsys.readouterr().err
    assert main(["model", SB, "-m", "sc", "--expect", str(other)]) == 2
    columns.write_text("test,ptx-asplos15\nSB,allowed\n")
    assert main(["model", SB, MP, "-m", "ptx-asplos15", "--expect", str(columns)]) == 0  # MP has no meaning there
    columns.write_text("test,ptx-asplos15\nMP-acquire,allowed\n")
    assert main(["model", SB, MP, "-m", "ptx-asplos15", "--expect", str(columns)]) == 2
    other.write_text("LB,maybe\n")
    assert main(["model", SB, "-m", "sc", "--expect", str(other)]) == 2
    assert "other.csv:1:1: error: expected a test and 1, 0" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-m", "ptx-6"], "unknown model 'ptx-6'"),
        (["-m", ""], "no model is named"),
        (["-m", "nowhere.cat"], "nowhere.cat: error: cannot be read"),
        (["--witness", "picture.gif"], ".svg"),
        (["-m", "sc,tso", "--witness", "picture.svg"], "one test under one model"),
        (["--expect", "nowhere.csv"], "cannot be read"),
    ],
)
def test_bad_input(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model", SB, *words]) == 2
    assert message in capsys.readouterr().err


def test_a_model_of_ones_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.cat"
    file.write_text('"mine"\ninclude "sc.cat"\n')
    assert main(["model", SB, "-m", str(file)]) == 0
    assert "forbidden" in capsys.readouterr().out
    file.write_text('"mine"\nlet com = rf | cco | fr\nacyclic com as c\n')
    assert main(["model", SB, "-m", str(file)]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == f"{file}:2:16: error: unknown name 'cco'"
    assert lines[2].index("^") - 2 == 15


def test_what_is_not_supported_is_undecided(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["model", MP, "-m", "ptx-asplos15"]) == 2
    captured = capsys.readouterr()
    assert "gives no meaning to `st.release.gpu.s32 [y],1` of P0" in captured.err
    assert "undecided (not supported)" in captured.out
    file = tmp_path / "no-rmw.cat"
    file.write_text("acyclic po | rf | co | fr as sc\n")
    assert main(["model", str(EXAMPLES / "mp-cas.litmus"), "-m", str(file)]) == 2
    assert "gives no meaning to `atom.cas" in capsys.readouterr().err


def test_undecided_verdicts_in_every_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Their words and reasons are printed, what is printed as CSV can be expected, and so can the words of 0.2."""
    models = DATA / "models"
    cases = [
        (str(models / "MP-ca-membar.sys.litmus"), "ptx-asplos15", "not supported", "gives no meaning to `ld.ca", 2),
        (str(models / "bar-crossed.litmus"), "ptx-6.0", "no run ends", "no run ends", 3),
        (str(models / "bar-96-hardware-threads.litmus"), "sc", "no run ends", "no run ends", 3),
        (str(models / "MP-ca-membar.sys.litmus"), "ptx-6.0", "out of time", "no verdict after", 3),
    ]
    for file, model, why, reason, code in cases:
        ask = ["model", file, "-m", model, *(["--limit", "1e-9"] if why == "out of time" else [])]
        word = f"undecided ({why})"
        assert main(ask) == code
        shown = capsys.readouterr()
        assert shown.out.splitlines()[1].endswith(word) and reason in shown.err
        assert main([*ask, "--explain"]) == code
        shown = capsys.readouterr()
        assert word in shown.out and reason in shown.out and "forbid" not in shown.out
        assert main([*ask, "--json"]) == code
        record = json.loads(capsys.readouterr().out)
        assert record["verdict"] == word and reason in record["reason"] and "holds" not in record
        assert main([*ask, "--csv"]) == code
        table = tmp_path / "verdicts.csv"
        table.write_text(capsys.readouterr().out)
        assert table.read_text().endswith(f",{word}\n")
        assert main([*ask, "--expect", str(table)]) == 0
        earlier = {"not supported": "unsupported"}.get(why, "undecided")
        table.write_text(f"test,{model}\n{record['test']},{earlier}\n")
        assert main([*ask, "--expect", str(table)]) == 0
        table.write_text(f"test,{model}\n{record['test']},forbidden\n")
        assert main([*ask, "--expect", str(table)]) == code
        assert "0 as expected, 1 not" in capsys.readouterr().err
    assert main(["model", cases[1][0], "--all-outcomes"]) == 3
    assert "States 0\nUndecided (no run ends)\n" in capsys.readouterr().out


def test_time_limit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Twenty weak loads of three values in one thread, all outcomes: nobody waits for that."""
    rows = "".join(f"ld.cg r{number},[x] | st.cg [x],{number + 1} ;\n" for number in range(2))
    rows += "".join(f"ld.cg r{number},[x] | ;\n" for number in range(2, 20))
    condition = " /\\ ".join(f"0:r{number}=0" for number in range(20))
    file = tmp_path / "large.litmus"
    file.write_text(
        f"GPU_PTX large\n{{}}\nP0 | P1 ;\n{rows}(device (cta P0) (cta P1))\nx: global\nexists ({condition})\n"
    )
    for engine in ("search", "auto", "sat"):
        arguments = ["model", str(file), "-m", "ptx-6.0", "--limit", "0.2", "--all-outcomes", "--engine", engine]
        assert main(arguments) == 3
        captured = capsys.readouterr()
        assert "large is undecided (out of time) by ptx-6.0: no verdict after 0.2 s" in captured.err


def test_a_bound_on_loops_that_matters_leaves_the_test_undecided(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A loop of three passes: found by itself, and undecided, in every output, with a bound of two."""
    file = tmp_path / "loop.litmus"
    file.write_text(
        "GPU_PTX loop\nP0\nL:\nadd r0,r0,1\nsetp.lt p,r0,3\n@p bra L\nst.cg [x],r0\n(device P0)\nx: global\nx=3\n"
    )
    for bound in ([], ["--unroll", "3"]):
        assert main(["model", str(file), "-m", "sc", *bound]) == 0
        captured = capsys.readouterr()
        assert "allowed" in captured.out and "unroll" not in captured.err
    for output in ([], ["--json"], ["--csv"], ["--explain"], ["--all-outcomes", "--json"]):
        assert main(["model", str(file), "-m", "sc", "--unroll", "2", *output]) == 3
        captured = capsys.readouterr()
        assert "undecided (bounded)" in captured.out and "forbidden" not in captured.out
        assert "a loop may go round more than 2 times; --unroll looks further" in captured.err
        assert "whatever the model" not in captured.out
    assert main(["model", str(file), "-m", "sc", "--unroll", "2", "--all-outcomes"]) == 3
    assert "Bounded: loops go round at most 2 times" in capsys.readouterr().out
    assert main(["model", str(file), "-m", "sc", "--unroll", "2", "--witness", str(tmp_path / "loop.svg")]) == 3
    assert main(["model", "minimal", str(file), "-m", "sc", "--unroll", "2"]) == 3


def test_expectations_are_about_the_bound_that_is_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, expected = tmp_path / "loop.litmus", tmp_path / "expected.csv"
    file.write_text(
        "GPU_PTX loop\nP0\nL:\nadd r0,r0,1\nsetp.lt p,r0,3\n@p bra L\nst.cg [x],r0\n(device P0)\nx: global\nx=3\n"
    )
    for words, unroll, code in (
        ("0", ["--unroll", "2"], 0), ("forbidden", ["--unroll", "2"], 0), ("1", ["--unroll", "2"], 3),
        ("1", [], 0), ("forbidden", [], 1),
    ):  # fmt: skip
        expected.write_text(f"loop,{words}\n")
        assert main(["model", str(file), "-m", "sc", "--expect", str(expected), *unroll]) == code, words
    capsys.readouterr()


def test_limits_of_explanations_repairs_and_differences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They give up, too: nothing takes a millionth of a second."""
    limit = ["--limit", "0.000001"]
    assert main(["model", MP, "-m", "sc", "--explain", *limit]) == 3
    assert main(["model", MP, "-m", "sc", "--witness", str(tmp_path / "mp.svg"), *limit]) == 3
    assert main(["model", "minimal", MP, "-m", "ptx-6.0", *limit]) == 3
    assert "no answer after 1e-06 s" in capsys.readouterr().err
    assert main(["model", "diff", "sc", "tso", "--families", "coherence", "--edges", "3", "-q", *limit]) == 3
    assert "skipped: undecided by one of the models" in capsys.readouterr().err


def test_witness_of_both_verdicts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for model, word in (("sc", "forbidden"), ("tso", "allowed")):
        file = tmp_path / f"{model}.svg"
        assert main(["model", SB, "-m", model, "--witness", str(file)]) == 0
        assert f"SB is {word} by {model}" in capsys.readouterr().out
        assert file.read_text().startswith("<svg") and word in file.read_text()


def test_diff(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model", "diff", "sc", "tso", "--families", "classic", "--most", "1", "-o", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "allowed by tso, forbidden by sc" in out and "objects to" in out
    assert len(list(tmp_path.glob("*.svg"))) == 2 and len(list(tmp_path.glob("*.litmus"))) == 1
    assert main(["model", "diff", "sc", "sc", "--families", "classic", "--edges", "4"]) == 0
    assert main(["model", "diff", "sc", "tso", "--families", "klassik"]) == 2
    assert "did you mean 'classic'?" in capsys.readouterr().err


def test_minimal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model", "minimal", SB, "-m", "ptx-asplos15"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "SB: forbidden by ptx-asplos15 with",
        "    P0: membar.gl after st.cg.s32 [r1],r0",
        "    P1: membar.gl after st.cg.s32 [r1],r0",
    ]
    assert main(["model", "minimal", MP]) == 0
    assert capsys.readouterr().out == "MP-acquire: forbidden by ptx-6.0 as it is\n"


@pytest.mark.parametrize("words", [["model", "--help"], ["model", "diff", "--help"], ["model", "minimal", "--help"]])
def test_help(words: list[str]) -> None:
    run = subprocess.run([sys.executable, "-m", "gpudiy", *words], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0 and run.stdout.startswith(f"usage: gpudiy {' '.join(words[:-1])}")


def test_the_figures_under_the_model_of_their_time(capsys: pytest.CaptureFixture[str]) -> None:
    """All weak outcomes that the thesis observed are allowed."""
    assert main(["model", str(DATA / "litmus" / "figures"), "-m", "ptx-asplos15"]) == 0
    assert "6 tests; allowed: 6 by ptx-asplos15" in capsys.readouterr().out


def test_interruption_of_workers(tmp_path: Path) -> None:
    """One word, no traceback, and nobody goes on working."""
    text = Path(SB).read_text()
    for number in range(3000):
        (tmp_path / f"{number}.litmus").write_text(text)
    command = [sys.executable, "-m", "gpudiy", "model", str(tmp_path), "-j", "2"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and errors.splitlines()[-1] == "gpudiy: interrupted" and "Process" not in errors


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('include "mine.cat"\nacyclic po as a\n', "mine.cat:1:1: error: 'mine.cat' includes itself"),
        ("let f(x) = f(x)\nacyclic f(po) as a\n", "mine.cat:1:12: error: f calls itself; only let rec may"),
        (f"acyclic {'(' * 5000}po{')' * 5000} as a\n", "mine.cat:1:1: error: an expression of this model is nested"),
    ],
)
def test_models_that_go_round(text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.cat").write_text(text)
    assert main(["model", SB, "-m", str(tmp_path / "mine.cat")]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--unroll", "0"], ["--limit", "-1"], ["--limit", "nan"], ["-j", "x"]])
def test_numbers(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["model", SB, *words])
    assert stop.value.code == 2
    assert re.search("expected a .*number .*, not", capsys.readouterr().err)


def test_minimal_never_narrows_a_scope(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mp.litmus"
    file.write_text(
        "GPU_PTX MP\nP0                     : P1\nst.cg [x], 1           : ld.volatile r0, [y]\n"
        "st.relaxed.sys [y], 1  : ld.cg r1, [x]\n(device (cta P0) (cta P1))\nx: global, y: global\nr0=1 /\\ r1=0\n"
    )
    assert main(["model", "minimal", str(file)]) == 0
    assert "st.release.sys" in (out := capsys.readouterr().out) and "release.gpu" not in out


def test_many_fences_are_left_to_the_solver(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    count = 7
    rows = [
        " | ".join(f"P{n}" for n in range(count)),
        " | ".join(f"st.cg [v{n}],1" for n in range(count)),
        " | ".join(["fence.sc.gpu"] * count),
        " | ".join(f"ld.cg r0,[v{(n + 1) % count}]" for n in range(count)),
    ]
    tree = " ".join(f"(cta P{n})" for n in range(count))
    memory = ", ".join(f"v{n}: global" for n in range(count))
    asked = " /\\ ".join(f"{n}:r0=0" for n in range(count))
    file = tmp_path / "ring.litmus"
    file.write_text("GPU_PTX ring\n{}\n" + " ;\n".join(rows) + f" ;\n(device {tree})\n{memory}\nexists ({asked})\n")
    assert main(["model", str(file), "-m", "ptx-6.0"]) == 0
    assert "forbidden" in capsys.readouterr().out


RACES, PROGRESS = DATA / "races", DATA / "progress"


def test_races(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    racy, fine = str(RACES / "weak-weak.litmus"), str(RACES / "MP-guarded.litmus")
    assert main(["model", fine, "--races"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == ["MP-guarded", "race-free"]
    assert main(["model", racy, fine, "--races", "--csv", "-j", "2", "-m", "ptx-6.0,ptx-7.5"]) == 1
    assert capsys.readouterr().out.splitlines()[1:] == ["weak-weak,races,races", "MP-guarded,race-free,race-free"]
    assert main(["model", racy, "--races", "--json"]) == 1
    record = json.loads(capsys.readouterr().out)
    assert record["verdict"] == "races"
    assert record["races"] == [["P0, instruction 1: st.s32 [x],1", "P1, instruction 1: ld.s32 r0,[x]"]]
    assert main(["model", racy, "--races", "--explain"]) == 1
    assert "races with" in capsys.readouterr().out
    picture = tmp_path / "race.svg"
    assert main(["model", racy, "--races", "--witness", str(picture)]) == 1
    assert ">race<" in picture.read_text()
    capsys.readouterr()
    assert main(["model", str(RACES / "counted-loop.litmus"), "--races", "--unroll", "2"]) == 3
    told = capsys.readouterr()
    assert "undecided (bounded)" in told.out and "more than 2 times" in told.err
    assert main(["model", racy, "--races", "-m", "sc"]) == 2
    assert "does not say what a data race is" in capsys.readouterr().err
    assert main(["model", racy, "--races", "--all-outcomes"]) == 2


def test_progress(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wait, mutex = str(PROGRESS / "wait-for-lower.litmus"), str(PROGRESS / "mutex.litmus")
    assert main(["model", wait, mutex, "--progress", "lobe", "-m", "sc,ptx-6.0", "-j", "2"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == ["wait-for-lower", "terminates", "terminates"]
    assert main(["model", wait, "--progress", "obe", "--csv"]) == 1
    assert capsys.readouterr().out == "test,ptx-6.0\nwait-for-lower,may hang\n"
    assert main(["model", wait, "--progress", "obe", "--json"]) == 1
    record = json.loads(capsys.readouterr().out)
    assert (record["progress"], record["verdict"]) == ("obe", "may hang")
    assert record["repeated"] == ["P1: ld.relaxed.gpu.s32 r0,[x] reads 0"]
    assert main(["model", wait, "--progress", "obe", "--explain"]) == 1
    assert "P0 never takes a step, which obe does not promise" in capsys.readouterr().out
    assert main(["model", mutex, "--progress", "hsa", "--explain"]) == 1
    assert "P1 takes no more steps, which hsa does not promise" in capsys.readouterr().out
    for name, guarantee in (("mutex-in-one-warp", "lockstep"), ("handshake-weak", "fair")):
        picture = tmp_path / f"{name}.svg"
        arguments = ["model", str(PROGRESS / f"{name}.litmus"), "--progress", guarantee, "--witness", str(picture)]
        assert main(arguments) == 1 and "may hang" in picture.read_text()
    assert main(["model", wait, "--progress", "fair", "--witness", str(tmp_path / "none.svg")]) == 0
    capsys.readouterr()
    assert main(["model", str(PROGRESS / "counted-loop-two-locations.litmus"), "--progress", "fair"]) == 2
    assert "only sc can say" in capsys.readouterr().err
    broken = tmp_path / "broken.litmus"
    broken.write_text("GPU_PTX broken\n")
    assert main(["model", str(broken), "--progress", "fair"]) == 2
