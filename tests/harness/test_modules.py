"""Modules of CUDA: compiled, linked, and the same whichever way."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from conftest import DATA, ROOT

from gpudiy.diy import families
from gpudiy.diy.generator import Generator
from gpudiy.errors import MissingTool
from gpudiy.harness import c11_obstacles, cuda_library, nvjitlink, nvrtc
from gpudiy.harness.module import PtxTest, RejectedTests, assembler_for
from gpudiy.harness.nvrtc import CompileError, Product, compiler_for
from gpudiy.harness.source import (
    Dialect,
    NotRunnable,
    function_name,
    module_source,
    obstacle,
    prelude,
    prelude_of_functions,
    render_test,
)
from gpudiy.litmus import print_test, read_test, read_tests
from gpudiy.litmus.test import Test
from optcheck.binary import read_binary

try:
    assembler_for("sm_80")
    TOOLS = True
except MissingTool:
    TOOLS = False
needs_tools = pytest.mark.skipif(
    not TOOLS, reason="NVRTC and nvJitLink are not there: pip install 'gpudiy[cuda-tools]'"
)

FUNCTION = re.compile(r"^\.visible \.func (test_\w+)\s*\(.*?^\}\n", re.MULTILINE | re.DOTALL)


def sample(family: str, every: int, most: int) -> list[Test]:
    texts = (blueprint.text() for blueprint in Generator(families.FAMILIES[family].recipe()).blueprints())
    return [read_test(text) for text in islice(texts, 0, every * most, every)]


def figures() -> Iterator[Test]:
    for path in sorted((DATA / "harness").glob("*.litmus")):
        yield from read_tests(path.read_text())


@needs_tools
def test_skeletons_give_what_the_compiler_gives() -> None:
    """PTX of tests put together from skeletons is that of their whole source, but for the numbers of labels."""
    tests = [*figures(), *sample("rmw", 97, 10), *sample("dependencies", 53, 10), *sample("classic", 11, 10)]
    codes = [PtxTest.of(test, "sm_90") for test in tests]
    assembler = assembler_for("sm_90")
    source = "\n".join((prelude_of_functions(), *(render_test(test, Dialect.CUDA).text for test in tests)))
    whole = assembler.compiler.compile(source, "sm_90", Product.PTX, ("-rdc=true",)).decode()
    direct = {found[1]: _without_numbers(found[0]) for found in FUNCTION.finditer(whole)}
    ours = {found[1]: _without_numbers(found[0]) for found in FUNCTION.finditer(assembler.ptx(codes))}
    assert len(ours) == len({code.function for code in codes}) > 30
    for code, test in zip(codes, tests, strict=True):
        assert ours[code.function] == [
            line.replace(function_name(test), code.function) for line in direct[function_name(test)]
        ]
    assert len({code.signature for code in codes}) < len(codes)


def _without_numbers(text: str) -> list[str]:
    text = re.sub(r"\b(specify|specified)_\w+", r"\1", text)
    text = re.sub(r"\b(\w+)_\d+_\d+(?=[:;])|\b(L\w*?)_\d+(?=[:;])", "label", text)
    text = re.sub(r"\$L__BB\d+", "$L__BB", text)
    return [line.strip() for line in text.split("\n") if line.strip()]


@needs_tools
@pytest.mark.parametrize("architecture", ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"])
def test_samples_of_families_compile(architecture: str) -> None:
    tests = [*sample("classic", 40, 3), *sample("rmw", 300, 3), *sample("dependencies", 200, 2)]
    if architecture in ("sm_90", "sm_100", "sm_120"):
        tests += sample("modern", 2000, 3)
    codes = list({code.function: code for code in (PtxTest.of(test, architecture) for test in tests)}.values())
    cubin = assembler_for(architecture).compile(codes)
    assert cubin.startswith(b"\x7fELF")
    binary = read_binary(cubin)  # a binary tells what it is
    assert binary.architecture == architecture
    assert [test for code in codes for test in binary.tests[code.function]] == [code.test for code in codes]
    for kernel in (b"reset", b"run", b"reduce"):
        assert b".text." + kernel in cubin


@needs_tools
def test_what_the_compiler_rejects_is_found_again() -> None:
    good, bad = (read_test(print_test(test)) for test in sample("classic", 3, 2))
    text = print_test(bad).replace("membar.gl", "fence.acq_rel.cluster")
    bad = read_test(text)
    worse = read_test(print_test(bad).replace("fence.acq_rel.cluster", "fence.sc.cluster"))
    tests = [PtxTest.of(test, "sm_80") for test in (bad, good, worse)]
    with pytest.raises(RejectedTests) as caught:
        assembler_for("sm_80").compile(tests)
    assert list(caught.value.rejected) == [tests[0].function, tests[2].function]  # all at once, and no other
    for test, found in zip((bad, worse), caught.value.rejected.values(), strict=True):
        assert "sm_90" in found.message
        assert found.thread is not None and found.index is not None
        assert "cluster" in str(test.threads[found.thread][found.index]).lower()


@needs_tools
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc")
def test_nvcc_takes_the_source_too(tmp_path: Path) -> None:
    tests = [*figures()]
    codes = [render_test(test, Dialect.CUDA) for test in tests]
    (tmp_path / "tests.cu").write_text(module_source(codes, Dialect.CUDA))
    done = subprocess.run(
        ["nvcc", "-arch=sm_80", "-cubin", "tests.cu", "-o", "tests.cubin"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr


def test_source_is_tidy_and_has_the_test_in_it() -> None:
    test = read_test((ROOT / "docs" / "examples" / "sb.litmus").read_text())
    for dialect in Dialect:
        source = module_source([render_test(test, dialect)], dialect)
        assert "\n\n\n" not in source and " \n" not in source and source.endswith("}\n")
        assert not re.search(r"\{[%{]|[%}]\}(?!;)", prelude(dialect))  # nothing of the templates is left
    cuda = render_test(test, Dialect.CUDA).text
    assert (
        "st.relaxed.gpu.global.s32 [r1],%3; // st.cg.s32" in cuda
        and "ld.relaxed.gpu.global.s32 r2,[r3]; // ld.cg" in cuda
    )
    assert "memory_order" not in cuda


def test_the_same_source_every_time() -> None:
    test = read_test((ROOT / "docs" / "examples" / "sb.litmus").read_text())
    assert render_test(test, Dialect.CUDA) == render_test(test, Dialect.CUDA)


def test_missing_tools_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvrtc, "libraries", lambda name: iter(()))
    monkeypatch.setattr(nvjitlink, "libraries", lambda name: iter(()))
    nvrtc.compilers.cache_clear()
    nvjitlink.linkers.cache_clear()
    try:
        with pytest.raises(MissingTool, match=r"pip install 'gpudiy\[cuda-tools\]'"):
            compiler_for("sm_80")
        with pytest.raises(MissingTool, match=r"nvJitLink 13\.4 or later.*pip install 'gpudiy\[cuda-tools\]'"):
            nvjitlink.linker_for("NVRTC 13.4")
    finally:
        nvrtc.compilers.cache_clear()
        nvjitlink.linkers.cache_clear()


def test_compilers_are_chosen_by_architecture_and_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    new, old = (
        nvrtc.Compiler(ctypes.CDLL(None), f"NVRTC {version}", known)
        for version, known in (("13.4", (75, 80, 120)), ("12.9", (50, 60, 70, 75, 80, 120)))
    )
    monkeypatch.setattr(nvrtc, "compilers", lambda: (new, old))
    assert compiler_for("sm_80") is new and compiler_for("sm_80", 13) is new and compiler_for("sm_80", 14) is new
    assert compiler_for("sm_80", 12) is old and compiler_for("sm_60") is old and compiler_for("sm_60", 13) is old
    with pytest.raises(MissingTool, match=r"the driver loads what CUDA 11 makes.*NVRTC 13\.4 and NVRTC 12\.9"):
        compiler_for("sm_80", 11)
    monkeypatch.setattr(nvrtc, "compilers", lambda: (new,))
    with pytest.raises(MissingTool, match=r"for older ones: pip install 'gpudiy\[cuda12\]'"):
        compiler_for("sm_60")


def test_a_library_that_does_not_load_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "lib64").mkdir()
    (tmp_path / "lib64" / "libnvrtc.so.99").write_bytes(b"not a library")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    assert all(library._name != str(tmp_path) for library in cuda_library.libraries("nvrtc"))


@needs_tools
def test_architectures_nobody_has_are_told() -> None:
    with pytest.raises(MissingTool, match="no installed compiler supports sm_999, only sm_"):
        compiler_for("sm_999")
    with pytest.raises(CompileError, match="undefined"):
        compiler_for("sm_80").compile("__global__ void f() { g(); }", "sm_80")


PROGRAM = "GPU_PTX T\n{{ {init} }}\nP0 | P1 ;\n{row} ;\nscopeTree {tree}\nx: global\nexists (1:r0=1)"
CLUSTER = "(device (kernel (cluster (cta P0) (cta P1))))"
CTAS = "(device (kernel (cta P0) (cta P1)))"


@pytest.mark.parametrize(
    ("row", "tree", "dialect", "why"),
    [
        ("st.wb.s32 [x],1 | ld.s32 r0,[x]", CTAS, Dialect.OPENCL, "nothing like the cache operator .wb"),
        ("st.s32 [x],1 | ld.ca.s32 r0,[x]", CTAS, Dialect.OPENCL, "nothing like the cache operator .ca"),
        ("st.relaxed.cluster.s32 [x],1 | ld.s32 r0,[x]", CTAS, Dialect.OPENCL, "no scope .cluster"),
        ("fence.sc.cluster | ld.s32 r0,[x]", CTAS, Dialect.OPENCL, "no scope .cluster"),
        ("bar.sync 0 | ld.s32 r0,[x]", CTAS, Dialect.OPENCL, "a barrier of OpenCL"),
        ("st.s32 [x],1 | ld.s32 r0,[x]", CLUSTER, Dialect.OPENCL, "in a cluster"),
    ],
)
def test_what_cannot_keep_its_meaning_is_told(row: str, tree: str, dialect: Dialect, why: str) -> None:
    test = read_test(PROGRAM.format(init="", row=row, tree=tree))
    with pytest.raises(NotRunnable, match=why):
        render_test(test, dialect)


FOLDED = """GPU_PTX T
0:.reg .s32 r0; 0:.reg .s32 r1; 0:.reg .s32 r2; 0:.reg .s32 zero; 0:.reg .pred p; 1:.reg .s32 r0;
P0 : P1
ld.relaxed.gpu.s32 r0,[x] : ld.relaxed.gpu.s32 r0,[y]
{rows}
st.relaxed.gpu.s32 [y],r1 :
{tree}
x: global, y: global
1:r0=1
"""


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("xor.b32 r1,r0,r0", "this xor gives 0"),
        ("mov.s32 r2,r0; xor.b32 r1,r0,r2", "this xor gives 0"),
        ("and.b32 r1,zero,r0", "this and gives 0"),
        ("mov.s32 r2,0; mul.lo.s32 r1,r0,r2", "this mul gives 0"),
        ("add.s32 r2,r0,1; sub.s32 r1,r2,r0", "this sub gives 1"),
        ("shr.u32 r1,r0,31; and.b32 r1,r1,2", "this and gives 0"),
        ("setp.eq.s32 p,r0,r0; selp.s32 r1,5,6,p", "this setp gives 1"),
        ("setp.eq.s32 p,r0,7; selp.s32 r1,5,5,p", "this selp gives 5"),
        ("setp.eq.s32 p,r0,0; @p st.s32 [y],1; @!p st.s32 [y],1", "both ways of a branch"),
        ("setp.eq.s32 p,r0,0; @p bra L; L:", "both ways of a branch"),
        ("setp.eq.s32 p,r0,0; @p bra L; st.s32 [y],1; bra M; L:; st.s32 [y],1; M:", "both ways of a branch"),
        ("setp.eq.s32 p,r0,0; @p bra L; st.s32 [y],1; bra M; L:; st.s32 [y],2; M:", None),
        ("setp.eq.s32 p,r0,0; @p st.s32 [y],1; @!p st.s32 [y],2", None),
        ("L:; ld.s32 r0,[x]; setp.eq.s32 p,r0,0; @p bra L", None),
        ("and.b32 r1,r0,0x80000000", None),
        ("mov.s32 r2,0; mov.s32 r1,r2", None),
        ("setp.eq.s32 p,r0,123456; @p mov.s32 r1,1", None),
        ("add.s32 r2,r0,1000; setp.lt.s32 p,r2,900; selp.s32 r1,5,6,p", None),
    ],
)
def test_dependencies_that_a_compiler_sees_through_are_told(code: str, why: str | None) -> None:
    rows = "\n".join(f"{line.strip()} :" for line in code.split(";"))
    found = obstacle(read_test(FOLDED.format(rows=rows, tree=CTAS)), Dialect.OPENCL)
    assert found is None if why is None else found is not None and why in found


def test_the_table_of_the_page_is_the_one_that_is_used() -> None:
    page_file = ROOT / "docs" / "build.md"
    page = page_file.read_text()
    lines = ["| PTX | OpenCL | why |", "|---|---|---|", *(f"| {' | '.join(row)} |" for row in c11_obstacles.TABLE)]
    table = "\n".join(lines) + "\n"
    start, end = page.index("<!-- table -->\n") + 15, page.index("<!-- end of table -->")
    if os.environ.get("PROMOTE"):
        page_file.write_text(page[:start] + table + page[end:])
    else:
        assert page[start:end] == table
