"""`gpudiy run --import`: what a kit wrote becomes records, and nothing that was changed or lost becomes evidence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from kit_samples import GPU, SEED, ExportedKit, SampleLog, kit_tests

import gpudiy
from gpudiy.cli import main
from gpudiy.devices.settings import make_settings
from gpudiy.kits.export import export_kit
from gpudiy.kits.importing import read_records
from gpudiy.kits.kit_log import read_kit_log
from gpudiy.litmus import content_hash, print_test
from gpudiy.logs.decision import Sighting, decide_record
from gpudiy.logs.log import LogError
from gpudiy.logs.record import Ending, Record


def records_of(path: str) -> dict[str, Record]:
    return {record.test: record for record in read_records(read_kit_log(path))}


def finish(log: SampleLog, test: int, launches: int = 3, weak: int = 0) -> None:
    log.begin(test)
    for _ in range(launches):
        log.launch(weak)
    log.end()


def test_a_record_is_understood_without_the_kit(kit: ExportedKit) -> None:
    log = SampleLog(kit.folder)
    finish(log, 0, launches=3, weak=2)
    record = records_of(log.write())["SB0"]
    test = kit_tests()[0]
    assert record.text == print_test(test)
    assert record.hash == content_hash(test)
    assert (record.device, record.chip, record.architecture) == ("cuda:0", "Sample", "sm_80")
    assert record.driver == "580.65.06 (CUDA 13.0)"
    assert record.toolkit.startswith("NVRTC ")
    assert record.optcheck == "unchanged"
    assert record.seed == SEED
    assert dict(record.options)["incantation"] == "default"
    assert int(dict(record.options)["testing_groups"]) == log.plan["testing_groups"]
    assert record.tool.endswith("kit, run.c")
    assert record.source.endswith("log.jsonl:17") or ":" in record.source
    assert dict(record.device_info)["kit"]
    assert dict(record.device_info)["uuid"] == GPU
    assert dict(record.device_info)["pci"] == "00000000:65:00.0"
    assert record.positive == 6
    assert record.iterations == sum(entry.count for entry in record.histogram)
    assert record.liveness is not None and record.liveness.launches == 3
    assert record.launch_sums is not None
    assert record.seconds == 0.003
    assert decide_record(record).sighting is Sighting.OBSERVED


def test_what_is_not_in_the_kit_has_a_record_too(kit: ExportedKit) -> None:
    """optcheck refused one test when the kit was made, another one needs two GPUs."""
    log = SampleLog(kit.folder)
    finish(log, 0)
    records = records_of(log.write())
    assert records["LB+xor"].ending is Ending.REFUSED
    assert records["LB+xor"].reason.startswith("optcheck: ")
    assert records["SBd"].ending is Ending.NOT_RUNNABLE
    assert "2 devices" in records["SBd"].reason
    assert records["SB0"].ending is Ending.FINISHED


ENDS = {
    "lost": ({"how": "error", "code": 999, "call": "cuStreamSynchronize", "message": "unknown error"}, "device lost"),
    "memory": ({"how": "error", "code": 2, "call": "cuMemAlloc", "message": "out of memory"}, "out of memory"),
    "image": ({"how": "error", "code": 222, "call": "cuModuleLoadDataEx", "message": "unsupported"}, "build failed"),
    "fault": ({"how": "error", "code": 719, "call": "cuStreamSynchronize", "message": "launch failure"}, "crashed"),
    "watchdog": ({"how": "error", "code": 702, "call": "cuStreamSynchronize", "message": "timed out"}, "timeout"),
    "hang": ({"how": "hung", "seconds": 120}, "timeout"),
    "death": ({"how": "killed", "signal": 11}, "crashed"),
    "exit": ({"how": "died", "exit": 1}, "crashed"),
    "no room": ({"how": "no room"}, "not runnable"),
    "nothing": ({"how": "no outcomes"}, "timeout"),
}


@pytest.mark.parametrize("case", ENDS)
def test_a_failure_is_never_not_observed(kit: ExportedKit, case: str) -> None:
    end, ending = ENDS[case]
    log = SampleLog(kit.folder)
    log.begin(0)
    log.launch()
    log.end(**end)  # type: ignore[arg-type]
    record = records_of(log.write())["SB0"]
    assert record.ending == ending
    assert record.reason
    assert not decide_record(record).sighting.is_evidence


def test_an_interrupted_test_keeps_what_it_counted(kit: ExportedKit) -> None:
    log = SampleLog(kit.folder)
    log.begin(0)
    log.launch()
    log.add({"stopped": "interrupted"})
    record = records_of(log.write())["SB0"]
    assert (record.ending, record.reason) == (Ending.STOPPED, "interrupted")
    assert record.iterations > 0


def test_a_test_that_was_run_again_counts_once(kit: ExportedKit) -> None:
    """The first run broke off: its launches have the same seeds as those of the second."""
    log = SampleLog(kit.folder)
    log.begin(0)
    log.launch(weak=1)
    log.add_device(80, "cubin", 80)
    finish(log, 0, launches=2)
    record = records_of(log.write())["SB0"]
    assert record.positive == 0
    assert record.liveness is not None and record.liveness.launches == 2


WRONG_COUNTS = {"finished": "threads finished", "overflow": "different outcomes"}


@pytest.mark.parametrize("counter", WRONG_COUNTS)
def test_a_launch_that_miscounts_is_a_failure(kit: ExportedKit, counter: str) -> None:
    log = SampleLog(kit.folder)
    log.begin(0)
    log.launch()
    log.launch(**{counter: 1})  # type: ignore[arg-type]
    log.end()
    record = records_of(log.write_changed('"slots":256', '"slots":65536'))["SB0"]
    assert record.ending is Ending.CRASHED
    assert WRONG_COUNTS[counter] in record.reason


def test_outcomes_that_are_missing_are_a_failure(kit: ExportedKit) -> None:
    log = SampleLog(kit.folder)
    log.begin(0)
    log.launch(weak=5)
    log.end()
    record = records_of(log.write_changed('"outcomes":[[5,0,0],', '"outcomes":[[4,0,0],'))["SB0"]
    assert record.ending is Ending.CRASHED
    assert "instances gave" in record.reason


def test_threads_that_never_overlapped_are_no_evidence_in_the_record_itself(kit: ExportedKit) -> None:
    log = SampleLog(kit.folder)
    log.begin(0)
    log.launch(overlaps=0)
    log.end()
    record = records_of(log.write())["SB0"]
    assert record.no_evidence == decide_record(record).reason != ""
    seen = SampleLog(kit.folder)
    finish(seen, 0, weak=1)
    assert records_of(seen.write())["SB0"].no_evidence == ""


def test_another_binary_than_the_checked_one_is_no_evidence(kit: ExportedKit) -> None:
    log = SampleLog(kit.folder)
    log.begin(0, digest=64 * "a")
    log.launch(weak=1)
    log.end()
    record = records_of(log.write())["SB0"]
    assert record.optcheck == "unverifiable"
    assert "which optcheck has checked" in record.optcheck_text
    assert not decide_record(record).sighting.is_evidence


def test_compiled_ptx_is_no_evidence_until_optcheck_has_seen_it(kit: ExportedKit) -> None:
    log = SampleLog(kit.folder, chip=120, kind="ptx", target=80)
    log.begin(0, file="compiled-sm_120-1.cubin", digest=64 * "a")
    log.launch(weak=1)
    log.end()
    record = records_of(log.write())["SB0"]
    assert record.architecture == "sm_120"
    assert record.optcheck == "unverifiable"
    assert "compiled-sm_120-1.cubin, beside the log" in record.optcheck_text
    (kit.folder / "compiled-sm_120-1.cubin").write_bytes(b"something else")
    assert "is not the binary that ran" in records_of(log.write())["SB0"].optcheck_text


def test_a_chip_without_binaries(kit: ExportedKit) -> None:
    log = SampleLog(kit.folder, chip=75, kind="", target=0)
    about = log.tests[0][1]
    log.add({"begin": 0, "about": about, "started": log.started})
    log.add({"end": 0, "how": "no binary", "launches": 0})
    record = records_of(log.write())["SB0"]
    assert record.ending is Ending.BUILD_FAILED
    assert record.reason == "the kit has no binary for sm_75, only for sm_80, sm_90"


def test_launches_of_another_version_are_not_counted(kit: ExportedKit) -> None:
    log = SampleLog(kit.folder)
    finish(log, 0)
    path = log.write_changed('"testing_groups":', '"tested_groups":')
    with pytest.raises(LogError, match="whose launches this version cannot count"):
        records_of(path)
    assert main(["run", "--import", path]) == 2


def test_the_command_line(kit: ExportedKit, capsys: pytest.CaptureFixture[str]) -> None:
    log = SampleLog(kit.folder)
    finish(log, 0, weak=3)
    path, output = log.write(), str(kit.folder / "records.jsonl")
    assert main(["run", "--import", path, "-o", output, "-q"]) == 3  # one was refused
    shown = capsys.readouterr().out
    assert "on cuda:0: Sample" in shown
    assert "SB0" in shown
    assert main(["run", "--import", path, "--device", "cuda:0"]) == 2
    assert main(["run", path]) == 2
    assert main(["report", path, "-o", str(kit.folder / "report.html")]) == 2
    assert "gpudiy run --import" in capsys.readouterr().err
    assert main(["table", output]) == 0
    assert len(gpudiy.read_log(output)) == len(gpudiy.import_log(path)) == 3
    with pytest.raises(LogError, match="this is not the log of a kit"):
        gpudiy.import_log(output)
    json.loads(Path(output).read_text().splitlines()[0])


def test_binaries_for_one_chip_only(tmp_path: Path) -> None:
    """What ran as sm_90a counts. Before, the kit was said to have no binary for sm_90, and every launch was dropped."""
    test = kit_tests()[0]
    export_kit([test], ["sm_90a"], tmp_path / "kit", make_settings(seed=SEED), jobs=1)
    log = SampleLog(tmp_path / "kit", chip=90, kind="exact")
    finish(log, 0, weak=2)
    (record,) = records_of(log.write()).values()
    assert (record.ending, record.reason, record.optcheck) == (Ending.FINISHED, "", "unchanged")
    assert record.positive == 6


def test_a_test_without_a_binary_for_this_chip(kit: ExportedKit) -> None:
    """A test in a cluster on a chip without clusters. Before, its record said that the program crashed."""
    log = SampleLog(kit.folder)
    number, about = next((n, one[1]) for n, one in enumerate(log.tests) if one[1]["test"] == "SB3")
    log.add({"begin": number, "about": about, "started": log.started})
    log.add({"end": number, "how": "no binary", "launches": 0})
    record = records_of(log.write())["SB3"]
    assert (record.ending, record.reason) == (Ending.NOT_RUNNABLE, "sm_80 has no clusters")


@pytest.mark.heavy
def test_a_family_of_chips(tmp_path: Path) -> None:
    """A kit for sm_100f serves sm_103. Before, its cubin was taken to be for sm_100 alone."""
    export_kit([kit_tests()[0]], ["sm_100", "sm_100f"], tmp_path / "kit", make_settings(seed=SEED), jobs=1)
    kinds = [line.split()[1:3] for line in (tmp_path / "kit" / "kit.txt").read_text().splitlines() if "image " in line]
    assert kinds == [["100", "cubin"], ["100", "ptx"], ["100", "family"]]
    log = SampleLog(tmp_path / "kit", chip=103, kind="family", target=100)
    log.settings["architectures"] = ["sm_100f"]
    finish(log, 0, weak=2)
    (record,) = records_of(log.write()).values()
    assert (record.ending, record.optcheck, record.positive) == (Ending.FINISHED, "unchanged", 6)


def test_launches_that_warm_the_gpu_up_do_not_count(kit: ExportedKit) -> None:
    """Before, kits had no warm-up: the launches at low clocks counted."""
    log = SampleLog(kit.folder)
    log.begin(0)
    for microseconds in (200_000, 100_000, 100_000, 100_000):
        log.launch(weak=9, warm=True, microseconds=microseconds)
    log.launch(weak=1)
    log.end()
    record = records_of(log.write())["SB0"]
    assert record.positive == 1
    assert record.liveness is not None and record.liveness.launches == 1
    assert record.seconds == 0.001
    assert dict(record.options)["warm-up"] == "4 launches in 0.5 s: settled"
    unsettled = SampleLog(kit.folder)
    unsettled.begin(0)
    unsettled.launch(warm=True)
    unsettled.launch()
    unsettled.end()
    assert dict(records_of(unsettled.write())["SB0"].options)["warm-up"] == "1 launches in 0.001 s: not settled"


def test_a_warm_up_that_miscounts_is_a_failure(kit: ExportedKit) -> None:
    log = SampleLog(kit.folder)
    log.begin(0)
    log.launch(warm=True, finished=1)
    log.launch()
    log.end()
    record = records_of(log.write())["SB0"]
    assert record.ending is Ending.CRASHED and "threads finished" in record.reason


def test_the_options_of_a_run(kit: ExportedKit) -> None:
    """Memory and occupancy, as records of runs have them. Before, both were missing."""
    log = SampleLog(kit.folder)
    finish(log, 0)
    options = dict(records_of(log.write())["SB0"].options)
    assert options["memory"] == "device"
    groups = int(options["testing_groups"]) + int(options["stress_groups"])
    warps = -(-groups // 4) * -(-int(options["group_size"]) // 32)
    assert options["occupancy"] == f"{warps} of 64 warps"


def test_a_log_is_not_overwritten_by_its_records(kit: ExportedKit, capsys: pytest.CaptureFixture[str]) -> None:
    log = SampleLog(kit.folder)
    finish(log, 0)
    path = log.write()
    before = Path(path).read_text()
    assert main(["run", "--import", path, "-o", path]) == 2
    assert "it cannot be written, too" in capsys.readouterr().err
    assert main(["run", "--import", path, "-o", str(kit.folder / "." / "log.jsonl")]) == 2
    assert Path(path).read_text() == before


def test_a_log_counts_once(kit: ExportedKit, capsys: pytest.CaptureFixture[str]) -> None:
    """Twice the same file, or a copy that was made before the log grew: before, every record was there twice."""
    log = SampleLog(kit.folder)
    finish(log, 0)
    early = kit.folder / "early.jsonl"
    early.write_text(log.text())
    finish(log, 1)
    path = log.write()
    for other in (path, str(early)):
        assert main(["run", "--import", path, other, "-o", str(kit.folder / "records.jsonl")]) == 2
        assert "this is the same log as" in capsys.readouterr().err
    assert not (kit.folder / "records.jsonl").exists()


def test_records_appear_together_or_not_at_all(kit: ExportedKit, monkeypatch: pytest.MonkeyPatch) -> None:
    log = SampleLog(kit.folder)
    finish(log, 0)
    output = kit.folder / "records.jsonl"
    path = log.write_changed('"testing_groups":', '"tested_groups":')
    assert main(["run", "--import", path, "-o", str(output)]) == 2
    assert not output.exists()
    path = log.write()
    monkeypatch.setattr("gpudiy.logs.writing.print_json_line", lambda record: 1 / 0)
    assert main(["run", "--import", path, "-o", str(output)]) == 3
    assert not output.exists()


def test_a_log_without_a_run(kit: ExportedKit, capsys: pytest.CaptureFixture[str]) -> None:
    """The GPU never opened. Before, this was exit code 0 and an empty file."""
    log = SampleLog(kit.folder)
    log.lines.pop()
    log.add({"stopped": "device lost"})
    output = kit.folder / "records.jsonl"
    assert main(["run", "--import", log.write(), "-o", str(output)]) == 3
    assert "no test was run" in capsys.readouterr().err
    assert not output.exists()
