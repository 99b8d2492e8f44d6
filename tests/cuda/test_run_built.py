"""`gpudiy run DIR --device cuda:0` on what `gpudiy build -o DIR` left: exactly these cubins run, or none."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from cuda_standin import SHORT, Machine, sb_test

from gpudiy.harness.built import read_index
from gpudiy.litmus import Test, print_test, read_test

pytestmark = pytest.mark.cuda
Make = Callable[..., Machine]

# A dependency that the compiler sees through.
BROKEN = """GPU_PTX LB+xor
{0:.reg .s32 r1; 0:.reg .s32 r2; 1:.reg .s32 r1;}
 P0 | P1 ;
 ld.cg.s32 r1,[x] | ld.cg.s32 r1,[y] ;
 xor.b32 r2,r1,r1 | st.cg.s32 [x],1 ;
 st.cg.s32 [y],r2 | ;
(device (kernel (cta (warp P0)) (cta (warp P1))))
x: global, y: global
exists (0:r1=1 /\\ 1:r1=1)
"""


def build(here: Machine, tests: list[Test], architectures: str = "sm_80") -> Path:
    """A folder with the tests, built by the command line; their host builds stand ready."""
    here.add_tests([test for test in tests if test.name != "LB+xor"])
    paths = []
    for test in tests:
        paths.append(here.directory / f"{test.name}.litmus")
        paths[-1].write_text(print_test(test))
    folder = here.directory / "built"
    options = ("--arch", architectures, "-o", str(folder), "-q", "-j", "1")
    found = here.run("-m", "gpudiy", "build", *map(str, paths), *options)
    assert found.returncode in (0, 1), found.stderr
    for path in paths:
        path.unlink()
    return folder


def run(here: Machine, folder: Path, *more: str) -> CompletedProcess[str]:
    return here.run("-m", "gpudiy", "run", str(folder), "-s", "500", *SHORT, "--seed", "1", "-q", "--json", *more)


def records(found: CompletedProcess[str]) -> dict[str, dict[str, object]]:
    return {record["test"]: record for record in map(json.loads, found.stdout.splitlines())}


def test_the_cubins_of_the_folder_run(machine: Make) -> None:
    """Without a cache and without a compiler, so that nothing can be built again."""
    here = machine()
    folder = build(here, [sb_test(name="built"), read_test(BROKEN)])
    (cubin,) = folder.glob("*.cubin")
    alone = Machine(here.directory, more={"XDG_CACHE_HOME": str(here.directory / "empty"), "GPUDIY_BATCH": "1"})
    found = run(alone, folder, "-d", "cuda:0")
    assert found.returncode == 3  # one was refused
    both = records(found)
    assert both["built"]["ending"] == "finished"
    assert both["built"]["optcheck"] == "unchanged"
    assert str(both["built"]["toolkit"]).startswith("NVRTC")
    assert both["LB+xor"]["ending"] == "refused"
    assert str(both["LB+xor"]["reason"]).startswith("optcheck: ")
    assert here.journal.violations == []
    assert {entry["bytes"] for entry in here.journal.entries("module")} == {str(cubin.stat().st_size)}
    assert not (here.directory / "empty").exists()


def test_an_architecture_that_is_not_there_is_refused(machine: Make) -> None:
    here = machine("small90")
    folder = build(here, [sb_test()])
    found = run(here, folder, "-d", "cuda:0")
    assert found.returncode == 2
    assert f"{folder}: error: there are no cubins for sm_90 here, only for sm_80" in found.stderr
    assert "build the tests with --arch sm_90" in found.stderr
    assert here.journal.entries("launch") == []


def test_a_cubin_that_was_changed_is_refused(machine: Make) -> None:
    here = machine()
    folder = build(here, [sb_test()])
    (cubin,) = folder.glob("*.cubin")
    data = bytearray(cubin.read_bytes())
    data[-1] ^= 1
    cubin.write_bytes(data)
    found = run(here, folder, "-d", "cuda:0")
    assert found.returncode == 2
    assert f"{cubin}: error: this cubin was changed since it was built and checked" in found.stderr
    cubin.unlink()
    found = run(here, folder, "-d", "cuda:0")
    assert found.returncode == 2
    assert f"{cubin}: error: this cubin cannot be read" in found.stderr
    assert here.journal.entries("launch") == []


def test_cubins_of_another_version_are_refused(machine: Make) -> None:
    here = machine()
    folder = build(here, [sb_test()])
    (built,) = read_index(folder)
    index = folder / "index.jsonl"
    index.write_text(index.read_text().replace(built.harness, "another"))
    found = run(here, folder, "-d", "cuda:0")
    assert found.returncode == 2
    assert "built by another version of gpudiy" in found.stderr


def test_other_devices_take_the_tests_from_the_folder(machine: Make) -> None:
    here = machine()
    folder = build(here, [sb_test(), read_test(BROKEN)], "sm_80,sm_90")
    found = run(here, folder, "-d", "sim:kepler,cuda:0")
    devices = [(record["test"], record["device"]) for record in map(json.loads, found.stdout.splitlines())]
    assert sorted(devices) == [("LB+xor", "cuda:0"), ("LB+xor", "sim:kepler"), ("SB", "cuda:0"), ("SB", "sim:kepler")]
    assert here.journal.violations == []


def test_a_built_folder_is_run_alone(machine: Make, tmp_path: Path) -> None:
    here = machine()
    folder = build(here, [sb_test()])
    (tmp_path / "sb.litmus").write_text(print_test(sb_test()))
    found = here.run("-m", "gpudiy", "run", str(folder), str(tmp_path / "sb.litmus"), "-d", "cuda:0")
    assert found.returncode == 2
    assert "a directory of `gpudiy build` must be the only path" in found.stderr
