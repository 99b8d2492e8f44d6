"""A picture as coloured shapes with positions, a title and a legend."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape

from gpudiy.pictures.grid import (
    CHARACTER,
    LABEL_SIZE,
    LANE_PADDING,
    MARGIN,
    SMALL_SIZE,
    TITLE_SIZE,
    Box,
    Point,
    text_width,
)
from gpudiy.pictures.layout import PictureLayout, lay_out
from gpudiy.pictures.picture import Picture

FONTS = ("DejaVu Sans Mono", "Menlo", "Consolas", "Liberation Mono", "monospace")
COLOURS = {
    "po": "#4b5563", "rf": "#15803d", "co": "#1d4ed8", "fr": "#c2570c", "rmw": "#7e22ce",
    "addr": "#0e7490", "data": "#0891b2", "ctrl": "#0f766e",
}  # fmt: skip
MORE_COLOURS = ("#be185d", "#4d7c0f", "#92400e", "#4338ca", "#a16207", "#86198f")
MEANINGS = {
    "po": "program order", "rf": "is read by", "co": "is overwritten by", "fr": "reads what is overwritten by",
    "rmw": "same atomic", "addr": "address depends", "data": "data depends", "ctrl": "control depends",
}  # fmt: skip
DASHED = frozenset({"addr", "data", "ctrl", "rmw"})
INK, QUIET, PAPER, LANE, CYCLE, CYCLE_FILL = "#111827", "#6b7280", "#ffffff", "#eef1f5", "#dc2626", "#fef2f2"
INITIAL = "initial"  # shown in place of an instruction
SAMPLE, LINE = 34, 20  # the length of a sample in the legend, and the height of a line of text


@dataclass(frozen=True, slots=True)
class Rectangle:
    """A filled box, with a border if it has a `stroke`."""

    box: Box
    fill: str
    stroke: str = ""
    width: float = 0
    radius: float = 0
    attributes: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A Bézier curve."""

    points: tuple[Point, ...]
    colour: str
    width: float
    dashes: tuple[float, ...] = ()
    attributes: str = ""


@dataclass(frozen=True, slots=True)
class Head:
    """The head of an arrow."""

    points: tuple[Point, ...]
    colour: str
    attributes: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    """One line of text."""

    place: Point
    text: str
    size: float
    colour: str
    bold: bool = False
    centred: bool = False


Shape = Rectangle | Line | Head | Text


@dataclass(slots=True)
class Sheet:
    """All shapes of a picture, the lowest layer first."""

    frame: Box
    shapes: list[Shape] = field(default_factory=list)


def lay_out_sheet(picture: Picture) -> Sheet:
    """All shapes of a picture with its title, note and legend."""
    layout = lay_out(picture)
    colours = colours_of(picture)
    inner = layout.frame
    width = max(inner.width, text_width(picture.title, TITLE_SIZE) * 1.05 + 2 * MARGIN, 420)
    left = inner.left - (width - inner.width) / 2
    notes = textwrap.wrap(picture.note, int((width - 2 * MARGIN) / (LABEL_SIZE * CHARACTER)))
    top = inner.top - MARGIN - TITLE_SIZE - LINE * len(notes) - 30
    legend, bottom = _draw_legend(picture, colours, Box(left + MARGIN, inner.bottom, width - 2 * MARGIN, 0))
    frame = Box(left, top, width, bottom + MARGIN - top)
    heading: list[Shape] = [Text((left + MARGIN, top + MARGIN + 12), picture.title, TITLE_SIZE, INK, bold=True)]
    heading += [
        Text((left + MARGIN, top + MARGIN + 14 + LINE * (index + 1)), line, LABEL_SIZE, QUIET)
        for index, line in enumerate(notes)
    ]
    page = Rectangle(frame, PAPER, attributes='class="page"')
    return Sheet(frame, [page, *heading, *_draw_body(picture, layout, colours), *legend])


def _draw_body(picture: Picture, layout: PictureLayout, colours: dict[str, str]) -> Iterator[Shape]:
    """Lanes, then arrows (the cycle on top), then boxes, then the labels of the arrows."""
    for lane, header in zip(layout.lanes, picture.columns, strict=True):
        yield Rectangle(lane, LANE, radius=8, attributes='class="lane"')
        yield Text((lane.left + LANE_PADDING, lane.top + 19), header, LABEL_SIZE, INK, bold=True)
    routed = sorted(zip(picture.arrows, layout.routes, strict=True), key=lambda pair: pair[0].highlighted)
    for arrow, route in routed:
        colour, width = (CYCLE, 3.0) if arrow.highlighted else (colours[arrow.relation], 1.6)
        ends = f'data-relation="{xml_text(arrow.relation)}" data-source="{arrow.source}" data-target="{arrow.target}"'
        yield Line(route.curve, colour, width, _dashes(arrow.relation), f'class="arrow" {ends}')
        yield Head(route.head, colour, f'class="head" {ends}')
    for node, box in zip(picture.nodes, layout.boxes, strict=True):
        border, fill = (CYCLE, CYCLE_FILL) if node.highlighted else (INK, PAPER)
        attributes = f'class="event" data-event="{node.event}"'
        yield Rectangle(box, fill, border, 2.0 if node.highlighted else 1.2, 5, attributes)
        middle = box.left + box.width / 2
        yield Text((middle, box.top + 19), node.label, LABEL_SIZE, INK, bold=True, centred=True)
        yield Text((middle, box.top + 35), node.instruction or INITIAL, SMALL_SIZE, QUIET, centred=True)
    for arrow, route in routed:
        label = route.label
        yield Rectangle(label, PAPER, radius=3, attributes='class="label"')
        colour = CYCLE if arrow.highlighted else colours[arrow.relation]
        place = (label.left + label.width / 2, label.top + 12)
        yield Text(place, arrow.relation, SMALL_SIZE, colour, bold=True, centred=True)


def _draw_legend(picture: Picture, colours: dict[str, str], room: Box) -> tuple[list[Shape], float]:
    """A sample of each relation with its name and meaning; and the height where they end."""
    shapes: list[Shape] = []
    entries = [(name, MEANINGS.get(name, "of the model"), colour, 1.6) for name, colour in colours.items()]
    if any(arrow.highlighted for arrow in picture.arrows):
        entries.append(("", "the cycle", CYCLE, 3.0))
    x, y = room.left, room.top + 8
    for name, meaning, colour, width in entries:
        need = SAMPLE + 8 + text_width(f"{name} {meaning}".strip(), SMALL_SIZE) + 24
        if x > room.left and x + need - 24 > room.right:
            x, y = room.left, y + LINE
        ends = ((x, y), (x + SAMPLE / 3, y), (x + 2 * SAMPLE / 3, y), (x + SAMPLE, y))
        shapes.append(Line(ends, colour, width, _dashes(name), 'class="sample"'))
        after = x + SAMPLE + 8
        if name:
            shapes.append(Text((after, y + 4), name, SMALL_SIZE, colour, bold=True))
            after += text_width(f"{name} ", SMALL_SIZE)
        shapes.append(Text((after, y + 4), meaning, SMALL_SIZE, QUIET))
        x += need
    return shapes, y


def colours_of(picture: Picture) -> dict[str, str]:
    """The colour of each relation that is drawn, the relations of all models first."""
    names = dict.fromkeys(arrow.relation for arrow in picture.arrows)
    known = {name: colour for name, colour in COLOURS.items() if name in names}
    others = [name for name in names if name not in COLOURS]
    return known | {name: MORE_COLOURS[index % len(MORE_COLOURS)] for index, name in enumerate(others)}


def _dashes(relation: str) -> tuple[float, ...]:
    return (6, 3) if relation in DASHED else ()


def xml_text(text: str) -> str:
    """Text for XML, without the characters that XML cannot hold."""
    return escape("".join(c if c in "\t\n" or c >= " " else "\N{REPLACEMENT CHARACTER}" for c in text))
