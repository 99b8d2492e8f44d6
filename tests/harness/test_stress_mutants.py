"""`gpudiy build` refuses tests around which the stress, the meeting or the counting is not what the templates mean."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import ROOT

from gpudiy.cli import main
from gpudiy.errors import MissingTool
from gpudiy.harness import build as building
from gpudiy.harness import module
from gpudiy.harness.built import read_index
from gpudiy.harness.checking import check_stress, disassemble_cubin, select_functions
from gpudiy.harness.module import assembler_for
from gpudiy.harness.source import Dialect

try:
    assembler_for("sm_80")
except MissingTool:
    pytest.skip("NVRTC and nvJitLink are not there: pip install 'gpudiy[cuda-tools]'", allow_module_level=True)


EXAMPLES = ROOT / "docs" / "examples"


SB = str(EXAMPLES / "sb.litmus")


@pytest.fixture(autouse=True)
def opened_anew(own_cache: Path) -> None:
    building._open_cache.cache_clear()


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "built"


def run(*words: str) -> int:
    return main(["build", *words])


MUTANTS = {
    "no loop is left of the stores": ("VOLATILE_STORE(GLOBAL, u32, place,", "(*(GLOBAL u32 *)place ="),
    "no loads": ("((void)VOLATILE_LOAD(GLOBAL, u32, place))", "((void)place)"),
    "one pair": ("i < pairs", "i < 1"),
    "no stress before": ("launch->pre_stress_iterations);", "0u);"),
    "no stress": ("launch->stress_pattern, launch->stress_iterations", "launch->stress_pattern, 0u"),
    "too much stress": ("const u32 pairs = (accesses + 1) / 2;", "const u32 pairs = (accesses + 2) / 2;"),
    "another place": ("% launch->stress_lines;", "% 1u;"),
    "nobody waits": ("(seen & 0xff) < threads; looks++", "(seen & 0xff) < 1; looks++"),
    "waits too long": ("looks == limit", "looks == limit + 1"),
    "gives up silently": ("add_for_all(launch, meeting, GAVE_UP);", ""),
    "no permutation": ("return (unit * prime + (number >> 8) % count) % count;", "return unit;"),
    "another thread": ("warp /= launch->warp_groups;", "warp %= launch->warp_groups;"),
    "counts the wrong outcome": ("add_to(table + slots + slot, number);", "add_to(table + slots, number);"),
    "forgets a location": (
        "for (u32 v = 0; v < variables; v++) {\n            put",
        "for (u32 v = 1; v < variables; v++) {\n            put",
    ),
}


WRONG = dict.fromkeys(list(MUTANTS)[:7], "stress: ") | {
    "nobody waits": "meeting: threads meet",
    "waits too long": "meeting: threads meet",
    "gives up silently": "meeting: threads meet",
    "no permutation": "stress: ",
    "another thread": "",
    "counts the wrong outcome": "reduce: ",
    "forgets a location": "reset: ",
}


QUICK = ("one pair",)


@pytest.mark.parametrize(
    "mutant", [one if one in QUICK else pytest.param(one, marks=pytest.mark.heavy) for one in MUTANTS]
)
def test_stress_that_the_compiler_took_out_is_refused(
    mutant: str, out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written = module.prelude(Dialect.CUDA)
    old, new = MUTANTS[mutant]
    assert old in written
    broken = written.replace(old, new)
    monkeypatch.setattr(module, "prelude", lambda dialect: broken)
    assembler = module.Assembler("sm_80")
    monkeypatch.setattr(building, "assembler_for", lambda *_: assembler)
    assert run(SB, "--arch", "sm_80", "-o", str(out)) == 1
    said = capsys.readouterr().err
    (built,) = read_index(out)
    assert built.file is None and built.optcheck == "unchanged"
    assert built.stress.startswith(WRONG[mutant]) and f"SB: not built for sm_80: {built.stress}" in said
    assert run(SB, "--arch", "sm_80", "-o", str(out), "--keep-optimised") == 0


@pytest.mark.parametrize("architecture", ["sm_75", "sm_90", "sm_120"])
def test_stress_is_there(architecture: str, out: Path) -> None:
    assert run(SB, "--arch", architecture, "-o", str(out)) == 0
    (built,) = read_index(out)
    assert not built.stress
    listing = disassemble_cubin((out / str(built.file)).read_bytes())
    assert not check_stress(listing)
    assert check_stress(select_functions(listing, re.compile("test_"))) == "the binary has no loop that stresses memory"
    assert "the binary has no kernel run" in check_stress(select_functions(listing, re.compile(r"\w*stress")))
