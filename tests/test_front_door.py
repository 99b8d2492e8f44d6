"""`import gpudiy`: each function does what its verb does, and importing it costs nothing."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from conftest import ROOT

import gpudiy
from gpudiy import cli

EXAMPLES = ROOT / "docs" / "examples"
MP, SB = EXAMPLES / "mp-cas.litmus", EXAMPLES / "sb.litmus"
HEAVY = ("pandas", "numpy", "jinja2", "pyparsing", "pysat", "rich")


def printed(capsys: pytest.CaptureFixture[str], *arguments: object) -> list[str]:
    """What a verb prints on standard output."""
    cli.main([str(argument) for argument in arguments])
    return capsys.readouterr().out.splitlines()


@pytest.fixture(scope="module")
def two_logs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The logs of two simulated chips."""
    folder = tmp_path_factory.mktemp("logs")
    logs = [str(folder / f"{chip}.jsonl") for chip in ("kepler", "sc")]
    for log, chip in zip(logs, ("kepler", "sc"), strict=True):
        cli.main(["run", str(MP), str(SB), "-d", f"sim:{chip}", "-s", "20000", "--seed", "1", "-o", log, "-q"])
    return logs


def in_new_process(code: str) -> str:
    run = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True, timeout=60)
    return run.stdout.strip()


def test_importing_imports_nothing_heavy() -> None:
    assert in_new_process(f"import sys, gpudiy; print([name for name in {HEAVY} if name in sys.modules])") == "[]"


def test_importing_imports_no_room() -> None:
    loaded = in_new_process("import sys, gpudiy; print(sorted(name for name in sys.modules if 'gpudiy' in name))")
    assert loaded == "['gpudiy', 'gpudiy.version']"


def test_every_name_is_there_and_documented() -> None:
    assert dir(gpudiy) == sorted(gpudiy.__all__)
    for name in gpudiy.__all__:
        found = getattr(gpudiy, name)
        assert name == "__version__" or inspect.getdoc(found), name
        if inspect.isfunction(found):
            assert found.__name__ == name


def test_options_are_keywords() -> None:
    for name in gpudiy.__all__:
        found = getattr(gpudiy, name)
        if inspect.isfunction(found):
            optional = [one for one in inspect.signature(found).parameters.values() if one.default is not one.empty]
            assert all(one.kind is one.KEYWORD_ONLY for one in optional), name


def test_the_names_that_type_checkers_see_are_the_names() -> None:
    """mypy reads the imports of the front door, Python its table of modules."""
    imported = {
        word.strip(" ,()")
        for line in inspect.getsource(gpudiy).splitlines()
        if line.startswith("    from gpudiy.")
        for word in line.partition(" import ")[2].split(",")
    }
    assert imported | {"__version__"} == set(gpudiy.__all__)


@pytest.mark.heavy  # mypy reads the whole of gpudiy
def test_type_checkers_see_real_types(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    file = tmp_path / "user.py"
    file.write_text(
        "import gpudiy\n"
        "reveal_type(gpudiy.read)\n"
        "reveal_type(gpudiy.model('mp.litmus'))\n"
        "gpudiy.run('mp.litmus')\n"
        "gpudiy.modell\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(file)]
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, timeout=600).stdout
    assert 'Revealed type is "def (path: str | pathlib.Path) -> gpudiy.litmus.test.Test"' in said
    assert 'Revealed type is "pandas.core.frame.DataFrame"' in said
    assert 'Missing named argument "device"' in said
    assert 'has no attribute "modell"' in said


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'modell'"):
        gpudiy.modell  # noqa: B018


def test_read() -> None:
    test = gpudiy.read(str(MP))
    assert isinstance(test, gpudiy.Test)
    assert test.name == "mp-cas"
    assert gpudiy.read(MP) == test


def test_read_wants_one_test(tmp_path: Path) -> None:
    both = tmp_path / "both.litmus"
    both.write_text(MP.read_text() + "\n" + SB.read_text())
    with pytest.raises(gpudiy.InputError, match="expected one test, found 2") as caught:
        gpudiy.read(both)
    assert "gpudiy.read_all" in str(caught.value)
    assert [test.name for test in gpudiy.read_all(both)] == ["mp-cas", "SB"]


def test_read_all_takes_tests_and_paths(tmp_path: Path) -> None:
    test = gpudiy.read(MP)
    assert gpudiy.read_all(test) == [test]
    assert gpudiy.read_all([test, str(SB), MP]) == [test, gpudiy.read(SB), test]
    for file in (MP, SB):
        (tmp_path / file.name).write_text(file.read_text())
    assert gpudiy.read_all(tmp_path) == [test, gpudiy.read(SB)]
    assert gpudiy.read_all([]) == []


@pytest.mark.parametrize("call", [gpudiy.read, gpudiy.read_all, gpudiy.model])
def test_no_such_path(call: object) -> None:
    assert callable(call)
    with pytest.raises(gpudiy.InputError, match="no such file") as caught:
        call("nowhere.litmus")
    assert caught.value.path == "nowhere.litmus"


def test_generate_is_the_verb(capsys: pytest.CaptureFixture[str]) -> None:
    for options in ({"family": "coherence"}, {"safe": "Pod** Rfe Fre", "edges": 4, "threads": 2, "exclude": "PodRW"}):
        words = [word for name, value in options.items() for word in (f"--{name}", value)]
        text = "\n".join(printed(capsys, "generate", "-q", *words))
        assert gpudiy.generate(**options) == list(gpudiy.litmus.read_tests(text))  # type: ignore[arg-type]


def test_generate_one_cycle() -> None:
    (test,) = gpudiy.generate(cycle="PodWW Rfe PodRR Fre")
    assert test.name.startswith("MP")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "give one of safe"),
        ({"cycle": "PodWW", "family": "classic"}, "give one of safe"),
        ({"family": "clasic"}, "did you mean 'classic'"),
        ({"cycle": "PodWW Rfee"}, "Rfee"),
        ({"safe": ""}, "no edges"),
        ({"safe": "PodWW", "trees": "some"}, "trees: expected one of all, one"),
        ({"safe": "PodWW", "levels": "x"}, "levels"),
        ({"safe": "PodWW", "edges": 21}, "edges: expected a number from 1 to 20"),
    ],
)
def test_generate_refuses(options: dict[str, object], message: str) -> None:
    with pytest.raises(gpudiy.GpudiyError, match=message):
        gpudiy.generate(**options)  # type: ignore[arg-type]


def test_model_is_the_verb(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [json.loads(line) for line in printed(capsys, "model", MP, SB, "--models", "sc,ptx-6.0", "--json")]
    frame = gpudiy.model([MP, SB], models="sc,ptx-6.0")
    assert list(frame.columns) == ["test", "hash", "model", "answer", "holds", "bounded", "reason", "verdict"]
    for line, row in zip(lines, frame.to_dict("records"), strict=True):
        shown = line["test"], line["content_hash"], line["model"], line["verdict"], line["holds"]
        assert shown == (row["test"], row["hash"], row["model"], row["answer"], row["holds"])


def test_rows_keep_their_verdicts() -> None:
    test = gpudiy.read(MP)
    frame = gpudiy.model(test, models=["ptx-asplos15", "sc"])
    allowed, forbidden = frame["verdict"]
    assert isinstance(allowed, gpudiy.Verdict)
    assert allowed.test is test
    assert isinstance(allowed.execution, gpudiy.Execution)
    assert forbidden.forbidden
    assert forbidden.execution is None


def test_model_of_no_tests() -> None:
    assert gpudiy.model([]).empty
    assert list(gpudiy.model([]).columns) == list(gpudiy.model(MP).columns)


def test_all_outcomes() -> None:
    (verdict,) = gpudiy.model(MP, models="sc", all_outcomes=True)["verdict"]
    assert len(verdict.outcomes) == 3


@pytest.mark.parametrize(("models", "message"), [("ptx-6", "ptx-6"), ("", "no model is named"), ([], "no model")])
def test_bad_models(models: str, message: str) -> None:
    with pytest.raises(gpudiy.InputError, match=message):
        gpudiy.model(MP, models=models)


def test_short_reprs() -> None:
    test = gpudiy.read(MP)
    (verdict,) = gpudiy.model(test, models="ptx-asplos15")["verdict"]
    assert repr(test) == r"<Test mp-cas: 2 threads, exists 1:r0=1 /\ 1:r1=0>"
    assert repr(verdict) == "<Verdict mp-cas: allowed by ptx-asplos15>"
    assert repr(verdict.execution) == "<Execution of mp-cas: 8 events, 1:r0=1; 1:r1=0>"
    (long,) = gpudiy.generate(cycle="PodWR Fre " * 10)
    assert len(repr(long)) < 300 and repr(long).endswith("…>")


def test_a_test_shows_itself_as_html() -> None:
    test = replace(gpudiy.read(MP), doc="<script>alert(1)</script>")
    shown = test._repr_html_()
    assert "atom.cas.b32 r0,[y],1,2" in shown
    assert "└─ warp  P1" in shown
    assert "x = 0 (global)" in shown
    assert "1:r0=1 /\\ 1:r1=0" in shown
    assert "<script>" not in shown and "&lt;script&gt;" in shown
    ElementTree.fromstring(shown)
    assert "#" not in shown, "no colour but that of the text: pages are light or dark"


def test_verdicts_show_their_explanation() -> None:
    allowed, forbidden = gpudiy.model(MP, models="ptx-asplos15,sc")["verdict"]
    for verdict, text in ((allowed, "by this execution"), (forbidden, "sc forbids it")):
        shown = verdict._repr_html_()
        ElementTree.fromstring(f"<div>{shown}</div>")
        assert "<svg" in shown and text in shown
    ElementTree.fromstring(allowed.execution._repr_svg_())


def test_an_undecided_verdict_shows_its_reason() -> None:
    (verdict,) = gpudiy.model(EXAMPLES / "mp-acquire.litmus", models="ptx-asplos15")["verdict"]
    assert verdict.undecided
    assert "gives no meaning" in verdict._repr_html_()


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
    assert found.frame.to_dict("records") == said["tests"]
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


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_build_is_the_verb(tmp_path: Path, cache: None) -> None:
    try:
        frame = gpudiy.build([MP, SB], arch="sm_80,sm_90", output=tmp_path / "python", jobs=1)
    except gpudiy.MissingTool as missing:
        pytest.skip(str(missing))
    assert list(frame.columns) == ["test", "hash", "arch", "file", "optcheck", "reason"]
    assert set(zip(frame["test"], frame["arch"], frame["optcheck"], strict=True)) == {
        (test, arch, "unchanged") for test in ("mp-cas", "SB") for arch in ("sm_80", "sm_90")
    }
    assert cli.main(["build", str(MP), str(SB), "--arch", "sm_80,sm_90", "-q", "-o", str(tmp_path / "verb")]) == 0
    written = [(tmp_path / who / "index.jsonl").read_text() for who in ("verb", "python")]
    assert written[0] == written[1]
    assert all((tmp_path / "python" / str(file)).exists() for file in frame["file"])


def test_build_refuses(tmp_path: Path, cache: None) -> None:
    with pytest.raises(gpudiy.UsageError, match="expected an architecture such as sm_80, not 'kepler'"):
        gpudiy.build(MP, arch="kepler", output=tmp_path / "built")
    with pytest.raises(gpudiy.UsageError, match="expected an architecture"):
        gpudiy.build(MP, arch=[], output=tmp_path / "built")
    (tmp_path / "file").write_text("")
    with pytest.raises(gpudiy.UnwritableOutput):
        gpudiy.build(MP, arch="sm_90", output=tmp_path / "file")
