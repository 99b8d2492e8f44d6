"""Pictures as files: JSON, graphviz, PNG."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import pytest
from executions_to_draw import (
    SVG,
    cycle_picture,
    every_picture,
    picture,
)

from gpudiy.errors import InputError, MissingTool
from gpudiy.pictures import writing
from gpudiy.pictures.graphviz import to_dot
from gpudiy.pictures.picture import Node, Picture, from_json, to_json
from gpudiy.pictures.png import to_png
from gpudiy.pictures.writing import write_picture


class TestJson:
    @every_picture
    def test_round_trip(self, name: str) -> None:
        assert from_json(to_json(picture(name))) == picture(name)

    @pytest.mark.parametrize("text", ["{", "[]", "{}", '{"format": "gpudiy-witness", "version": 1, "title": "t"}'])
    def test_anything_else_is_refused(self, text: str) -> None:
        with pytest.raises(ValueError):
            from_json(text)

    @pytest.mark.parametrize(
        ("old", "new"),
        [('"target": 3', '"target": 99'), ('"column": 1', '"column": 7'), ('"event": 2', '"event": 1')],
    )
    def test_ends_columns_and_numbers_must_exist(self, old: str, new: str) -> None:
        text = to_json(picture("SB"))
        assert old in text
        with pytest.raises(ValueError, match="not a picture"):
            from_json(text.replace(old, new))


class TestDot:
    def test_quotes_and_backslashes(self) -> None:
        node = Node(0, 0, 0, "a", 'a: "W" \\N', "st\\l")
        text = to_dot(Picture('say "hi"', ('P0 "\\',), (node,), (), "two\nlines"))
        assert r'label="say \"hi\"\ntwo\nlines"' in text
        assert r'e0 [label="a: \"W\" \\N\nst\\l"]' in text
        assert r'label="P0 \"\\";' in text

    @pytest.mark.skipif(shutil.which("dot") is None, reason="graphviz is not installed")
    @every_picture
    def test_graphviz_takes_it(self, name: str) -> None:
        done = subprocess.run(["dot", "-Tsvg"], input=to_dot(picture(name)).encode(), capture_output=True, check=True)
        assert done.stderr == b""
        groups = [e.get("class") for e in ElementTree.fromstring(done.stdout).iter(f"{SVG}g")]
        assert groups.count("node") == len(picture(name).nodes)
        assert groups.count("cluster") == len(picture(name).columns)


class TestFiles:
    @pytest.mark.parametrize(
        ("suffix", "start"), [(".svg", b"<svg"), (".dot", b"digraph"), (".json", b"{"), (".SVG", b"<svg")]
    )
    def test_the_suffix_chooses(self, tmp_path: Path, suffix: str, start: bytes) -> None:
        path = tmp_path / "new" / f"w{suffix}"
        write_picture(picture("SB"), path)
        assert path.read_bytes().startswith(start)
        assert [file.name for file in path.parent.iterdir()] == [path.name]

    def test_png(self, tmp_path: Path) -> None:
        pytest.importorskip("matplotlib")
        write_picture(replace(cycle_picture(), title="costs $1 and $2"), tmp_path / "w.png")
        data = (tmp_path / "w.png").read_bytes()
        assert data.startswith(b"\x89PNG\r\n")
        assert int.from_bytes(data[16:20]) > 800  # pixels across

    @pytest.mark.parametrize("name", ["w.pdf", "w", "svg"])
    def test_other_suffixes_are_refused(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(
            InputError,
            match=re.escape(f"{name}: cannot draw a picture in this format; use one of .svg, .png, .dot, .json"),
        ):
            write_picture(picture("SB"), tmp_path / name)
        assert not list(tmp_path.iterdir())

    def test_without_matplotlib(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for module in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
            monkeypatch.delitem(sys.modules, module)
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        with pytest.raises(MissingTool, match=re.escape("pip install 'gpudiy[report]'")):
            to_png(picture("SB"))
        with pytest.raises(MissingTool):
            write_picture(picture("SB"), tmp_path / "w.png")
        assert not list(tmp_path.iterdir())

    def test_a_failure_leaves_what_was_there(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = tmp_path / "w.svg"
        path.write_text("old")

        def fails(*_: object) -> str:
            raise RuntimeError("no")

        with monkeypatch.context() as patch:
            patch.setattr(writing, "to_svg", fails)
            with pytest.raises(RuntimeError):
                write_picture(picture("SB"), path)
        with monkeypatch.context() as patch:
            patch.setattr(Path, "replace", fails)
            with pytest.raises(RuntimeError):
                write_picture(picture("SB"), path)
        assert path.read_text() == "old"
        assert [file.name for file in tmp_path.iterdir()] == ["w.svg"]
