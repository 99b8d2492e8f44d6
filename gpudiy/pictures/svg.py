"""Pictures as SVG."""

from __future__ import annotations

from gpudiy.pictures.picture import Picture
from gpudiy.pictures.sheet import FONTS, Head, Line, Rectangle, Shape, Text, lay_out_sheet, xml_text


def to_svg(picture: Picture) -> str:
    """The picture as a self-contained SVG document."""
    sheet = lay_out_sheet(picture)
    frame = sheet.frame
    view = _numbers(frame.left, frame.top, frame.width, frame.height)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{view}" width="{frame.width:.0f}" '
        f'height="{frame.height:.0f}" font-family="{", ".join(FONTS)}">',
        f"<title>{xml_text(picture.title)}</title>",
        *(_svg_shape(shape) for shape in sheet.shapes),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _svg_shape(shape: Shape) -> str:
    match shape:
        case Rectangle(box=box):
            line = f' stroke="{shape.stroke}" stroke-width="{shape.width}"' if shape.stroke else ""
            place = f'x="{box.left:.1f}" y="{box.top:.1f}" width="{box.width:.1f}" height="{box.height:.1f}"'
            return f'<rect {shape.attributes} {place} rx="{shape.radius}" fill="{shape.fill}"{line}/>'
        case Line(points=points):
            first, *others = points
            curve = f"M{_numbers(*first)} C{' '.join(_numbers(*point) for point in others)}"
            dashes = f' stroke-dasharray="{_numbers(*shape.dashes)}"' if shape.dashes else ""
            return (
                f'<path {shape.attributes} d="{curve}" fill="none" stroke="{shape.colour}" '
                f'stroke-width="{shape.width}"{dashes}/>'
            )
        case Head(points=points):
            corners = " ".join(_numbers(*point) for point in points)
            return f'<polygon {shape.attributes} points="{corners}" fill="{shape.colour}"/>'
        case Text(place=(x, y)):
            style = ' font-weight="bold"' if shape.bold else ""
            style += ' text-anchor="middle"' if shape.centred else ""
            return (
                f'<text x="{x:.1f}" y="{y:.1f}" font-size="{shape.size}" fill="{shape.colour}"{style} '
                f'xml:space="preserve">{xml_text(shape.text)}</text>'
            )
    raise AssertionError(shape)


def _numbers(*numbers: float) -> str:
    return " ".join(f"{number:.1f}" for number in numbers)
