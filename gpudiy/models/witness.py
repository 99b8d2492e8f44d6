"""Witnesses: pictures of executions as SVG, PNG, graphviz and JSON files.

`picture_of` makes a picture, `write_witness` draws it into a file whose suffix chooses the format.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from io import BytesIO
from pathlib import Path

from gpudiy.errors import MissingTool
from gpudiy.files import write_whole
from gpudiy.models.picture import Arrow, Node, Picture, from_json, picture_of, to_json
from gpudiy.models.picture_grid import (
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
from gpudiy.models.picture_layout import Layout, laid_out

SUFFIXES = (".svg", ".png", ".dot", ".json")
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
INITIAL = "initial"  # what an initial write has for an instruction
RESOLUTION = 2  # pixels of a PNG for a pixel of the layout
SAMPLE, LINE = 34, 20  # the length of a line of the legend, and the height of a line of text


def write_witness(picture: Picture, path: str | Path) -> None:
    """Draw a picture into a file, whole or not at all; the suffix says how."""
    path = Path(path)
    match path.suffix.lower():
        case ".svg":
            data = to_svg(picture).encode()
        case ".png":
            data = to_png(picture)
        case ".dot":
            data = to_dot(picture).encode()
        case ".json":
            data = to_json(picture).encode()
        case _:
            raise ValueError(f"{path.name}: a witness is drawn as one of {', '.join(SUFFIXES)}")
    write_whole(path, data)


def to_svg(picture: Picture) -> str:
    """The picture as an SVG document that needs nothing else."""
    sheet = _sheet(picture)
    frame = sheet.frame
    view = _numbers(frame.left, frame.top, frame.width, frame.height)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{view}" width="{frame.width:.0f}" '
        f'height="{frame.height:.0f}" font-family="{", ".join(FONTS)}">',
        f"<title>{_xml(picture.title)}</title>",
        *(_svg_shape(shape) for shape in sheet.shapes),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def to_png(picture: Picture) -> bytes:
    """The picture as pixels, drawn by matplotlib."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingTool("drawing PNG needs matplotlib: pip install 'gpudiy[report]'") from error
    from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon
    from matplotlib.path import Path as Outline

    sheet = _sheet(picture)
    frame = sheet.frame
    figure = Figure(figsize=(frame.width / 72, frame.height / 72), dpi=72 * RESOLUTION)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(frame.left, frame.right)
    axes.set_ylim(frame.bottom, frame.top)
    for depth, shape in enumerate(sheet.shapes):
        match shape:
            case _Rectangle(box=box, radius=radius):
                corner = f"round,pad=0,rounding_size={radius}" if radius else "square,pad=0"
                edge = shape.stroke or "none"
                axes.add_patch(FancyBboxPatch((box.left, box.top), box.width, box.height, corner, zorder=depth,
                               facecolor=shape.fill, edgecolor=edge, linewidth=shape.width))  # fmt: skip
            case _Line(points=points):
                codes = [Outline.MOVETO, *[Outline.CURVE4] * (len(points) - 1)]
                style = (0, tuple(length / shape.width for length in shape.dashes)) if shape.dashes else "solid"
                axes.add_patch(PathPatch(Outline(list(points), codes), fill=False, edgecolor=shape.colour, zorder=depth,
                               linewidth=shape.width, linestyle=style))  # fmt: skip
            case _Head(points=points):
                axes.add_patch(Polygon(list(points), closed=True, color=shape.colour, linewidth=0, zorder=depth))
            case _Text(place=place):
                axes.text(*place, shape.text.replace("$", r"\$"), fontsize=shape.size, color=shape.colour, zorder=depth,
                          ha="center" if shape.centred else "left", va="baseline", family=FONTS[0],
                          weight="bold" if shape.bold else "normal")  # fmt: skip
    buffer = BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()


def to_dot(picture: Picture) -> str:
    """The picture for graphviz, a cluster a thread."""
    lines = [
        "digraph witness {",
        f"  graph [label={_quoted(_heading(picture))}, labelloc=t, fontname=monospace, newrank=true, nodesep=0.6];",
        '  node [shape=box, style="rounded,filled", fillcolor=white, fontname=monospace];',
        "  edge [fontname=monospace, fontsize=11];",
    ]
    initial = [node for node in picture.nodes if node.column is None]
    if initial:
        lines += ["  { rank=min;", *(f"    {_dot_node(node)}" for node in initial), "  }"]
    for column, header in enumerate(picture.columns):
        members = [node for node in picture.nodes if node.column == column]
        lines += [f"  subgraph cluster_{column} {{", f"    label={_quoted(header)};"]
        lines += ['    style="rounded,filled";', f'    color="{LANE}";']
        lines += [f"    {_dot_node(node)}" for node in members]
        lines += ["  }"]
    colours = _colours(picture)
    for arrow in picture.arrows:
        colour = CYCLE if arrow.highlighted else colours[arrow.relation]
        options = [f"label={_quoted(arrow.relation)}", f'color="{colour}"', f'fontcolor="{colour}"']
        options += ["penwidth=2.5"] if arrow.highlighted else []
        options += ["style=dashed"] if arrow.relation in DASHED else []
        options += ["weight=10"] if arrow.relation == "po" else ["constraint=false"]
        lines.append(f"  e{arrow.source} -> e{arrow.target} [{', '.join(options)}];")
    # Unseen edges keep the initial writes above all threads.
    first = [node.event for node in picture.nodes if node.column is not None and node.row == 0]
    lines += [f"  e{node.event} -> e{below} [style=invis];" for node in initial for below in first]
    return "\n".join([*lines, "}", ""])


@dataclass(frozen=True, slots=True)
class _Rectangle:
    box: Box
    fill: str
    stroke: str = ""
    width: float = 0
    radius: float = 0
    role: str = ""


@dataclass(frozen=True, slots=True)
class _Line:
    points: tuple[Point, ...]
    colour: str
    width: float
    dashes: tuple[float, ...] = ()
    role: str = ""


@dataclass(frozen=True, slots=True)
class _Head:
    points: tuple[Point, ...]
    colour: str
    role: str = ""


@dataclass(frozen=True, slots=True)
class _Text:
    place: Point
    text: str
    size: float
    colour: str
    bold: bool = False
    centred: bool = False


_Shape = _Rectangle | _Line | _Head | _Text


@dataclass(slots=True)
class _Sheet:
    """All that is drawn, what lies below first."""

    frame: Box
    shapes: list[_Shape] = field(default_factory=list)


def _sheet(picture: Picture) -> _Sheet:
    layout = laid_out(picture)
    colours = _colours(picture)
    inner = layout.frame
    width = max(inner.width, text_width(picture.title, TITLE_SIZE) * 1.05 + 2 * MARGIN, 420)
    left = inner.left - (width - inner.width) / 2
    notes = textwrap.wrap(picture.note, int((width - 2 * MARGIN) / (LABEL_SIZE * CHARACTER)))
    top = inner.top - MARGIN - TITLE_SIZE - LINE * len(notes) - 30
    legend, bottom = _legend(picture, colours, Box(left + MARGIN, inner.bottom, width - 2 * MARGIN, 0))
    frame = Box(left, top, width, bottom + MARGIN - top)
    heading: list[_Shape] = [_Text((left + MARGIN, top + MARGIN + 12), picture.title, TITLE_SIZE, INK, bold=True)]
    heading += [
        _Text((left + MARGIN, top + MARGIN + 14 + LINE * (index + 1)), line, LABEL_SIZE, QUIET)
        for index, line in enumerate(notes)
    ]
    page = _Rectangle(frame, PAPER, role='class="page"')
    return _Sheet(frame, [page, *heading, *_body(picture, layout, colours), *legend])


def _body(picture: Picture, layout: Layout, colours: dict[str, str]) -> Iterator[_Shape]:
    """Lanes, then arrows (the cycle on top), then boxes, then the labels of the arrows."""
    for lane, header in zip(layout.lanes, picture.columns, strict=True):
        yield _Rectangle(lane, LANE, radius=8, role='class="lane"')
        yield _Text((lane.left + LANE_PADDING, lane.top + 19), header, LABEL_SIZE, INK, bold=True)
    routed = sorted(zip(picture.arrows, layout.routes, strict=True), key=lambda pair: pair[0].highlighted)
    for arrow, route in routed:
        colour, width = (CYCLE, 3.0) if arrow.highlighted else (colours[arrow.relation], 1.6)
        ends = f'data-relation="{_xml(arrow.relation)}" data-source="{arrow.source}" data-target="{arrow.target}"'
        yield _Line(route.curve, colour, width, _dashes(arrow.relation), f'class="arrow" {ends}')
        yield _Head(route.head, colour, f'class="head" {ends}')
    for node, box in zip(picture.nodes, layout.boxes, strict=True):
        border, fill = (CYCLE, CYCLE_FILL) if node.highlighted else (INK, PAPER)
        role = f'class="event" data-event="{node.event}"'
        yield _Rectangle(box, fill, border, 2.0 if node.highlighted else 1.2, 5, role)
        middle = box.left + box.width / 2
        yield _Text((middle, box.top + 19), node.label, LABEL_SIZE, INK, bold=True, centred=True)
        yield _Text((middle, box.top + 35), node.instruction or INITIAL, SMALL_SIZE, QUIET, centred=True)
    for arrow, route in routed:
        label = route.label
        yield _Rectangle(label, PAPER, radius=3, role='class="label"')
        colour = CYCLE if arrow.highlighted else colours[arrow.relation]
        place = (label.left + label.width / 2, label.top + 12)
        yield _Text(place, arrow.relation, SMALL_SIZE, colour, bold=True, centred=True)


def _legend(picture: Picture, colours: dict[str, str], room: Box) -> tuple[list[_Shape], float]:
    """A sample of each relation with its name and meaning, in as many lines as it takes; and where they end."""
    shapes: list[_Shape] = []
    entries = [(name, MEANINGS.get(name, "of the model"), colour, 1.6) for name, colour in colours.items()]
    if any(arrow.highlighted for arrow in picture.arrows):
        entries.append(("", "the cycle", CYCLE, 3.0))
    x, y = room.left, room.top + 8
    for name, meaning, colour, width in entries:
        need = SAMPLE + 8 + text_width(f"{name} {meaning}".strip(), SMALL_SIZE) + 24
        if x > room.left and x + need - 24 > room.right:
            x, y = room.left, y + LINE
        ends = ((x, y), (x + SAMPLE / 3, y), (x + 2 * SAMPLE / 3, y), (x + SAMPLE, y))
        shapes.append(_Line(ends, colour, width, _dashes(name), 'class="sample"'))
        after = x + SAMPLE + 8
        if name:
            shapes.append(_Text((after, y + 4), name, SMALL_SIZE, colour, bold=True))
            after += text_width(f"{name} ", SMALL_SIZE)
        shapes.append(_Text((after, y + 4), meaning, SMALL_SIZE, QUIET))
        x += need
    return shapes, y


def _colours(picture: Picture) -> dict[str, str]:
    """The colour of each relation that is drawn, those all models have first."""
    names = dict.fromkeys(arrow.relation for arrow in picture.arrows)
    known = {name: colour for name, colour in COLOURS.items() if name in names}
    others = [name for name in names if name not in COLOURS]
    return known | {name: MORE_COLOURS[index % len(MORE_COLOURS)] for index, name in enumerate(others)}


def _dashes(relation: str) -> tuple[float, ...]:
    return (6, 3) if relation in DASHED else ()


def _svg_shape(shape: _Shape) -> str:
    match shape:
        case _Rectangle(box=box):
            line = f' stroke="{shape.stroke}" stroke-width="{shape.width}"' if shape.stroke else ""
            place = f'x="{box.left:.1f}" y="{box.top:.1f}" width="{box.width:.1f}" height="{box.height:.1f}"'
            return f'<rect {shape.role} {place} rx="{shape.radius}" fill="{shape.fill}"{line}/>'
        case _Line(points=points):
            first, *others = points
            curve = f"M{_numbers(*first)} C{' '.join(_numbers(*point) for point in others)}"
            dashes = f' stroke-dasharray="{_numbers(*shape.dashes)}"' if shape.dashes else ""
            return (
                f'<path {shape.role} d="{curve}" fill="none" stroke="{shape.colour}" '
                f'stroke-width="{shape.width}"{dashes}/>'
            )
        case _Head(points=points):
            corners = " ".join(_numbers(*point) for point in points)
            return f'<polygon {shape.role} points="{corners}" fill="{shape.colour}"/>'
        case _Text(place=(x, y)):
            style = ' font-weight="bold"' if shape.bold else ""
            style += ' text-anchor="middle"' if shape.centred else ""
            return (
                f'<text x="{x:.1f}" y="{y:.1f}" font-size="{shape.size}" fill="{shape.colour}"{style} '
                f'xml:space="preserve">{_xml(shape.text)}</text>'
            )
    raise AssertionError(shape)


def _xml(text: str) -> str:
    """Text for XML, without the characters that XML cannot hold."""
    return escape("".join(c if c in "\t\n" or c >= " " else "\N{REPLACEMENT CHARACTER}" for c in text))


def _numbers(*numbers: float) -> str:
    return " ".join(f"{number:.1f}" for number in numbers)


def _heading(picture: Picture) -> str:
    return f"{picture.title}\n{picture.note}" if picture.note else picture.title


def _dot_node(node: Node) -> str:
    text = f"{node.label}\n{node.instruction or INITIAL}"
    colour = f', color="{CYCLE}", penwidth=2' if node.highlighted else ""
    return f"e{node.event} [label={_quoted(text)}{colour}];"


def _quoted(text: str) -> str:
    """A string of the dot language: backslashes would else start its escapes."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


__all__ = [
    "Arrow", "Node", "Picture", "SUFFIXES", "from_json", "picture_of", "to_dot", "to_json", "to_png",
    "to_svg", "write_witness",
]  # fmt: skip
