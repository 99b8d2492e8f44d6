"""Tests from Python: read, generate, and how they show themselves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from front_door_examples import MP, SB, printed

import gpudiy


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


def test_mistakes_about_tests_are_named(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    gpudiy.write_log(gpudiy.run(MP, device="sim:sc", iterations=100, seed=1), log)
    with pytest.raises(gpudiy.InputError, match="this is a log, not a test"):
        gpudiy.read(log)
    with pytest.raises(gpudiy.UsageError, match="this is the text of a test, not a path"):
        gpudiy.read(MP.read_text())
    for wrong, name in ((None, "NoneType"), (3, "int"), ([None], "NoneType"), (gpudiy.read_log(log), "DataFrame")):
        with pytest.raises(gpudiy.UsageError, match=f"expected a test or the path of one, or several, not {name}"):
            gpudiy.read_all(wrong)  # type: ignore[arg-type]
