"""Drawings can be read: boxes, arrows and labels keep off each other."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

from executions_to_draw import (
    SVG,
    cycle_picture,
    every_picture,
    picture,
)

from gpudiy.pictures.graphviz import to_dot
from gpudiy.pictures.grid import Box
from gpudiy.pictures.layout import lay_out
from gpudiy.pictures.picture import Arrow, Picture, from_json, to_json
from gpudiy.pictures.svg import to_svg


def boxes_of(root: ElementTree.Element, kind: str) -> list[tuple[ElementTree.Element, Box]]:
    sides = ("x", "y", "width", "height")
    found = [element for element in root.iter(f"{SVG}rect") if element.get("class") == kind]
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
        for kind in ("event", "lane", "label"):
            assert all(page.holds((b.left, b.top)) and page.holds((b.right, b.bottom)) for _, b in boxes_of(root, kind))
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
