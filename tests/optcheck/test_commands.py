"""The commands: what they print, and their exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import DATA
from optcheck_kernels import kernel_source

from gpudiy.cli import main as gpudiy
from gpudiy.cli.optcheck import main as optcheck
from gpudiy.harness.nvrtc import compiler_for
from gpudiy.litmus import read_test
from optcheck import disassembler
from optcheck.binary import BinaryError, read_binary

FIGURE = DATA / "sass" / "figure-2.7.sass"
STORES = """GPU_PTX stores
{ }
 P0 | P1 ;
 st.cg.s32 [x],1 | ld.cg.s32 r0,[y] ;
 membar.gl | membar.gl ;
 st.cg.s32 [y],1 | ld.cg.s32 r1,[x] ;
scopeTree (device (kernel (cta (warp P0)) (cta (warp P1))))
x: global, y: global
exists (1:r0=1 /\\ 1:r1=0)
"""


@pytest.fixture(scope="module")
def cubin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cubins") / "tests.cubin"
    source = kernel_source(read_test(STORES), "kernel")
    path.write_bytes(compiler_for("sm_90").compile(source, "sm_90"))
    return path


def test_the_original_command(cubin: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert optcheck([str(cubin)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Specification clusters: 2"
    assert lines[2:] == ["Cluster 0: OK", "Cluster 1: OK", "!!SUCCESS!!"]


@pytest.mark.parametrize(
    ("name", "code"), [("", 0), ("-swapped", 2), ("-removed", 2), ("-duplicated", 2), ("-kind", 2)]
)
def test_the_figure_of_the_thesis(name: str, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert optcheck(["--text", str(DATA / "sass" / f"figure-2.7{name}.sass")]) == code
    assert ("!!SUCCESS!!" in capsys.readouterr().out) == (code == 0)


def test_json(cubin: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert gpudiy(["optcheck", str(cubin), "--json"]) == 0
    (found,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert (found["kernel"], found["test"], found["architecture"], found["verdict"]) == (
        "kernel", "stores", "sm_90", "unchanged",
    )  # fmt: skip


def test_a_listing_with_its_test_is_checked_for_fences(
    cubin: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = disassembler.disassemble(cubin).replace("MEMBAR.SC.GPU", "MEMBAR.SC.CTA")
    listing, test = tmp_path / "some.sass", tmp_path / "stores.litmus"
    listing.write_text(text)
    test.write_text(STORES)
    assert optcheck(["--text", str(listing)]) == 0
    assert gpudiy(["optcheck", "--text", str(listing)]) == 1
    assert "unverifiable: the accesses are unchanged; fences, values and" in capsys.readouterr().out
    assert gpudiy(["optcheck", "--text", str(listing), "--test", str(test)]) == 1
    said = capsys.readouterr().out
    assert (
        "fence-changed: P0: before access 1: expected MEMBAR.ALL.CTA, MEMBAR.SC.GPU, ERRBAR, CGAERRBAR, CCTL.IVALL"
        in said
    )
    assert "found MEMBAR.SC.CTA" in said


def test_bad_input(tmp_path: Path, cubin: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "broken.cubin"
    broken.write_bytes(cubin.read_bytes()[:2000])
    empty = tmp_path / "empty.sass"
    empty.write_text("")
    for words in ([str(broken)], ["--text", str(empty)], [str(tmp_path / "none")], ["--text", str(cubin)]):
        assert gpudiy(["optcheck", *words]) == 2
        assert optcheck(words) == 1
        assert "error:" in capsys.readouterr().err
    assert optcheck([]) == 1
    assert optcheck(["--text", str(FIGURE), "--mapping", "sm_1"]) == 1


def test_damaged_cubins_are_an_error_and_nothing_else(cubin: Path) -> None:
    data = cubin.read_bytes()
    for length in range(0, len(data), 97):
        try:
            read_binary(data[:length])
        except BinaryError:
            continue
        assert length > 0


def test_missing_tool(cubin: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    disassembler.find_tool.cache_clear()
    monkeypatch.setattr(disassembler.shutil, "which", lambda name: None)
    monkeypatch.setattr(disassembler.sys, "path", [])
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.delenv("CUDA_PATH", raising=False)
    assert gpudiy(["optcheck", str(cubin)]) == 3
    assert "pip install 'gpudiy[cuda-tools]'" in capsys.readouterr().err
    disassembler.find_tool.cache_clear()


def test_optcheck_py_does_not_hide_the_package(tmp_path: Path) -> None:
    script = Path(__file__).parents[2] / "scripts" / "optcheck.py"
    copy = tmp_path / "optcheck.py"
    copy.write_text(script.read_text())
    done = subprocess.run(
        [sys.executable, str(copy), "--text", str(FIGURE)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "!!SUCCESS!!")
    other = tmp_path / "other.py"
    other.write_text("import optcheck.listing; print(optcheck.listing.__name__)")
    done = subprocess.run([sys.executable, str(other)], capture_output=True, text=True, check=False)
    assert done.stdout == "optcheck.listing\n", done.stderr


@pytest.mark.parametrize(("data", "said"), [(b"", "this listing is empty"), (b"\0", "not a listing of SASS")])
def test_what_is_no_listing_is_told(data: bytes, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.sass").write_bytes(data)
    assert optcheck(["--text", str(tmp_path / "x.sass")]) == 1
    assert said in capsys.readouterr().err
