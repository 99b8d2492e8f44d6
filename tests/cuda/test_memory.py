"""`--memory device|managed|host`: where the locations of tests lie, over both bindings."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from cuda_standin import Machine, sb_test

from gpudiy.litmus import print_test

pytestmark = pytest.mark.cuda
Make = Callable[..., Machine]
TWO_DEVICES = "(system (device (kernel (cta (warp P0)))) (device (kernel (cta (warp P1)))))"


def run(here: Machine, memory: str, tree: str | None = None) -> dict[str, object]:
    """The record of SB with its locations in such memory."""
    test = sb_test() if tree is None else sb_test(tree)
    here.add_tests([test])
    path = here.directory / "sb.litmus"
    path.write_text(print_test(test))
    found = here.run("-m", "gpudiy", "run", str(path), "-d", "cuda:0", "-s", "500", "-q", "--json", "--memory", memory)
    return json.loads(found.stdout.splitlines()[0])  # type: ignore[no-any-return]


@pytest.mark.parametrize("memory", ["device", "managed", "host"])
def test_locations_lie_where_they_should_and_nothing_else_does(machine: Make, memory: str) -> None:
    here = machine()
    record = run(here, memory)
    assert record["ending"] == "finished", record
    assert record["iterations"] >= 500  # type: ignore[operator]
    assert record["options"]["memory"] == memory  # type: ignore[index]
    places = [found["memory"] for found in here.journal.entries("alloc")]
    assert places.count("device") == len(places) - (memory != "device")
    assert memory in places
    assert here.journal.violations == []


@pytest.mark.parametrize("memory", ["managed", "host"])
def test_two_gpus_share_it(machine: Make, memory: str) -> None:
    here = machine("small80,small80")
    record = run(here, memory, TWO_DEVICES)
    assert record["ending"] == "finished", record
    assert here.journal.violations == []


@pytest.mark.parametrize(
    ("memory", "lacks", "tree", "reason"),
    [
        ("managed", "managed", None, "cuda:0 cannot have its locations in managed memory: no managed memory"),
        ("host", "mapped-host", None, "cuda:0 cannot have its locations in host memory: no mapped host memory"),
        ("managed", "concurrent-managed", TWO_DEVICES, "no concurrent managed access"),
        ("managed", "concurrent-managed", None, ""),
    ],
)
def test_what_the_gpu_lacks_is_said(machine: Make, memory: str, lacks: str, tree: str | None, reason: str) -> None:
    here = machine("small80,small80", STANDIN_LACKS=lacks)
    record = run(here, memory, tree)
    assert record["ending"] == ("not runnable" if reason else "finished")
    assert reason in str(record.get("reason", ""))
