"""Models from Python: the same answers as the verb, with their verdicts."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest
from front_door_examples import EXAMPLES, MP, SB, printed

import gpudiy


def test_model_is_the_verb(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [json.loads(line) for line in printed(capsys, "model", MP, SB, "--models", "sc,ptx-6.0", "--json")]
    frame = gpudiy.model([MP, SB], models="sc,ptx-6.0")
    names = "test hash model answer holds bounded reason dependencies verdict"
    assert list(frame.columns) == names.split()
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


@pytest.mark.parametrize("options", [{"unroll": 0}, {"jobs": 0}, {"limit": -1}])
def test_bad_numbers(options: dict[str, int]) -> None:
    with pytest.raises(gpudiy.UsageError, match=next(iter(options))):
        gpudiy.model(MP, **options)  # type: ignore[arg-type]
