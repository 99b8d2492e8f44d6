"""Plans: what they say, and errors that point at what is wrong."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from gpudiy.campaign.plan import SECTIONS, CampaignPlan, parse_plan, plan_template, read_plan
from gpudiy.campaign.plan_text import PlanText
from gpudiy.campaign.test_set import PlannedTest
from gpudiy.campaign.unit import Unit, list_groups
from gpudiy.errors import InputError
from gpudiy.harness.incantation_text import IncantationBook
from gpudiy.logs.memory_place import MemoryPlace


def plan(text: str) -> CampaignPlan:
    return parse_plan(PlanText.parse(text, "my.toml"), Path("my.toml"))


def test_the_template_is_a_plan_with_all_defaults() -> None:
    made = plan(plan_template("my", ["classic"], ["sim:kepler"]))
    assert made.tests.families == ("classic",)
    assert made.run.devices == ("sim:kepler",)
    for name, kind in SECTIONS.items():
        for entry in fields(kind):
            if (name, entry.name) not in (("tests", "families"), ("run", "devices")):
                assert getattr(getattr(made, name), entry.name) == entry.default


def test_the_template_explains_every_key() -> None:
    text = plan_template("my", [], [])
    for kind in SECTIONS.values():
        for entry in fields(kind):
            assert f"{entry.name} = " in text
            assert entry.metadata["what"] in text


def test_paths_stand_beside_the_plan() -> None:
    made = parse_plan(PlanText.parse("[tests]\npaths = ['t']\n"), Path("some/where/my.toml"))
    assert made.directory == Path("some/where/my.campaign")
    assert made.path("t") == Path("some/where/t")
    assert made.path("/t") == Path("/t")


TESTS = "[tests]\nfamilies = ['classic']\n"


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("", "1:1", "the plan names no tests"),
        ("tests = 3\n", "1:1", "tests is a section: write"),
        ("[tests]\nfamilies = 'classic'\n", "2:1", "tests.families must be a list"),
        ("[tests]\nfamilies = [1]\n", "2:1", "1 is not a text in quotes"),
        ("[tests]\nfamilies = ['a', 'a']\n", "2:1", "'a' is named twice"),
        (TESTS + "[run]\niteration = 3\n", "4:1", "[run] has no key 'iteration'"),
        (TESTS + "[run]\n  iterations = 0\n", "4:3", "0 is out of range: from 1 to"),
        (TESTS + "[run]\nrounds = 2000\n", "4:1", "2000 is out of range: from 1 to 1,000"),
        (TESTS + "[run]\niterations = true\n", "4:1", "True is not a whole number"),
        (TESTS + "[run]\nseeds = [1.5]\n", "4:1", "1.5 is not a whole number"),
        (TESTS + "[models]\nnames = []\n", "1:1", "the plan has nothing to do"),
        (TESTS + "[rum]\n", "3:2", "a plan has no key 'rum'"),
        ("report = 'yes'\n" + TESTS, "1:1", "'yes' is not true or false"),
        ("name = \n" + TESTS, "1:8", "invalid value"),
        ("name = 'x'\nname = 'y'\n", "2:11", "cannot overwrite a value"),
    ],
)
def test_errors_point_at_what_is_wrong(text: str, place: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        plan(text)
    assert str(caught.value).startswith(f"my.toml:{place}: error: {message}")


def test_near_names_are_told() -> None:
    with pytest.raises(InputError, match="did you mean 'iterations'"):
        plan(TESTS + "[run]\niteration = 3\n")


def test_a_plan_that_is_not_there_names_the_command_that_writes_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="gpudiy campaign init"):
        read_plan(tmp_path / "my.toml")


def test_a_plan_that_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_bytes(b"name = '\xff'\n")
    with pytest.raises(InputError, match="not text in UTF-8"):
        read_plan(tmp_path / "my.toml")


def test_the_memory_of_a_plan() -> None:
    """It is part of the work of a unit, except for the default, so that older results stay valid."""
    begin = "[tests]\nfamilies = ['classic']\n[run]\ndevices = ['cuda:0']\n"
    plans = [plan(begin + line) for line in ("", "memory = 'device'\n", "memory = 'host'\n")]
    groups = [list_groups(made, {"default": IncantationBook()}, 1)[0] for made in plans]
    assert [group.settings().memory for group in groups] == [MemoryPlace.DEVICE, MemoryPlace.DEVICE, MemoryPlace.HOST]
    before, device, host = (Unit.of(PlannedTest("SB", "0123", Path("sb.litmus")), group).work for group in groups)
    assert before == device != host
    with pytest.raises(InputError, match="'hosts' is none of device, managed, host"):
        plan(begin + "memory = 'hosts'\n")
