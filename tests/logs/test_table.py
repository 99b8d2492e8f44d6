"""Tables: what is counted, what is not, and that every format says the same."""

from __future__ import annotations

import csv
import io
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudiy.cli import main
from gpudiy.cli.log2tbl import main as log2tbl
from gpudiy.litmus import read_test
from gpudiy.logs import Columns, Record, write_log
from gpudiy.logs.record import Ending, Liveness
from gpudiy.logs.tables.between import between, between_of_name
from gpudiy.logs.tables.heat import STEPS, colour, step_of
from gpudiy.logs.tables.kinds import flat_table
from gpudiy.logs.tables.printing import csv_text, html_text, latex_text, markdown_text
from gpudiy.logs.tables.table import Table, per_100k
from gpudiy.logs.tables.tally import observe
from gpudiy.shipped import find_shipped

THESIS = str(find_shipped("logs") / "thesis.jsonl")
NASTY = r'<script>alert(1)</script> & 50% of $x_1^2 #{"\|*~…'


def run(test: str = "SB", chip: str = "A", count: int = 0, of: int = 1000, **rest: object) -> Record:
    record = Record(test=test, chip=chip, iterations=of, positive=count, negative=of - count)
    return replace(record, **rest)  # type: ignore[arg-type]


def table_of(*records: Record) -> Table:
    found = observe(records)
    return flat_table(found, list(found.tests), list(found.chips))


def cells(table: Table) -> list[list[str]]:
    return [[cell.text for cell in row.cells] for row in table.rows]


@given(st.integers(1, 10**7), st.integers(0, 10**12))
def test_a_rate_is_near_and_never_zero_for_what_was_seen(iterations: int, number: int) -> None:
    sightings = number % (iterations + 1)
    text = per_100k(sightings, iterations)
    exact = sightings * 100_000 / iterations
    assert abs(float(text) - exact) <= 0.06 * exact
    assert (float(text) == 0) == (sightings == 0)


def test_only_evidence_is_counted() -> None:
    broken = [
        run(chip="timeout", ending=Ending.TIMEOUT, reason="no answer"),
        run(chip="optimised", count=7, optcheck="optimised"),
        run(chip="asleep", liveness=Liveness()),
        run(chip="unable", ending=Ending.NOT_RUNNABLE),
        run(chip="sound", optcheck="unchanged"),
    ]
    table = table_of(*broken)
    assert cells(table) == [["failed", "failed", "no evidence", "n/a", "0"]]
    assert any(note.startswith("no evidence:") for note in table.notes)
    assert not any(cell.weak for row in table.rows for cell in row.cells)


def test_records_of_one_test_and_chip_are_summed_or_the_best_is_taken() -> None:
    records = [run(count=10), run(count=30, of=2000), run(count=0, of=500), run(count=99, optcheck="optimised")]
    assert cells(table_of(*records)) == [["1143"]]  # 40 of 3500
    best = observe(records, best=True)
    assert best.tallies["SB", "A"].sightings == 30 and best.tallies["SB", "A"].records == 4


def test_tests_are_the_same_by_hash_and_else_by_name() -> None:
    one, other = run(hash="a" * 32, tool="gpudiy"), run(hash="b" * 32, tool="gpudiy")
    found = observe([one, replace(one, test="again"), other, run("MP"), replace(run("MP"), hash="c" * 32)])
    assert list(found.tests) == ["SB#aaaaaa", "SB#bbbbbb", "MP"] and len(found.clashes) == 1
    assert found.tallies["SB#aaaaaa", "A"].iterations == found.tallies["MP", "A"].iterations == 2000


def test_simulated_chips_say_so() -> None:
    assert table_of(run(chip="kepler", simulated=True)).columns == ("kepler (simulated)",)


def test_forall_counts_what_breaks_it() -> None:
    assert cells(table_of(run(count=990, condition="forall (x=1)"))) == [["1000"]]


def test_words_of_generated_tests_are_those_of_their_names(capsys: pytest.CaptureFixture[str]) -> None:
    """The instructions say what the name says, for every test of a family with two long threads."""
    assert main(["generate", "--family", "dependencies", "-q"]) == 0
    texts = re.split(r"(?=^GPU_PTX )", capsys.readouterr().out, flags=re.MULTILINE)[1:]
    checked = 0
    for test in map(read_test, texts):
        if len(test.threads) == 2 and all(len(thread) > 2 for thread in test.threads):
            told, named = between(test), between_of_name(test.name)
            assert told is not None and named is not None
            assert sorted(told.words) == sorted(named.words), test.name
            checked += 1
    assert checked > 50


def test_grids_put_fences_against_dependencies(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(find_shipped("logs") / "sorensen-2014.jsonl")
    words = ["table", path, "--kind", "grid", "--chips", "GTX Titan", "--tests", "MP,MP+*", "--format", "csv"]
    assert main(words) == 0
    blocks = capsys.readouterr().out.split("\n\n")
    grid = list(csv.reader(io.StringIO(next(block for block in blocks if block.startswith("MP\n")))))
    assert grid[1] == ["between", *(f"GTX Titan: {word}" for word in ("po", "addr", "membar.cta", "membar.gl"))]
    assert grid[2:] == [
        ["po", "3380", "", "", ""], ["membar.cta", "", "", "595", ""], ["membar.gl", "", "0", "19", "0"],
    ]  # fmt: skip


class Cells(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.inside = False

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag in ("td", "th"):
            self.found.append("")
        self.inside = tag in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self.inside and self.found:
            self.found[-1] += data.strip("\n")


def test_every_format_says_the_same_and_names_stay_harmless() -> None:
    table = table_of(run(NASTY, "A & B", 5), run("SB", "A & B", 0), run("SB", "C", 1, of=3))
    page = Cells()
    page.feed(html_text([table]))
    assert page.found == ["test", "A & B", "C", NASTY, "500", "", "SB", "0", "33333"]
    assert html_text([table]).count("<script>") == 1  # the page's own
    read = list(csv.reader(io.StringIO(csv_text([table]))))
    assert read == [["test", "A & B", "C"], [NASTY, "500", ""], ["SB", "0", "33333"]]
    lines = markdown_text([table]).splitlines()
    assert lines[3] == "| SB | 0 | **33333** |"
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines[:4]}) == 1
    tex = latex_text([table])
    assert all(len(re.findall(r"(?<!\\)&", line)) == 2 for line in tex.splitlines() if line.endswith(r" \\"))
    assert "\n{}[x] & " in latex_text([table_of(run("[x]"))])
    assert r"\textbf{33333}" in tex and "\\textless{}script" in tex


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_compiles(tmp_path: Path) -> None:
    many = [run(f"test_{n} {NASTY}", "A & B", n) for n in range(100)]
    grids = tmp_path / "grids.tex"
    assert (
        main(
            [
                "table",
                str(find_shipped("logs") / "sorensen-2014.jsonl"),
                "--kind",
                "grid",
                "-o",
                str(grids),
                "--document",
            ]
        )
        == 0
    )
    (tmp_path / "flat.tex").write_text(latex_text([table_of(*many)], document=True))
    for name in ("grids", "flat"):
        subprocess.run(
            ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", name],
            cwd=tmp_path,
            check=True,
            capture_output=True,
        )
        assert (tmp_path / f"{name}.pdf").stat().st_size > 1000


def test_the_heat_scale_is_read_by_its_lightness() -> None:
    """Each step is darker than the one before, and its ink has contrast."""

    def luminance(text: str) -> float:
        channels = [int(text[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for dark in (False, True):
        shades = [colour(step, dark) for step in range(1, STEPS + 1)]
        lightness = [luminance(background) for background, _ in shades]
        assert lightness == sorted(lightness, reverse=not dark) and len(set(lightness)) == STEPS
        for background, ink in shades:
            high, low = sorted((luminance(background), luminance(ink)), reverse=True)
            assert (high + 0.05) / (low + 0.05) >= 4.5
    assert step_of(0) == 0 and step_of(1e-9) == 1 and step_of(1) == STEPS


def test_log2tbl_takes_single_and_double_dashes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers = []
    for words in (["-csv", THESIS], ["flat", "--csv", THESIS], ["-csv", "-per100k", "-sort", "name", THESIS]):
        assert log2tbl(words) == 0
        answers.append(capsys.readouterr().out)
    assert len(set(answers)) == 1 and "spinlock-future-value,0,40,0,478,0" in answers[0]
    assert log2tbl(["two-level", "-latex", "-o", str(tmp_path / "t.tex"), THESIS]) == 0
    assert r"\toprule" in (tmp_path / "t.tex").read_text()
    with pytest.raises(SystemExit) as stop:
        log2tbl(["-h"])
    assert stop.value.code == 0 and "-latex" in capsys.readouterr().out


def test_choosing_and_sorting(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["table", THESIS, "--format", "csv"]
    assert main([*words, "--tests", "*lock*", "--chips", "gtx 750,GTX Titan", "--sort", "rate"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "test,GTX 750,GTX Titan", "spinlock-future-value,0,478", "counter-lock-stale-value,0,22",
    ]  # fmt: skip
    assert main([*words, "--weak-only", "--chips", "Tesla C2075", "--reverse"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["spinlock-future-value,40", "coherent-reads,8879"]


def test_bad_input_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty.log"
    empty.write_text("")
    for words, message in (
        ([THESIS, "--chips", "GTX Titen"], "did you mean 'GTX Titan'?"),
        ([THESIS, "--tests", "mp-casx"], "did you mean 'mp-cas'?"),
        ([str(tmp_path / "nothing.log")], "no such file"),
        ([str(empty)], "empty"),
        ([str(tmp_path)], "empty"),
        ([THESIS, "-o", "table.xls"], "suffixes:"),
        ([THESIS, "--kind", "incantations"], "no record here says how all four switches"),
    ):
        assert main(["table", *words]) == 2, words
        assert message in capsys.readouterr().err
    blocked = tmp_path / "file"
    blocked.write_text("")
    words = [sys.executable, "-m", "gpudiy", "table", THESIS, "-o", str(blocked / "table.html")]
    stopped = subprocess.run(words, capture_output=True, text=True)
    assert stopped.returncode == 2 and "error: " in stopped.stderr and "Traceback" not in stopped.stderr


def test_output_appears_whole(tmp_path: Path) -> None:
    write_log(Columns.of([run(NASTY, count=1)]), str(tmp_path / "a.jsonl"))
    for suffix in ("html", "tex", "md", "csv", "txt"):
        assert main(["table", str(tmp_path / "a.jsonl"), "-o", str(tmp_path / "out" / f"t.{suffix}")]) == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["t.csv", "t.html", "t.md", "t.tex", "t.txt"]
