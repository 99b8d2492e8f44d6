"""The store: every finished row exactly once, whatever happened in between."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudiy.campaign import store as store_module
from gpudiy.campaign.store import JOURNAL, Form, RowStore, StoreInUse, load_rows
from gpudiy.errors import UnwritableOutput

Row = dict[str, int]


def _write(rows: Sequence[Row], path: Path) -> None:
    path.write_text(json.dumps(list(rows)))


def _read(path: Path) -> list[Row]:
    rows: list[Row] = json.loads(path.read_text())
    return rows


FORM: Form[Row] = Form(lambda row: str(row["n"]), json.dumps, json.loads, _write, _read, ".json")


def numbers(directory: Path) -> list[int]:
    return sorted(row["n"] for row in load_rows(directory, FORM))


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "PART_SIZE", 4)


def test_rows_are_there_again_after_closing(tmp_path: Path) -> None:
    with RowStore(tmp_path, FORM) as store:
        for n in range(10):
            store.add({"n": n})
        store.add({"n": 3})
        assert len(store.parts()) == 2
    assert numbers(tmp_path) == list(range(10))
    with RowStore(tmp_path, FORM) as store:
        assert "9" in store and "10" not in store
        store.flush()
    assert numbers(tmp_path) == list(range(10))


@given(rows=st.integers(0, 11), cut=st.integers(0, 400))
@settings(max_examples=60, deadline=None)
def test_a_journal_cut_anywhere_loses_at_most_its_last_line(
    tmp_path_factory: pytest.TempPathFactory, rows: int, cut: int
) -> None:
    directory = tmp_path_factory.mktemp("store")
    with RowStore(directory, FORM) as store:
        for n in range(rows):
            store.add({"n": n})
    journal = directory / JOURNAL
    data = journal.read_bytes()
    whole = data[: max(0, len(data) - cut)]
    journal.write_bytes(whole)
    kept = rows - data.count(b"\n") + whole.count(b"\n")
    with RowStore(directory, FORM) as store:
        assert sorted(int(key) for key in store.keys) == list(range(kept))
        assert not store.problems
        for n in range(rows):
            store.add({"n": n})
    assert numbers(directory) == list(range(rows))


def test_a_part_that_was_written_before_the_journal_was_emptied_counts_once(tmp_path: Path) -> None:
    with RowStore(tmp_path, FORM) as store:
        for n in range(3):
            store.add({"n": n})
        journal = (tmp_path / JOURNAL).read_bytes()
        store.flush()
    (tmp_path / JOURNAL).write_bytes(journal)  # as if killed between the two steps
    with RowStore(tmp_path, FORM) as store:
        assert len(store.keys) == 3
        assert store.pending == []
    assert numbers(tmp_path) == [0, 1, 2]


def test_damage_is_noticed_set_aside_and_done_again(tmp_path: Path) -> None:
    with RowStore(tmp_path, FORM) as store:
        for n in range(6):
            store.add({"n": n})
        (part,) = store.parts()
    part.write_text(part.read_text().replace("2", "7"))
    journal = tmp_path / JOURNAL
    journal.write_bytes(journal.read_bytes().replace(b'"n": 4', b'"n": 8'))
    with RowStore(tmp_path, FORM) as store:
        assert store.keys == {"5"}
        assert len(store.problems) == 2
        for n in range(6):
            store.add({"n": n})
    assert numbers(tmp_path) == list(range(6))
    assert list(tmp_path.glob("*.damaged"))


def test_two_at_once_are_refused(tmp_path: Path) -> None:
    with RowStore(tmp_path, FORM), pytest.raises(StoreInUse, match="in use"), RowStore(tmp_path, FORM):
        pass


def test_a_full_disk_leaves_no_half_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with RowStore(tmp_path, FORM) as store:
        store.add({"n": 1})
        real = os.write
        monkeypatch.setattr(os, "write", lambda handle, data: real(handle, data[:5]))
        with pytest.raises(UnwritableOutput, match="cannot be written: No space left"):
            store.add({"n": 2})
        monkeypatch.undo()
        store.add({"n": 2})
    assert numbers(tmp_path) == [1, 2]


WRITER = """
import json, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from test_store import FORM
from gpudiy.campaign import store
store.PART_SIZE = 4
with store.RowStore(Path({directory!r}), FORM) as rows:
    print("ready", flush=True)
    for n in range(100000):
        rows.add({{"n": n}})
        print(n, flush=True)
"""


def test_kill_dash_nine_leaves_a_gapless_beginning(tmp_path: Path) -> None:
    code = WRITER.format(tests=str(Path(__file__).parent), directory=str(tmp_path))
    last = 0
    for rows in (1, 10, 25):
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            for _ in range(1 + rows):  # "ready", then one line per row
                process.stdout.readline()
            process.send_signal(signal.SIGKILL)
        found = numbers(tmp_path)
        assert found == list(range(len(found)))
        assert len(found) >= last
        last = len(found)
    assert last > 0
