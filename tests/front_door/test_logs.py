"""Logs from Python: compare, conform, table, report."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from front_door_examples import MP, SB, printed

import gpudiy
from gpudiy import cli


@pytest.fixture(scope="module")
def two_logs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The logs of two simulated chips."""
    folder = tmp_path_factory.mktemp("logs")
    logs = [str(folder / f"{chip}.jsonl") for chip in ("kepler", "sc")]
    for log, chip in zip(logs, ("kepler", "sc"), strict=True):
        cli.main(["run", str(MP), str(SB), "-d", f"sim:{chip}", "-s", "20000", "--seed", "1", "-o", log, "-q"])
    return logs


def test_compare_is_the_verb(capsys: pytest.CaptureFixture[str], two_logs: list[str]) -> None:
    said = json.loads("\n".join(printed(capsys, "compare", *two_logs, "--json")))
    found = gpudiy.compare(two_logs)
    assert json.loads(json.dumps(found.as_json())) == said
    assert list(found.frame.columns) == [
        "first", "relation", "second", "common", "both", "only_first", "only_second", "undecided",
    ]  # fmt: skip
    assert found.frame["relation"][0] == said["pairs"][0]["relation"]
    assert said["pairs"][0]["relation"] in repr(found)
    assert "<table" in found._repr_html_()


def test_conform_is_the_verb(capsys: pytest.CaptureFixture[str], two_logs: list[str]) -> None:
    said = json.loads("\n".join(printed(capsys, "conform", *two_logs, "--model", "sc", "--json", "-q")))
    found = gpudiy.conform(two_logs, "sc")
    assert json.loads(json.dumps(found.as_json())) == said
    assert list(found.frame.columns) == ["test", "chip", "answer", "sightings", "iterations"]
    shown = [{name: test[name] for name in found.frame.columns} for test in said["tests"]]
    assert found.frame.to_dict("records") == shown
    assert "observed but forbidden" in repr(found)
    assert "<table" in found._repr_html_()


def test_table_is_the_verb(capsys: pytest.CaptureFixture[str], two_logs: list[str]) -> None:
    for words, options in (([], {}), (["--sort", "rate", "--reverse", "--absolute"], {"sort": "rate"})):
        reverse = {"reverse": True, "absolute": True} if options else {}
        text = "\n".join(printed(capsys, "table", *two_logs, *words))
        tables = gpudiy.table(two_logs, **options, **reverse)  # type: ignore[arg-type]
        assert str(tables).strip() == text.strip()
    assert "| mp-cas |" in tables._repr_markdown_()


def test_report_is_the_verb(tmp_path: Path, two_logs: list[str]) -> None:
    page = gpudiy.report(two_logs, models=())
    page.write(tmp_path / "python.html")
    assert cli.main(["report", *two_logs, "--models", "none", "-o", str(tmp_path / "verb.html")]) == 0
    assert len((tmp_path / "python.html").read_text()) == pytest.approx(len((tmp_path / "verb.html").read_text()), 100)
    assert repr(page) == "<HtmlReport: 2 tests on 2 chips>"


def test_logs_are_paths_or_frames(two_logs: list[str]) -> None:
    frame = gpudiy.read_log(two_logs)
    assert gpudiy.compare(frame).frame.equals(gpudiy.compare(two_logs).frame)
    assert list(frame.columns) == [column.name for column in gpudiy.logs.SCHEMA]


@pytest.mark.parametrize(
    "call",
    [
        lambda: gpudiy.read_log("nowhere.log"),
        lambda: gpudiy.compare("nowhere.log"),
        lambda: gpudiy.conform("nowhere.log", "sc"),
        lambda: gpudiy.conform(MP, "scc"),
        lambda: gpudiy.table("nowhere.log"),
        lambda: gpudiy.table("nowhere.log", kind="round"),  # type: ignore[arg-type]
        lambda: gpudiy.table("nowhere.log", sort="weight"),  # type: ignore[arg-type]
        lambda: gpudiy.report("nowhere.log"),
        lambda: gpudiy.model(MP, engine="steam"),  # type: ignore[arg-type]
        lambda: gpudiy.check_lock("nowhere.cu"),
        lambda: gpudiy.check_lock("no-such-lock"),
        lambda: gpudiy.check_lock("test-and-set", models="ptx"),
        lambda: gpudiy.check_lock("test-and-set", device="gpu"),
    ],
)
def test_errors_are_of_one_family(call: Callable[[], object]) -> None:
    with pytest.raises(gpudiy.GpudiyError) as caught:
        call()
    assert caught.value.exit_code == 2


def test_mistakes_about_logs_are_named(two_logs: list[str]) -> None:
    with pytest.raises(gpudiy.InputError, match="this is a test, not a log"):
        gpudiy.read_log(MP)
    with pytest.raises(gpudiy.UsageError, match="expected paths of logs, not Test"):
        gpudiy.read_log(gpudiy.read(MP))  # type: ignore[arg-type]
    for wrong in (None, 3, gpudiy.read(MP)):
        with pytest.raises(gpudiy.UsageError, match="expected paths of logs, records, or a DataFrame of records, not"):
            gpudiy.compare(wrong)  # type: ignore[arg-type]
    with pytest.raises(gpudiy.InputError, match="this DataFrame has no column `iterations`"):
        gpudiy.table(gpudiy.model(MP, models="sc"))
    with pytest.raises(gpudiy.UsageError, match="by: expected one of chip, log"):
        gpudiy.compare(two_logs, by="device")  # type: ignore[arg-type]


def test_patterns_and_models_may_be_one_text(two_logs: list[str]) -> None:
    one, many = (
        gpudiy.table(two_logs, tests=tests, chips=["simulated SC"]) for tests in ("mp-cas,S*", ["mp-cas", "S*"])
    )
    assert str(one) == str(many) and "mp-cas" in str(one)
    assert gpudiy.report(two_logs, tests="mp-cas", models="sc").tests == ["mp-cas"]
