"""`gpudiy build` as a stranger uses it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import ROOT

from gpudiy.cli import main
from gpudiy.errors import InputError, MissingTool
from gpudiy.harness import build as building
from gpudiy.harness.built import read_index
from gpudiy.harness.module import assembler_for

try:
    assembler_for("sm_80")
except MissingTool:
    pytest.skip("NVRTC and nvJitLink are not there: pip install 'gpudiy[cuda-tools]'", allow_module_level=True)

EXAMPLES = ROOT / "docs" / "examples"
SB = str(EXAMPLES / "sb.litmus")
CAS = str(EXAMPLES / "mp-cas.litmus")
CLUSTERED = """GPU_PTX clustered

P0                             : P1
st.relaxed.cluster.s32 [x], 1  : ld.cg.s32 r0, [x]

(device (kernel (cta P0) (cta P1)))

x: global

1:r0=1
"""
# A weak store to global memory and an access to shared memory: the compiler swaps them.
SWAPPED = """GPU_PTX Mixed

P0                     : P1
st.s32 [x], 1          : st.shared.s32 [y], 1
ld.shared.s32 r0, [y]  : ld.s32 r0, [x]

(device (kernel (cta (warp P0) (warp P1))))

x: global, y: shared

0:r0=0 /\\ 1:r0=0
"""
WHY = "reordered: P0: access 1 now comes before access 0"


@pytest.fixture(autouse=True)
def opened_anew(own_cache: Path) -> None:
    building._open_cache.cache_clear()


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "built"


@pytest.fixture
def in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*words: str) -> int:
    return main(["build", *words])


def test_tests_are_built_and_checked(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(SB, CAS, SB, "--arch", "sm_80,sm_90", "-o", str(out)) == 0
    assert capsys.readouterr().out == f"4 of 4 in {out}: 2 tests for 2 architectures\n"
    found = list(read_index(out))
    assert [(built.test, built.arch, built.optcheck) for built in found] == [
        ("SB", "sm_80", "unchanged"), ("SB", "sm_90", "unchanged"),
        ("mp-cas", "sm_80", "unchanged"), ("mp-cas", "sm_90", "unchanged"),
    ]  # fmt: skip
    for built in found:
        assert built.file is not None
        cubin = (out / built.file).read_bytes()
        assert cubin.startswith(b"\x7fELF") and built.function.encode() in cubin
    assert found[0].constants == (1, 1) and found[2].constants == (1, 1, 1, 2)


def test_nothing_is_compiled_twice(
    out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(SB, "--arch", "sm_80", "-o", str(out)) == 0
    before = (out / "index.jsonl").read_text()
    refuse_to_compile(monkeypatch)
    (out / "index.jsonl").unlink()
    assert run(SB, "--arch", "sm_80", "-o", str(out)) == 0
    assert (out / "index.jsonl").read_text() == before
    assert run(CAS, "--arch", "sm_80", "-o", str(out)) == 3
    assert "compiled again" in capsys.readouterr().err


def refuse_to_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> bytes:
        raise AssertionError("compiled again")

    monkeypatch.setattr("gpudiy.harness.nvjitlink.CubinLinker.link", refused)


def test_a_corrupt_cache_is_made_anew(out: Path, own_cache: Path) -> None:
    assembler_for.cache_clear()
    assert run(SB, "--arch", "sm_80", "-o", str(out)) == 0
    (cubin,) = own_cache.rglob("*.cubin")
    whole = cubin.read_bytes()
    cubin.write_bytes(whole[:100])
    (kernels,) = own_cache.rglob("kernels.o")
    kernels.write_bytes(b"nonsense")
    (own_cache / cubin.parent / "torn.jsonl").write_text('{"source": ')
    building._open_cache.cache_clear()
    assembler_for.cache_clear()
    (out / cubin.name).unlink()
    assert run(SB, "--arch", "sm_80", "-o", str(out)) == 0
    assert (out / cubin.name).read_bytes() == whole


def test_changed_templates_are_compiled_anew(monkeypatch: pytest.MonkeyPatch, own_cache: Path) -> None:
    one = building.toolchain_folder(own_cache, "sm_80")
    monkeypatch.setattr(building, "templates_hash", lambda: "others")
    two = building.toolchain_folder(own_cache, "sm_80")
    assert one != two != building.toolchain_folder(own_cache, "sm_90")


def test_what_the_compiler_rejects_has_its_place(out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.litmus"
    bad.write_text(CLUSTERED)
    assert run(str(bad), SB, "--arch", "sm_80", "-o", str(out)) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"{bad}:4:1: error: clustered: the compiler rejects this: ")
    assert "sm_90" in error
    assert "\n  st.relaxed.cluster.s32 [x], 1  : ld.cg.s32 r0, [x]\n  ^" in error
    assert [built.test for built in read_index(out)] == ["SB"]  # the others are built


def test_optimised_tests_are_refused_unless_told(out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mixed.litmus"
    path.write_text(SWAPPED)
    assert run(str(path), SB, "--arch", "sm_80", "-o", str(out)) == 1
    assert "Mixed: not built for sm_80: optcheck: reordered" in capsys.readouterr().err
    refused, fine = read_index(out)
    assert refused.file is None and refused.optcheck == "reordered" and refused.optcheck_text
    assert fine.file is not None
    assert run(str(path), "--arch", "sm_80", "-o", str(out), "--keep-optimised") == 0
    (kept,) = read_index(out)
    assert kept.file is not None and kept.optcheck == "reordered"


def test_a_refusal_shows_what_the_test_has_and_what_the_binary_has(
    out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mixed.litmus"
    path.write_text(SWAPPED)
    assert run(str(path), "--arch", "sm_80", "-o", str(out), "--json") == 1
    told = capsys.readouterr()
    head, titles, first, second = told.err.splitlines()
    assert head == f"Mixed: not built for sm_80: optcheck: {WHY}"
    assert titles.split() == ["PTX", "SASS"]
    assert "P0: st.s32 [x],1 " in first and "LDS R" in first
    assert "P0: ld.shared.s32 r0,[y] " in second and "STG.E [R" in second
    fields = json.loads(told.out)
    assert fields["ptx"] == ["P0: st.s32 [x],1", "P0: ld.shared.s32 r0,[y]"] and len(fields["sass"]) == 2
    (built,) = read_index(out)
    assert list(built.sass) == fields["sass"]


def test_every_test_counts_for_every_architecture(
    out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mixed.litmus").write_text(SWAPPED)
    (tmp_path / "bad.litmus").write_text(CLUSTERED)
    paths = (str(tmp_path), SB)
    assert run(*paths, "--arch", "sm_80", "-o", str(out)) == 2
    assert capsys.readouterr().out == f"1 of 3 tests in {out}\n"
    assert run(*paths, "--arch", "sm_80,sm_90", "-o", str(out)) == 2
    assert capsys.readouterr().out == f"3 of 6 in {out}: 3 tests for 2 architectures\n"


def test_a_memory_map_that_instructions_contradict(
    out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only the herd format can express it; such a test is named, and the others are built and run."""
    path = tmp_path / "contradicting.litmus"
    path.write_text(
        """GPU_PTX contradicting
{ 0:.reg .s32 r0; 0:.reg .b64 r1 = x; 0:.reg .b64 r2 = y; }
 P0                   ;
 st.wt.s32 [r1],1     ;
 ld.shared.s32 r0,[r2];
scopeTree (device (kernel (cta (warp P0))))
x: shared, y: global
exists (0:r0=0)
"""
    )
    assert run(str(path), SB, "--arch", "sm_80", "-o", str(out)) == 1
    shown = capsys.readouterr()
    assert "contradicting: not built for sm_80: its memory map contradicts its instructions" in shown.err
    assert shown.out == f"1 of 2 tests in {out}\n"
    log = tmp_path / "log.txt"
    assert main(["run", str(path), SB, "--device", "sim:kepler", "-s", "10", "-o", str(log)]) in (0, 1, 2)
    assert "contradicting" in log.read_text() and "not runnable" in capsys.readouterr().out


def test_levels_of_the_assembler(out: Path, own_cache: Path) -> None:
    """Each is built apart and says so; test and stress are there at every level."""
    cubins = set()
    for level in (0, 1, 3):
        assert run(SB, "--arch", "sm_80", "-o", str(out), "--optimise", str(level)) == 0
        (built,) = read_index(out)
        assert built.optimise == level and built.toolkit.endswith(f" -O{level}") and not built.stress
        assert built.optcheck == "unchanged"
        cubins.add(built.file)
    assert len(cubins) == 3 and len({cubin.parent for cubin in own_cache.rglob("*.cubin")}) == 3


def test_tests_with_the_same_code_share_it(out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each is a test of its own all the same: numbered, named and refused by itself."""
    near = SWAPPED.replace("Mixed", "near").replace("(warp P0) (warp P1)", "(warp P0 P1)")
    texts = {
        "Mixed": SWAPPED,
        "again": SWAPPED.replace("Mixed", "again"),  # means the same
        "near": near,
        "other": near.replace("near", "other").replace("st.s32", "st.b32"),
        "renamed": near.replace("near", "renamed").replace("[x]", "[z]").replace("x:", "z:").replace("r0=0", "r0=2"),
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.litmus").write_text(text)
    paths = [str(tmp_path / f"{name}.litmus") for name in texts]
    assert run(*paths, "--arch", "sm_80", "-j", "1", "-o", str(out), "--keep-optimised") == 0
    built = {one.test: one for one in read_index(out)}
    assert list(built) == sorted(texts)
    assert {one.optcheck for one in built.values()} == {"reordered"}
    assert built["Mixed"].number == built["again"].number and built["Mixed"].hash == built["again"].hash
    assert len({one.number for one in built.values()}) == len({one.hash for one in built.values()}) == 4
    # `near` and `renamed` differ from `other` by a type, and all three from `Mixed`: lanes of one warp sleep first.
    assert len({one.function for one in built.values()}) == 3
    assert built["near"].function == built["renamed"].function != built["Mixed"].function
    capsys.readouterr()
    assert run(*paths, "--emit", "ptx", "--arch", "sm_80") == 0
    ptx = capsys.readouterr().out
    assert ptx.count(".visible .func") == 3 and "test_functions[4] = " in ptx
    assert main(["optcheck", str(out / str(built["Mixed"].file))]) == 1
    said = capsys.readouterr().out
    assert f"Mixed: {WHY}" in said and "    PTX  P0: st.s32 [x],1" in said
    assert f"renamed: {WHY}" in said and "    PTX  P0: st.s32 [z],1" in said
    assert "5 functions checked: 4 reordered, 1 unchanged" in said  # the last is the one that stresses


def test_bad_tests_do_not_stop_the_others(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(str(EXAMPLES / "broken.litmus"), SB, "--arch", "sm_80", "-o", str(out)) == 2
    assert "broken.litmus:14:16: error: register r5 of P0 is not declared" in capsys.readouterr().err
    assert [built.test for built in read_index(out)] == ["SB"]


def test_tests_that_no_gpu_runs_are_told(out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "barrier.litmus"
    path.write_text(CLUSTERED.replace("st.relaxed.cluster.s32 [x], 1  ", "bar.sync 15"))
    assert run(str(path), "--arch", "sm_80", "-o", str(out)) == 1
    assert "not built for sm_80: P0: the harness itself uses barrier 15" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ((SB, "--arch", "sm_999", "-o", "x"), 3, "no installed compiler supports sm_999"),
        ((SB, "-o", "x"), 2, "--arch is missing"),
        ((SB, "--arch", "sm_80"), 2, "-o is missing"),
        ((SB, "--arch", "sm_80,sm_90", "--emit", "ptx"), 2, "--emit ptx takes one architecture"),
        ((SB, "--dialect", "opencl", "--emit", "cubin"), 2, "only --dialect cuda has cubin"),
        (("nowhere.litmus", "--arch", "sm_80", "-o", "x"), 2, "nowhere.litmus: error: no such file"),
    ],
)
def test_bad_usage_is_told(
    words: tuple[str, ...], code: int, message: str, capsys: pytest.CaptureFixture[str], in_empty_folder: None
) -> None:
    assert run(*words) == code
    assert message in capsys.readouterr().err
    assert not Path("x").exists()


def test_a_missing_compiler_is_told(
    out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(*_: object) -> object:
        raise MissingTool("NVRTC, the compiler of CUDA, is not installed: pip install 'gpudiy[cuda-tools]'")

    monkeypatch.setattr(building, "assembler_for", missing)
    assert run(SB, "--arch", "sm_80", "-o", str(out)) == 3
    assert "pip install 'gpudiy[cuda-tools]'" in capsys.readouterr().err


def test_sources_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(SB, "--emit", "source") == 0
    assert "asm volatile(" in capsys.readouterr().out
    assert run(SB, "--dialect", "opencl") == 0
    assert "__kernel" in capsys.readouterr().out
    assert run(SB, "--emit", "ptx", "--arch", "sm_80") == 0
    assert ".target sm_80" in capsys.readouterr().out


def test_an_index_that_is_none_is_told(tmp_path: Path) -> None:
    (tmp_path / "index.jsonl").write_text(json.dumps({"test": "SB"}) + "\n")
    with pytest.raises(InputError, match=r"index\.jsonl:1:1: error: `gpudiy build` did not write this line"):
        list(read_index(tmp_path))
