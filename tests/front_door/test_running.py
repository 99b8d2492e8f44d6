"""Devices from Python: run, build, check_lock."""

from __future__ import annotations

from pathlib import Path

import pytest
from front_door_examples import MP, SB, printed

import gpudiy
from gpudiy import cli


def test_check_lock_is_the_verb(capsys: pytest.CaptureFixture[str]) -> None:
    report = gpudiy.check_lock("test-and-set-relaxed", models="ptx-6.0")
    assert isinstance(report, gpudiy.LockReport)
    assert report.judgement is gpudiy.Judgement.WRONG
    text = "\n".join(printed(capsys, "lock", "check", "test-and-set-relaxed", "--models", "ptx-6.0", "-q"))
    assert str(report) == text
    assert "<svg" in report._repr_html_()


def test_run_is_the_verb(tmp_path: Path) -> None:
    for name, words, options in (
        ("plain", [], {}),
        ("until", ["--until", "observed", "--incantation", "none"], {"until": "observed", "incantation": "none"}),
    ):
        verb, python = (tmp_path / f"{name}.{who}.jsonl" for who in ("verb", "python"))
        said = ["run", str(MP), str(SB), "-d", "sim:kepler,sim:sc", "-s", "40000", "--seed", "7", "-q", *words]
        assert cli.main([*said, "-o", str(verb)]) == 0
        frame = gpudiy.run(
            [MP, SB], device="sim:kepler,sim:sc", iterations=40_000, seed=7, output=python, **options,  # type: ignore[arg-type]
        )  # fmt: skip
        assert list(frame.columns) == [column.name for column in gpudiy.logs.SCHEMA]
        times = ["seconds", "started", "file", "line"]
        expected = gpudiy.read_log(verb).drop(columns=times)
        assert frame.drop(columns=times).to_dict("records") == expected.to_dict("records")
        assert gpudiy.read_log(python).drop(columns=times).to_dict("records") == expected.to_dict("records")


def test_run_resumes(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    assert len(gpudiy.run(MP, device="sim:sc", iterations=1000, output=log)) == 1
    again = gpudiy.run([MP, SB], device="sim:sc", iterations=1000, output=log, resume=True)
    assert list(again["test"]) == ["SB"]
    assert list(gpudiy.read_log(log)["test"]) == ["mp-cas", "SB"]


@pytest.mark.parametrize(
    "options",
    [
        {"device": "gpu"},
        {"device": "sim:kepler9"},
        {"device": ""},
        {"device": []},
        {"iterations": 0},
        {"limit": -1.0},
        {"until": "noon"},
        {"incantation": "abracadabra"},
        {"output": "log.doc"},
        {"output": "log", "format": "scroll"},
        {"resume": True},
        {"format": "text"},
    ],
)
def test_run_refuses(options: dict[str, object]) -> None:
    with pytest.raises(gpudiy.GpudiyError) as caught:
        gpudiy.run(MP, **{"device": "sim:sc", "iterations": 10, **options})  # type: ignore[arg-type]
    assert caught.value.exit_code == 2


def test_an_interrupt_passes_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was finished before is in the log."""
    from gpudiy.devices.runner import Runner

    run_one = Runner._run_one

    def interrupted(self: Runner, test: gpudiy.Test, *rest: object) -> object:
        if test.name == "SB":
            raise KeyboardInterrupt
        return run_one(self, test, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Runner, "_run_one", interrupted)
    with pytest.raises(KeyboardInterrupt):
        gpudiy.run([MP, SB], device="sim:sc", iterations=1000, output=tmp_path / "log.jsonl")
    assert list(gpudiy.read_log(tmp_path / "log.jsonl")["test"]) == ["mp-cas"]


def test_build_is_the_verb(tmp_path: Path, own_cache: Path) -> None:
    try:
        frame = gpudiy.build([MP, SB], arch="sm_80,sm_90", output=tmp_path / "python", jobs=1)
    except gpudiy.MissingTool as missing:
        pytest.skip(str(missing))
    assert list(frame.columns) == ["test", "hash", "arch", "file", "optcheck", "reason", "ptx", "sass"]
    assert set(zip(frame["test"], frame["arch"], frame["optcheck"], strict=True)) == {
        (test, arch, "unchanged") for test in ("mp-cas", "SB") for arch in ("sm_80", "sm_90")
    }
    assert cli.main(["build", str(MP), str(SB), "--arch", "sm_80,sm_90", "-q", "-o", str(tmp_path / "verb")]) == 0
    written = [(tmp_path / who / "index.jsonl").read_text() for who in ("verb", "python")]
    assert written[0] == written[1]
    assert all((tmp_path / "python" / str(file)).exists() for file in frame["file"])


def test_build_refuses(tmp_path: Path, own_cache: Path) -> None:
    with pytest.raises(gpudiy.UsageError, match="expected an architecture such as sm_80, not 'kepler'"):
        gpudiy.build(MP, arch="kepler", output=tmp_path / "built")
    with pytest.raises(gpudiy.UsageError, match="expected an architecture"):
        gpudiy.build(MP, arch=[], output=tmp_path / "built")
    (tmp_path / "file").write_text("")
    with pytest.raises(gpudiy.UnwritableOutput):
        gpudiy.build(MP, arch="sm_90", output=tmp_path / "file")


@pytest.mark.parametrize("options", [{"seed": "x"}, {"iterations": 1e5}, {"iterations": None}])
def test_numbers_of_a_run_are_whole(options: dict[str, object]) -> None:
    with pytest.raises(gpudiy.UsageError, match="expected a whole number, not"):
        gpudiy.run(MP, device="sim:sc", **options)  # type: ignore[arg-type]
