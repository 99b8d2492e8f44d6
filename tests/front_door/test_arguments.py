"""Wrong arguments from Python: each function says which one is wrong, as an error of gpudiy's family."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from front_door_examples import EXAMPLES, MP

import gpudiy

LOG = str(EXAMPLES / "titan.jsonl")
NOT_NAMES: list[object] = [None, 3, 1.5, b"sc", object(), [None], (1, 2)]
NOT_TESTS: list[object] = [None, 3, b"mp", object(), [None], {"mp": 1}.values()]

TAKES_NAMES: dict[str, Callable[..., object]] = {
    "models": lambda value: gpudiy.model(MP, models=value),
    "model": lambda value: gpudiy.conform(LOG, value),
    "device": lambda value: gpudiy.run(MP, device=value, iterations=1),
    "arch": lambda value: gpudiy.build(MP, arch=value, output="unused"),
    "lock": lambda value: gpudiy.check_lock(value),
    "tests": lambda value: gpudiy.table(LOG, tests=value),
    "chips": lambda value: gpudiy.table(LOG, chips=value),
}
TAKES_TESTS: list[Callable[..., object]] = [
    gpudiy.read,
    gpudiy.read_all,
    gpudiy.model,
    lambda value: gpudiy.run(value, device="sim:sc", iterations=1),
    lambda value: gpudiy.build(value, arch="sm_90", output="unused"),
    lambda value: gpudiy.find_race(value, "ptx-6.0"),
    lambda value: gpudiy.decide_progress(value, "sc", "fair"),
]


@pytest.mark.parametrize("option", TAKES_NAMES)
@pytest.mark.parametrize("value", NOT_NAMES, ids=lambda value: type(value).__name__)
def test_what_is_not_a_name_is_refused(option: str, value: object) -> None:
    with pytest.raises(gpudiy.UsageError, match=f"^{option.rstrip('s')}s?: expected a name"):
        TAKES_NAMES[option](value)


@pytest.mark.parametrize("function", TAKES_TESTS)
@pytest.mark.parametrize("value", NOT_TESTS, ids=lambda value: type(value).__name__)
def test_what_is_not_a_test_is_refused(function: Callable[..., object], value: object) -> None:
    with pytest.raises(gpudiy.UsageError, match=r"^expected a test or the path of one"):
        function(value)


@pytest.mark.parametrize("function", [gpudiy.read_log, gpudiy.compare, gpudiy.table, gpudiy.report])
@pytest.mark.parametrize("value", [None, 3, object()], ids=lambda value: type(value).__name__)
def test_what_is_not_a_log_is_refused(function: Callable[..., object], value: object) -> None:
    with pytest.raises(gpudiy.UsageError, match=r"^expected paths of logs"):
        function(value)


@pytest.mark.parametrize("option", ["cycle", "family", "safe", "relaxed"])
@pytest.mark.parametrize("value", [3, ["PodWR"], b"PodWR"], ids=lambda value: type(value).__name__)
def test_edges_are_texts(option: str, value: object) -> None:
    with pytest.raises(gpudiy.UsageError, match=f"^{option}: expected a text, not"):
        gpudiy.generate(**{option: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gpudiy.generate(safe="PodWR Fre", edges=2.5), "edges: expected a whole number, not 2.5"),
        (lambda: gpudiy.model(MP, unroll="2"), "unroll: expected a whole number from 1 on, not '2'"),
        (lambda: gpudiy.model(MP, jobs=0), "jobs: expected a whole number from 1 on, not 0"),
        (lambda: gpudiy.model(MP, limit="1"), "limit: expected a number of seconds above 0, not '1'"),
        (lambda: gpudiy.run(MP, device="sim:sc", limit=-1), "limit: expected a number of seconds above 0, not -1"),
    ],
)
def test_numbers_are_checked(call: Callable[[], object], message: str) -> None:
    with pytest.raises(gpudiy.UsageError, match=f"^{message}$"):
        call()


def test_paths_and_generators_are_taken(tmp_path: Path) -> None:
    model = tmp_path / "own.cat"
    model.write_text('"own"\nacyclic po | rf | co | fr as own\n')
    assert list(gpudiy.model((path for path in [MP]), models=model)["model"]) == ["own"]
    assert gpudiy.find_race(MP, model).model.name == "own"
    assert list(gpudiy.model(MP, models=(name for name in ("sc", "tso")))["model"]) == ["sc", "tso"]
