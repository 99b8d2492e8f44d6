"""Pictures as PNG, by matplotlib."""

from __future__ import annotations

from io import BytesIO

from gpudiy.errors import MissingTool
from gpudiy.pictures.picture import Picture
from gpudiy.pictures.sheet import FONTS, Head, Line, Rectangle, Text, lay_out_sheet

RESOLUTION = 2  # pixels of the PNG per pixel of the layout


def to_png(picture: Picture) -> bytes:
    """The picture as a PNG file; raises `MissingTool` without matplotlib."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingTool("drawing PNG needs matplotlib: pip install 'gpudiy[report]'") from error
    from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon
    from matplotlib.path import Path as Outline

    sheet = lay_out_sheet(picture)
    frame = sheet.frame
    figure = Figure(figsize=(frame.width / 72, frame.height / 72), dpi=72 * RESOLUTION)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(frame.left, frame.right)
    axes.set_ylim(frame.bottom, frame.top)
    for depth, shape in enumerate(sheet.shapes):
        match shape:
            case Rectangle(box=box, radius=radius):
                corner = f"round,pad=0,rounding_size={radius}" if radius else "square,pad=0"
                edge = shape.stroke or "none"
                axes.add_patch(FancyBboxPatch((box.left, box.top), box.width, box.height, corner, zorder=depth,
                               facecolor=shape.fill, edgecolor=edge, linewidth=shape.width))  # fmt: skip
            case Line(points=points):
                codes = [Outline.MOVETO, *[Outline.CURVE4] * (len(points) - 1)]
                style = (0, tuple(length / shape.width for length in shape.dashes)) if shape.dashes else "solid"
                axes.add_patch(PathPatch(Outline(list(points), codes), fill=False, edgecolor=shape.colour, zorder=depth,
                               linewidth=shape.width, linestyle=style))  # fmt: skip
            case Head(points=points):
                axes.add_patch(Polygon(list(points), closed=True, color=shape.colour, linewidth=0, zorder=depth))
            case Text(place=place):
                axes.text(*place, shape.text.replace("$", r"\$"), fontsize=shape.size, color=shape.colour, zorder=depth,
                          ha="center" if shape.centred else "left", va="baseline", family=FONTS[0],
                          weight="bold" if shape.bold else "normal")  # fmt: skip
    buffer = BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()
