"""Which image of a kit a chip runs: a cubin, or PTX that its driver compiles."""

from __future__ import annotations

from pathlib import Path

import pytest
from cuda_standin import image_hash
from kit_machine import ITERATIONS, PROGRAMS, KitMachine, Make, finishes, place

from gpudiy.harness.module import REGISTERS, assembler_for
from gpudiy.logs.decision import decide_record
from gpudiy.logs.record import Ending

pytestmark = pytest.mark.cuda


def add_compiled(kit: KitMachine) -> bytes:
    """Let the driver compile the PTX of a kit for sm_80, as nvJitLink does it for sm_90."""
    texts = [(kit.folder / f"{name}-sm_80.ptx").read_bytes() for name in ("tests", "kernels")]
    cubin = assembler_for("sm_80").linker.link(texts, "sm_90", 1, REGISTERS)
    kernels = kit.here.directory / "kernels"
    name = image_hash(b"".join(text + b"\0" for text in texts))
    (kernels / f"{name:016x}.compiled").write_bytes(cubin)
    (host_build,) = {path.resolve() for path in kernels.glob("*.so")}
    (kernels / f"{image_hash(cubin):016x}.so").symlink_to(host_build)
    return cubin


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_cubin_serves_later_chips_of_its_family(kit_machines: Make, program: str) -> None:
    """A kit for sm_75 and sm_80 on a chip of sm_80: the better one is taken."""
    kit = KitMachine(kit_machines(), [place("cta")], ["sm_75", "sm_80"])
    assert kit.run(program).returncode == 0
    assert {entry["architecture"] for entry in kit.here.journal.entries("module")} == {"80"}


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_chip_that_the_kit_has_nothing_for(kit_machines: Make, program: str) -> None:
    kit = KitMachine(kit_machines("small75"), [place("cta")], ["sm_80"])
    found = kit.run(program)
    assert found.returncode == 0
    record = kit.records()["SB.cta1"]
    assert record.ending is Ending.BUILD_FAILED
    assert record.reason == "the kit has no binary for sm_75, only for sm_80"
    assert kit.here.journal.entries("launch") == []


@pytest.mark.parametrize("program", PROGRAMS)
def test_ptx_is_compiled_for_later_chips_and_then_checked(kit_machines: Make, program: str) -> None:
    """The driver compiles it; optcheck says what that is worth when the cubin came back with the log."""
    here = kit_machines("small90")
    test = place("cta")
    kit = KitMachine(here, [test], ["sm_80"])
    cubin = add_compiled(kit)
    found = kit.run(program)
    assert found.returncode == 0, found.stderr
    assert here.journal.violations == []
    assert [entry["level"] for entry in here.journal.entries("link")] == ["1"]
    (compiled,) = kit.folder.glob("compiled-*.cubin")
    assert compiled.read_bytes() == cubin
    record = kit.records()["SB.cta1"]
    assert (record.optcheck, record.optcheck_text) == ("unchanged", "")
    assert record.iterations >= ITERATIONS
    compiled.unlink()
    record = kit.records()["SB.cta1"]
    assert record.optcheck == "unverifiable"
    assert not decide_record(record).sighting.is_evidence


@pytest.mark.parametrize("program", PROGRAMS)
def test_ptx_that_the_driver_refuses(kit_machines: Make, program: str) -> None:
    kit = KitMachine(kit_machines("small90"), [place("cta")], ["sm_80"])
    found = kit.run(program)
    assert found.returncode == 3
    record = kit.records()["SB.cta1"]
    assert record.ending is Ending.BUILD_FAILED
    assert "cuLinkComplete failed" in record.reason


@pytest.mark.parametrize("program", PROGRAMS)
def test_ptx_is_compiled_with_the_registers_of_the_cubins(kit_machines: Make, program: str) -> None:
    kit = KitMachine(kit_machines("small90"), [place("cta")], ["sm_80"])
    add_compiled(kit)
    assert kit.run(program, **kit.identify("a")).returncode == 0
    assert kit.here.journal.entries("linker") == [{"registers": str(REGISTERS)}]


@pytest.mark.parametrize("program", PROGRAMS)
def test_ptx_takes_the_place_of_a_cubin_that_the_driver_refuses(
    kit_machines: Make, tmp_path: Path, program: str
) -> None:
    """Error 209 for a cubin of the same family. Before, the test could not be run."""
    (tmp_path / "once").touch()
    tests = [place("cta", value) for value in (11, 12)]
    kit = KitMachine(
        kit_machines("small90", faults=f"cuModuleLoadDataEx=209@{tmp_path / 'once'}"), tests, ["sm_80", "sm_90"]
    )
    texts = [(kit.folder / f"{name}-sm_90.ptx").read_bytes() for name in ("tests", "kernels")]
    cubin = assembler_for("sm_90").linker.link(texts, "sm_90", 1, REGISTERS)
    kernels = kit.here.directory / "kernels"
    (kernels / f"{image_hash(b''.join(text + bytes(1) for text in texts)):016x}.compiled").write_bytes(cubin)
    (kernels / f"{image_hash(cubin):016x}.so").symlink_to(next(path.resolve() for path in kernels.glob("*.so")))
    found = kit.run(program)
    assert found.returncode == 0, found.stderr
    assert "its PTX is compiled" in found.stderr
    for record in kit.records().values():
        assert finishes(record) and record.optcheck == "unchanged"
        assert "sm_90 ptx" in dict(record.device_info)["binary"]


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_the_linker_says_is_shown(kit_machines: Make, program: str) -> None:
    """Before, the program in Python did not show it."""
    kit = KitMachine(kit_machines("small90"), [place("cta")], ["sm_80"])
    found = kit.run(program, **kit.identify("a"))
    assert found.returncode == 3
    assert "run: the linker says why\nrun: cuLinkComplete: error 218" in found.stderr
