"""What is known of the kernels around tests is found once, whoever asks, and never guessed."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gpudiy.harness import known_kernels
from gpudiy.harness.known_kernels import recall_kernels

KEY = "0123456789abcdef" * 4


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(known_kernels, "_KNOWN", {})
    return tmp_path / "gpudiy" / "kernels"


def refuse() -> str:
    raise AssertionError("it is known")


@pytest.mark.parametrize("answer", ["", "stress: a store is missing"])
def test_an_answer_is_kept_for_this_process_and_the_next(
    cache: Path, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert recall_kernels(KEY, lambda: answer) == answer
    assert recall_kernels(KEY, refuse) == answer
    monkeypatch.setattr(known_kernels, "_KNOWN", {})  # as in another process
    assert recall_kernels(KEY, refuse) == answer
    assert recall_kernels(KEY[::-1], lambda: "other code") == "other code"


def test_another_version_of_the_check_asks_again(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert recall_kernels(KEY, lambda: "before") == "before"
    monkeypatch.setattr(known_kernels, "_KNOWN", {})
    monkeypatch.setattr(known_kernels, "builder_version", lambda: "changed")
    assert recall_kernels(KEY, lambda: "after") == "after"


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"right": ""}'])
def test_a_damaged_answer_is_found_again(cache: Path, damage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert recall_kernels(KEY, lambda: "") == ""
    (kept,) = cache.glob("*.json")
    kept.write_text(damage)
    monkeypatch.setattr(known_kernels, "_KNOWN", {})
    assert recall_kernels(KEY, lambda: "stress: gone") == "stress: gone"


def test_a_cache_that_cannot_be_written_only_costs_time(cache: Path) -> None:
    cache.parent.mkdir()
    cache.write_text("a file where the folder should be")
    assert recall_kernels(KEY, lambda: "found") == "found"


def test_who_asks_at_the_same_time_waits(cache: Path) -> None:
    asked = []

    def check() -> str:
        asked.append(1)
        time.sleep(0.2)
        return "slow"

    with ThreadPoolExecutor(4) as pool:
        answers = [pool.submit(known_kernels._recall_from_cache, KEY, check) for _ in range(4)]
    assert [answer.result() for answer in answers] == ["slow"] * 4
    assert len(asked) == 1
