"""Pictures of executions: what they show, and that every drawing of them can be read."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import combinations
from pathlib import Path

import pytest

from gpudiy.errors import MissingTool
from gpudiy.litmus import read_test
from gpudiy.models.algebra import algebra
from gpudiy.models.cat_compile import LIBRARY, compile_cat
from gpudiy.models.execution import Execution
from gpudiy.models.execution_picture import label_of, picture_of, without_shortcuts
from gpudiy.models.exploration import Exploration
from gpudiy.models.model import Model
from gpudiy.models.verdict import target_of
from gpudiy.pictures import writing
from gpudiy.pictures.graphviz import to_dot
from gpudiy.pictures.grid import Box
from gpudiy.pictures.layout import lay_out
from gpudiy.pictures.picture import Arrow, Node, Picture, from_json, to_json
from gpudiy.pictures.png import to_png
from gpudiy.pictures.svg import to_svg
from gpudiy.pictures.writing import write_picture

SVG = "{http://www.w3.org/2000/svg}"
Row = tuple[str, ...]


def source(name: str, rows: list[Row], condition: str, ctas: str = "") -> str:
    """A test in the PTX format; every thread has registers r0 to r2, and rx, ry, rz for the addresses."""
    threads = range(len(rows[0]))
    header = tuple(f"P{thread}" for thread in threads)
    registers = [f"{t}:.reg .s32 r{n};" for t in threads for n in range(3)]
    registers += [f"{t}:.reg .b64 r{v} = {v};" for t in threads for v in "xyz"]
    registers += [f"{t}:.reg .pred p;" for t in threads]
    tree = ctas or " ".join(f"(cta (warp P{thread}))" for thread in threads)
    lines = [f"GPU_PTX {name}", "{", *registers, "}", *(" | ".join(row) + " ;" for row in [header, *rows])]
    lines += ["scopeTree", f"(device (kernel {tree}))", "x: global, y: global, z: global", f"exists ({condition})"]
    return "\n".join(lines)


SOURCES = {
    "SB": source(
        "SB",
        [("st.cg.s32 [rx],1", "st.cg.s32 [ry],1"), ("ld.cg.s32 r0,[ry]", "ld.cg.s32 r0,[rx]")],
        "0:r0=0 /\\ 1:r0=0",
    ),
    "MP": source(
        "MP",
        [("st.s32 [rx],1", "ld.acquire.gpu.s32 r0,[ry]"), ("st.release.gpu.s32 [ry],1", "ld.s32 r1,[rx]")],
        "1:r0=1 /\\ 1:r1=1",
    ),
    "fences": source(
        "fences",
        [
            ("st.relaxed.gpu.s32 [rx],1", "st.relaxed.gpu.s32 [ry],1"),
            ("fence.sc.gpu", "fence.sc.gpu"),
            ("ld.relaxed.gpu.s32 r0,[ry]", "ld.relaxed.gpu.s32 r0,[rx]"),
        ],
        "0:r0=1 /\\ 1:r0=1",
    ),
    "2+2W": source(
        "2+2W",
        [("st.cg.s32 [rx],1", "st.cg.s32 [ry],1"), ("st.cg.s32 [ry],2", "st.cg.s32 [rx],2")],
        "x=1 /\\ y=1",
    ),
    "atomics": source(
        "atomics",
        [
            ("atom.add.s32 r0,[rx],1", "atom.add.s32 r0,[rx],1", "ld.relaxed.gpu.s32 r0,[rx]"),
            ("st.release.gpu.s32 [ry],1", "ld.acquire.gpu.s32 r1,[ry]", "ld.s32 r1,[ry]"),
        ],
        "0:r0=0 /\\ 1:r0=1 /\\ 2:r0=2 /\\ 1:r1=1",
    ),
    "dependencies": source(
        "dependencies",
        [
            ("ld.cg.s32 r0,[rx]", "ld.cg.s32 r0,[ry]"),
            ("st.cg.s32 [ry],r0", "setp.eq.s32 p,r0,5"),
            ("membar.gl", "@p bra END"),
            ("st.cg.s32 [rz],1", "st.cg.s32 [rx],1"),
            ("ld.cg.s32 r2,[rz]", "st.cg.s32 [rz],2"),
            ("bar.sync 1", "END:"),
            ("", "bar.sync 1"),
        ],
        "0:r0=1 /\\ 1:r0=1",
        ctas="(cta (warp P0) (warp P1))",
    ),
    "ring": source(
        "ring",
        [
            tuple("st.cg.s32 [rx],1" if t % 3 == 0 else "st.cg.s32 [ry],1" for t in range(6)),
            tuple("ld.cg.s32 r0,[ry]" if t % 2 == 0 else "ld.cg.s32 r0,[rx]" for t in range(6)),
        ],
        "0:r0=0 /\\ 5:r0=0",
    ),
}
MODELS = {"MP": "ptx-6.0", "fences": "ptx-6.0", "atomics": "ptx-6.0"}
FREE = '"No constraint but coherence"\nacyclic (po & loc) | rf | co | fr as coherence\n'


@cache
def model(name: str) -> Model:
    text = FREE if name == "free" else (LIBRARY / f"{name}.cat").read_text()
    return compile_cat(text, f"{name}.cat", name)


@cache
def execution(name: str) -> Execution:
    test = read_test(SOURCES[name])
    return next(Exploration(test, model(MODELS.get(name, "free")), 2).executions(target_of(test)))


def extra(name: str) -> dict[str, int]:
    if name not in MODELS:
        return {}
    named = model(MODELS[name]).named
    return {relation: execution(name).slots[named[relation].slot] for relation in ("sync", "sc", "cause-base")}


@cache
def picture(name: str) -> Picture:
    """The picture of an execution, with the values its reads have there."""
    found = execution(name)
    return picture_of(found.skeleton, found.rf, found.co, extra(name), name, events=found.events)


def cycle_picture() -> Picture:
    found = execution("SB")
    a = found.skeleton.algebra
    fr = a.compose(a.inverse(found.rf), found.co)
    cycle = a.cycle(found.skeleton.static("po") | found.rf | found.co | fr)
    return picture_of(found.skeleton, found.rf, found.co, {}, "SB", cycle, note="forbidden by sc: sc")


def named(shown: Picture, relation: str) -> set[tuple[str, str]]:
    """The pairs of a relation that are drawn, by the letters (or labels) of their events."""
    names = [node.name or node.label for node in shown.nodes]
    return {(names[a.source], names[a.target]) for a in shown.arrows if a.relation == relation}


every_picture = pytest.mark.parametrize("name", SOURCES)


class TestPicture:
    @every_picture
    def test_every_event_stands_once_in_the_column_of_its_thread(self, name: str) -> None:
        events = execution(name).skeleton.events
        nodes = picture(name).nodes
        assert [node.event for node in nodes] == list(range(len(events)))
        assert [node.column for node in nodes] == [None if e.initial else e.thread for e in events]
        assert len({(node.column, node.row) for node in nodes}) == len(nodes)
        assert len(picture(name).columns) == len(execution(name).skeleton.test.threads)

    def test_store_buffering(self) -> None:
        shown = picture("SB")
        assert shown.columns == ("P0  (cta 0)", "P1  (cta 1)")
        assert [(node.label, node.instruction) for node in shown.nodes] == [
            ("W x=0", ""),
            ("W y=0", ""),
            ("W z=0", ""),
            ("a: W.cg x=1", "st.cg.s32 [rx],1"),
            ("b: R.cg y=0", "ld.cg.s32 r0,[ry]"),
            ("c: W.cg y=1", "st.cg.s32 [ry],1"),
            ("d: R.cg x=0", "ld.cg.s32 r0,[rx]"),
        ]
        assert named(shown, "po") == {("a", "b"), ("c", "d")}
        assert named(shown, "rf") == {("W y=0", "b"), ("W x=0", "d")}
        assert named(shown, "co") == {("W x=0", "a"), ("W y=0", "c")}
        assert named(shown, "fr") == {("b", "c"), ("d", "a")}

    def test_labels_of_orders_scopes_fences_and_barriers(self) -> None:
        labels = {node.label.partition(": ")[2] for name in SOURCES for node in picture(name).nodes}
        assert {"R.acquire.gpu y=1", "W.release.gpu y=1", "F.sc.gpu", "F.membar.gl", "B.sync 1", "W x=1"} <= labels

    def test_the_values_of_another_run(self) -> None:
        found = execution("SB")
        events = [replace(event, value=-70000) for event in found.skeleton.events]
        shown = picture_of(found.skeleton, found.rf, found.co, {}, "SB", events=events)
        assert shown.nodes[3].label == "a: W.cg x=-0x11170"
        with pytest.raises(ValueError, match="2 events given for an execution of 7"):
            picture_of(found.skeleton, found.rf, found.co, {}, "SB", events=events[:2])

    def test_an_alias_tells_its_location(self) -> None:
        event = replace(execution("SB").events[3], variable="y")
        assert label_of(event) == "W.cg y=1 (at x)"

    def test_groups_that_threads_share(self) -> None:
        assert picture("dependencies").columns == ("P0  (cta 0)", "P1  (cta 0)")
        one_warp = read_test(SOURCES["SB"].replace("(cta (warp P0)) (cta (warp P1))", "(cta (warp P0 P1))"))
        found = next(Exploration(one_warp, model("free"), 2).executions(None))
        assert picture_of(found.skeleton, found.rf, found.co, {}, "").columns[1] == "P1  (warp 0, cta 0)"

    def test_coherence_is_reduced_and_fr_goes_to_the_next_write(self) -> None:
        shown = picture("atomics")
        assert named(shown, "co") == {("W x=0", "b"), ("b", "e"), ("W y=0", "c")}
        assert named(shown, "rmw") == {("a", "b"), ("d", "e")}
        assert named(shown, "fr") == {("h", "c")}  # each atomic's own write is no news

    def test_dependencies(self) -> None:
        shown = picture("dependencies")
        assert named(shown, "data") == {("a", "b")}
        assert named(shown, "ctrl") == {("g", "h")}  # and so all that follows h

    def test_relations_of_the_model(self) -> None:
        shown = picture("MP")
        assert named(shown, "sync") == {("b", "c")}
        assert named(shown, "cause-base") == {("b", "c")}  # po before and after is part of it
        assert len(named(picture("fences"), "sc")) == 1

    def test_a_cycle(self) -> None:
        shown = cycle_picture()
        assert {(a.relation, a.source, a.target) for a in shown.arrows if a.highlighted} == {
            ("po", 3, 4), ("fr", 4, 5), ("po", 5, 6), ("fr", 6, 3),
        }  # fmt: skip
        assert [node.event for node in shown.nodes if node.highlighted] == [3, 4, 5, 6]

    def test_steps_that_nothing_else_shows_are_drawn(self) -> None:
        found = execution("fences")
        start = found.skeleton.starts[0]
        cycle = [start, start + 2]
        shown = picture_of(found.skeleton, found.rf, found.co, {}, "", cycle)
        assert Arrow("po", *cycle, highlighted=True) in shown.arrows
        assert Arrow("cycle", *cycle[::-1], highlighted=True) in shown.arrows
        shown = picture_of(found.skeleton, found.rf, found.co, {}, "", cycle, steps=("fence", "fr"))
        assert Arrow("fence", *cycle, highlighted=True) in shown.arrows
        with pytest.raises(ValueError, match="1 steps given for a cycle of 2 events"):
            picture_of(found.skeleton, found.rf, found.co, {}, "", cycle, steps=("fence",))


class TestReduction:
    def test_a_strict_order(self) -> None:
        a = algebra(4)
        order = a.relation(combinations(range(4), 2))
        assert set(a.pairs(without_shortcuts(a, order))) == {(0, 1), (1, 2), (2, 3)}

    def test_what_is_not_transitive_stays(self) -> None:
        a = algebra(3)
        relation = a.relation([(0, 1), (1, 2)])
        assert without_shortcuts(a, relation) == relation

    @pytest.mark.parametrize("seed", range(40))
    def test_nothing_is_lost(self, seed: int) -> None:
        a = algebra(5)
        order = a.relation([(0, 1), (2, 3), (2, 4), (3, 4)])
        pairs = a.relation([(seed % 5, seed // 5 % 5), (seed * 7 % 5, seed * 3 % 4), (1, 2)])
        around = a.identity | order
        relation = a.closure(a.compose(around, a.compose(pairs, around)))
        reduced = without_shortcuts(a, relation, order)
        assert not reduced & ~relation
        assert a.closure(a.compose(around, a.compose(reduced, around))) == relation
        assert a.closure(without_shortcuts(a, a.closure(pairs))) == a.closure(pairs)


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


def boxes_of(root: ElementTree.Element, role: str) -> list[tuple[ElementTree.Element, Box]]:
    sides = ("x", "y", "width", "height")
    found = [element for element in root.iter(f"{SVG}rect") if element.get("class") == role]
    return [(element, Box(*(float(element.attrib[side]) for side in sides))) for element in found]


def numbers(text: str) -> list[tuple[float, float]]:
    values = [float(number) for number in re.findall(r"-?[0-9.]+", text)]
    return list(zip(values[::2], values[1::2], strict=True))


def points_on(curve: tuple[tuple[float, float], ...], steps: int = 40) -> list[tuple[float, float]]:
    """Points on Bézier pieces, close to each other."""
    points = [curve[0]]
    for start in range(0, len(curve) - 1, 3):
        piece = curve[start : start + 4]
        for step in range(1, steps + 1):
            t = step / steps
            weights = ((1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t**2, t**3)
            x, y = (sum(w * point[axis] for w, point in zip(weights, piece, strict=True)) for axis in (0, 1))
            points.append((x, y))
    return points


def on_border(point: tuple[float, float], box: Box) -> bool:
    return box.holds(point, 0.3) and not box.holds(point, -0.3)


class TestSvg:
    @every_picture
    def test_a_box_an_event_and_none_overlap(self, name: str) -> None:
        root = ElementTree.fromstring(to_svg(picture(name)))
        boxes = boxes_of(root, "event")
        assert [element.get("data-event") for element, _ in boxes] == [str(n.event) for n in picture(name).nodes]
        assert not any(one.meets(other, 10) for (_, one), (_, other) in combinations(boxes, 2))
        texts = [element.text for element in root.iter(f"{SVG}text")]
        for node in picture(name).nodes:
            assert node.label in texts

    @every_picture
    def test_arrows_go_from_border_to_border(self, name: str) -> None:
        root = ElementTree.fromstring(to_svg(picture(name)))
        boxes = [box for _, box in boxes_of(root, "event")]
        lines = [e for e in root.iter(f"{SVG}path") if e.get("class") == "arrow"]
        heads = [e for e in root.iter(f"{SVG}polygon") if e.get("class") == "head"]
        assert len(lines) == len(heads) == len(picture(name).arrows)
        for line, head in zip(lines, heads, strict=True):
            assert on_border(numbers(line.attrib["d"])[0], boxes[int(line.attrib["data-source"])])
            assert on_border(numbers(head.attrib["points"])[0], boxes[int(head.attrib["data-target"])])

    @every_picture
    def test_arrows_and_labels_keep_off_boxes_and_labels_off_each_other(self, name: str) -> None:
        layout = lay_out(picture(name))
        for arrow, route in zip(picture(name).arrows, layout.routes, strict=True):
            for number, box in enumerate(layout.boxes):
                own = number in (arrow.source, arrow.target)
                assert not any(box.holds(point, -0.5 if own else 2) for point in points_on(route.curve))
                assert not box.meets(route.label)
        assert not any(one.label.meets(other.label) for one, other in combinations(layout.routes, 2))

    @every_picture
    def test_all_is_inside_the_frame(self, name: str) -> None:
        root = ElementTree.fromstring(to_svg(picture(name)))
        ((_, page),) = boxes_of(root, "page")
        for role in ("event", "lane", "label"):
            assert all(page.holds((b.left, b.top)) and page.holds((b.right, b.bottom)) for _, b in boxes_of(root, role))
        for line in root.iter(f"{SVG}path"):
            assert all(page.holds(point) for point in numbers(line.attrib["d"]))

    def test_a_legend_of_what_is_drawn(self) -> None:
        texts = [element.text for element in ElementTree.fromstring(to_svg(cycle_picture())).iter(f"{SVG}text")]
        assert {"program order", "is read by", "the cycle", "forbidden by sc: sc"} <= set(texts)
        assert "same atomic" not in texts

    def test_it_needs_nothing_else(self) -> None:
        text = to_svg(picture("MP"))
        assert text.count("http") == 1  # the name of the format
        assert "href" not in text and "@import" not in text and "url(" not in text

    def test_any_text(self) -> None:
        nasty = replace(picture("SB"), title="<&\"\x00'>]]>", note="a < b & c " * 40)
        texts = [element.text for element in ElementTree.fromstring(to_svg(nasty)).iter(f"{SVG}text")]
        assert "<&\"\N{REPLACEMENT CHARACTER}'>]]>" in texts

    def test_the_same_every_time(self) -> None:
        assert to_svg(picture("atomics")) == to_svg(picture("atomics"))


class TestOddPictures:
    """Pictures that no execution has, but that relations of a model or a file can ask for."""

    def odd(self) -> Iterator[Picture]:
        yield Picture("nothing", (), (), ())
        yield Picture("one thread", ("P0  (cta 0)",), (), ())
        shown = picture("SB")
        yield replace(shown, arrows=(Arrow("loop", 3, 3), Arrow("up", 4, 3), Arrow("back", 4, 0), Arrow("top", 0, 1)))
        both = tuple(Arrow(f"r{k}", k % 7, k * 3 % 7) for k in range(40))
        yield replace(shown, arrows=both)

    def test_they_are_drawn(self) -> None:
        for shown in self.odd():
            root = ElementTree.fromstring(to_svg(shown))
            assert len(boxes_of(root, "event")) == len(shown.nodes)
            assert from_json(to_json(shown)) == shown
            assert to_dot(shown).endswith("}\n")


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
            ValueError,
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
