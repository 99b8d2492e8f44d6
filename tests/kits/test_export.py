"""`gpudiy export`: what is in a kit, and what its programs refuse before they touch a GPU."""

from __future__ import annotations

import json
import os
import subprocess
import zipfile
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import NoReturn

import pytest
from kit_samples import FORK_FAILS, ExportedKit, build_preload, kit_tests

import gpudiy
from gpudiy.cli import main
from gpudiy.devices.settings import make_settings
from gpudiy.harness.build import BuildFailure
from gpudiy.harness.built import is_built_folder, read_index
from gpudiy.harness.module import REGISTERS
from gpudiy.kits.export import EmptyKit, export_kit
from gpudiy.litmus import Test, print_test
from optcheck.binary import read_binary

PROGRAMS = ("program", "run.py")


def lines_of(folder: Path, word: str) -> list[list[str]]:
    return [line.split() for line in (folder / "kit.txt").read_text().splitlines() if line.startswith(f"{word} ")]


def test_the_images_of_a_kit(exported: Path) -> None:
    """Each architecture has a cubin named by its hash, and PTX; a test that optcheck refused is in none of them."""
    images = lines_of(exported, "image")
    assert [(words[1], words[2]) for words in images] == [
        ("80", "cubin"),
        ("80", "ptx"),
        ("90", "cubin"),
        ("90", "ptx"),
    ]
    for _, number, kind, *files in (words[: words.index("|")] for words in images):
        if kind == "cubin":
            data = (exported / files[0]).read_bytes()
            assert sha256(data).hexdigest().startswith(Path(files[0]).stem)
            assert read_binary(data).architecture == f"sm_{number}"
        else:
            assert f".target sm_{number}" in (exported / files[0]).read_text()
            assert "LB+xor" not in (exported / files[0]).read_text()
    assert all(built.file is None for built in read_index(exported) if built.test == "LB+xor")


def test_tests_and_their_binaries(exported: Path) -> None:
    """A test in a cluster has binaries for sm_90 only."""
    lines = (exported / "kit.txt").read_text().splitlines()
    images: dict[str, list[str]] = {}
    for line in lines:
        if line.startswith("test "):
            name = json.loads(line.partition(" | ")[2])["test"]
        elif line.startswith("binary "):
            images.setdefault(name, []).append(line.split()[1])
    assert images.pop("SB3") == ["2", "3"]
    assert sorted(images) == ["SB0", "SB1", "SB2", "SBs"]
    assert all(binaries == ["0", "1", "2", "3"] for binaries in images.values())


def test_a_kit_is_also_a_built_folder(exported: Path) -> None:
    assert is_built_folder(str(exported))


def test_the_sums_are_right(exported: Path) -> None:
    done = subprocess.run(["sha256sum", "-c", "--quiet", "SHA256SUMS"], cwd=exported, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    named = {line.split()[1] for line in (exported / "SHA256SUMS").read_text().splitlines()}
    assert {"kit.txt", "index.jsonl", "run.c", "run.py", "README.txt", "Makefile"} <= named


def run_program(kit: ExportedKit, program: str, *words: str) -> subprocess.CompletedProcess[str]:
    return kit.c(*words) if program == "program" else kit.python(*words)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("file", ["kit.txt", "index.jsonl", "cubin", "ptx", "launches.h", "run_tests.py", "README.txt"])
def test_a_changed_file_is_refused(kit: ExportedKit, program: str, file: str) -> None:
    path = next(kit.folder.glob(f"*{file}"))
    data = bytearray(path.read_bytes())
    if path.suffix == ".py":  # which is read before it can be checked
        data += b"# changed\n"
    else:
        data[len(data) // 2] ^= 1
    path.write_bytes(data)
    found = run_program(kit, program)
    assert found.returncode == 2
    assert f"{path.name}: this file was changed since the kit was made: copy the kit again" in found.stderr
    assert not (kit.folder / "log.jsonl").exists() or not (kit.folder / "log.jsonl").read_text()


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_missing_file_is_named(kit: ExportedKit, program: str) -> None:
    path = next(kit.folder.glob("*.cubin"))
    path.unlink()
    found = run_program(kit, program)
    assert found.returncode == 2
    assert f"{path.name}: this file of the kit is missing" in found.stderr
    (kit.folder / "SHA256SUMS").unlink()
    found = run_program(kit, program)
    assert found.returncode == 2
    assert "run this in the folder of the kit" in found.stderr


@pytest.mark.parametrize("program", PROGRAMS)
def test_without_a_driver_the_reason_is_said_once(kit: ExportedKit, program: str) -> None:
    """Before, it was said three times, and then that all was done."""
    found = run_program(kit, program)
    assert found.returncode == 3
    assert found.stderr.count("error") == 1
    assert "libcuda.so.1, NVIDIA's driver, does not load" in found.stderr or "cuInit: error" in found.stderr
    assert "done" not in found.stderr
    assert not (kit.folder / "log.jsonl").exists()


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("word", ["foo", "-1", "1x", "", "99999999999999999999"])
def test_a_device_that_is_no_number_is_refused(kit: ExportedKit, program: str, word: str) -> None:
    """Before, `foo` was GPU 0."""
    found = run_program(kit, program, "--device", word)
    assert found.returncode == 2
    assert "this is not the number of a GPU" in found.stderr or "expected one argument" in found.stderr


@pytest.mark.parametrize("program", PROGRAMS)
def test_many_images(kit: ExportedKit, program: str) -> None:
    """Before, the program in C refused the image after the 256th."""
    images = [line for line in (kit.folder / "kit.txt").read_text().splitlines() if line.startswith("image ")]
    kit.edit("kit.txt", lambda text: text.replace("\ntable\n", f"\n{images[0]}" * 300 + "\ntable\n", 1))
    found = run_program(kit, program, "--row", "0", "0", "0", "0")
    assert (found.returncode, found.stderr) == (0, "")


def test_a_child_that_cannot_be_started(kit: ExportedKit, tmp_path: Path) -> None:
    """Before, the program said that all was done, with exit code 0, and an interrupt killed all processes."""
    found = kit.run("./program", LD_PRELOAD=build_preload(tmp_path, "fork", FORK_FAILS))
    assert found.returncode == 3
    assert "no child can be started: Resource temporarily unavailable" in found.stderr
    assert "done" not in found.stderr


def test_the_program_compiles_without_a_warning(kit: ExportedKit) -> None:
    done = kit.run("gcc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-o", "warned", "run.c", "-ldl")
    assert done.returncode == 0, done.stderr


def test_make_builds_the_program_of_this_kit(kit: ExportedKit) -> None:
    """A program that was built from an older kit is newer than the files of this one. Before, it was kept."""
    (kit.folder / "program").write_text("of another kit")
    for path in kit.folder.iterdir():
        os.utime(path, (0, 0) if path.name != "program" else (2_000_000_000, 2_000_000_000))
    assert kit.run("make", "-s", "program").returncode == 0
    assert (kit.folder / "program").read_bytes().startswith(b"\x7fELF")


def test_a_zip_unpacks_to_one_folder_and_two_exports_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    test = kit_tests()[0]
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1900000000")
    for name in ("first", "second"):
        kit = export_kit([test], ["sm_80"], tmp_path / name / "kit.zip", make_settings(seed=3), jobs=1)
        assert kit.tests == 1
    first, second = (tmp_path / name / "kit.zip" for name in ("first", "second"))
    assert first.read_bytes() == second.read_bytes()
    with zipfile.ZipFile(first) as archive:
        assert {Path(name).parts[0] for name in archive.namelist()} == {"kit"}
        archive.extractall(tmp_path)
    done = subprocess.run(["sha256sum", "-c", "--quiet", "SHA256SUMS"], cwd=tmp_path / "kit", check=False)
    assert done.returncode == 0


def test_dates_and_modes(tmp_path: Path) -> None:
    """Before, the files of a .zip were of 1980, and only for their owner."""
    test = kit_tests()[0]
    before = datetime.now().replace(microsecond=0) - timedelta(seconds=2)
    export_kit([test], ["sm_80"], tmp_path / "kit.zip", make_settings(seed=3), jobs=1)
    with zipfile.ZipFile(tmp_path / "kit.zip") as archive:
        for entry in archive.infolist():
            expected = 0o100755 if entry.filename == "kit/run.py" else 0o100644
            assert entry.external_attr >> 16 == expected
            assert before <= datetime(*entry.date_time) <= datetime.now()
    export_kit([test], ["sm_80"], tmp_path / "kit", make_settings(seed=3), jobs=1)
    assert (tmp_path / "kit" / "run.py").stat().st_mode & 0o100
    assert not (tmp_path / "kit" / "run.c").stat().st_mode & 0o100


def test_a_kit_without_tests_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before, it was made, and nothing was said in Python."""
    with pytest.raises(EmptyKit, match=r"LB\+xor: optcheck: "):
        gpudiy.export(kit_tests()[6], arch="sm_80", output=tmp_path / "kit", jobs=1)
    assert not (tmp_path / "kit").exists() or not any((tmp_path / "kit").iterdir())

    def break_workers(*_: object) -> list[tuple[Test, BuildFailure]]:
        return [(kit_tests()[0], BuildFailure("the compiler crashed"))]

    monkeypatch.setattr("gpudiy.harness.build_folder.build_tests", break_workers)
    with pytest.raises(EmptyKit, match="the compiler crashed; a Python script must") as raised:
        gpudiy.export(kit_tests()[0], arch="sm_80", output=tmp_path / "kit.zip")
    assert raised.value.exit_code == 3
    assert not (tmp_path / "kit.zip").exists()


def test_a_kit_without_tests_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "lb.litmus"
    path.write_text(print_test(kit_tests()[6]))
    assert main(["export", str(path), "--arch", "sm_80", "-j", "1", "-o", str(tmp_path / "kit.zip")]) == 1
    shown = capsys.readouterr().err
    assert "LB+xor: not built for sm_80" in shown and "no test can be in the kit" in shown
    assert not (tmp_path / "kit.zip").exists()


def test_what_ptx_is_compiled_with(exported: Path) -> None:
    """The registers of a thread, as those of the cubins. Before, the driver was told no limit."""
    assert lines_of(exported, "level") == [["level", "1", str(REGISTERS)]]


def test_the_rule_of_the_warm_up(tmp_path: Path, exported: Path) -> None:
    """That of gpudiy's own runs; before, kits had none."""
    assert lines_of(exported, "warm") == [["warm", "256", "3", "110", "250000", "2000000"]]
    export_kit(kit_tests()[:1], ["sm_80"], tmp_path / "kit", make_settings(seed=1, limit=2.0), jobs=1)
    assert lines_of(tmp_path / "kit", "warm")[0][-1] == "500000"


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = []
    for test in (kit_tests()[0], kit_tests()[5]):
        paths.append(tmp_path / f"{test.name}.litmus")
        paths[-1].write_text(print_test(test))
    words = ["export", *map(str, paths), "--arch", "sm_80", "-j", "1", "--seed", "1"]
    assert main([*words, "-o", str(tmp_path / "kit")]) == 1  # one needs two GPUs
    shown = capsys.readouterr()
    assert f"1 of 2 tests in {tmp_path / 'kit'}, " in shown.out
    assert "SBd: not in the kit: its threads are on 2 devices, there is room for 1" in shown.err
    assert main([*words, "-o", str(tmp_path / "kit"), "-q"]) == 1  # a kit may be replaced
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").touch()
    assert main([*words, "-o", str(tmp_path / "mine")]) == 2
    assert "has other files in it" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.tex"]


def test_a_kit_that_is_replaced_keeps_the_log_of_its_run(tmp_path: Path) -> None:
    """Before, the sums of the second kit named the log, and the third kit deleted it."""
    kit = tmp_path / "kit"
    for number, value in enumerate((1, 2, 3)):
        export_kit([kit_tests()[value - 1]], ["sm_80"], kit, make_settings(seed=value), jobs=1)
        if number == 0:
            (kit / "log.jsonl").write_text("what a GPU said\n")
            (kit / "log-2.jsonl").write_text("what another GPU said\n")
            (kit / "compiled-sm_90-1.cubin").write_bytes(b"what its driver made")
        assert (kit / "log.jsonl").read_text() == "what a GPU said\n"
        assert (kit / "log-2.jsonl").exists() and (kit / "compiled-sm_90-1.cubin").exists()
        assert "log.jsonl" not in (kit / "SHA256SUMS").read_text()
        assert len([path for path in kit.glob("*.cubin") if "compiled" not in path.name]) == 1


def test_an_export_that_breaks_off_leaves_the_kit_as_it_was(tmp_path: Path) -> None:
    """Before, the old kit was gone, and a new one was refused because the folder had other files in it."""
    kit = tmp_path / "kit"

    def interrupt(architecture: str, results: object) -> NoReturn:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export_kit(kit_tests()[:1], ["sm_80"], kit, make_settings(seed=1), watch=interrupt)
    assert not kit.exists() or not any(kit.iterdir())
    export_kit(kit_tests()[:1], ["sm_80"], kit, make_settings(seed=1), jobs=1)
    before = {path.name: path.read_bytes() for path in kit.iterdir()}
    with pytest.raises(KeyboardInterrupt):
        export_kit(kit_tests()[:2], ["sm_80"], kit, make_settings(seed=2), watch=interrupt)
    assert {path.name: path.read_bytes() for path in kit.iterdir()} == before


def test_from_python(tmp_path: Path) -> None:
    kit = gpudiy.export(kit_tests()[0], arch="sm_80", output=tmp_path / "kit", iterations=50, seed=1, jobs=1)
    assert kit.tests == 1
    assert lines_of(tmp_path / "kit", "need")[0][1] == "50"
    with pytest.raises(gpudiy.UsageError):
        gpudiy.export(kit_tests()[0], arch="sm_80", output=tmp_path / "other", optimise=7)


@pytest.mark.heavy
def test_the_classic_family_is_a_few_megabytes(tmp_path: Path) -> None:
    tests = gpudiy.generate(family="classic")
    kit = export_kit(tests, ["sm_80", "sm_90"], tmp_path / "kit.zip", make_settings(seed=1), jobs=1)
    assert kit.tests + len(kit.left_out) == len(tests) == 131
    assert kit.tests > 120
    assert (tmp_path / "kit.zip").stat().st_size < 3_000_000
