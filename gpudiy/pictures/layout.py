"""Positions of all parts of a picture: boxes on a grid, arrows that avoid boxes, labels that avoid both."""

from __future__ import annotations

from dataclasses import dataclass

from gpudiy.pictures.grid import MARGIN, Box, Grid, Point
from gpudiy.pictures.picture import Picture
from gpudiy.pictures.router import route_arrows
from gpudiy.pictures.ways import head_of, hull_of


@dataclass(frozen=True, slots=True)
class Route:
    """An arrow as drawn: Bézier points (one, then three per piece), the triangle of its head (tip first), its label."""

    curve: tuple[Point, ...]
    head: tuple[Point, Point, Point]
    label: Box


@dataclass(frozen=True, slots=True)
class PictureLayout:
    """Boxes by node, routes by arrow, lanes by column; the frame encloses them all."""

    frame: Box
    boxes: tuple[Box, ...]
    lanes: tuple[Box, ...]
    routes: tuple[Route, ...]


def lay_out(picture: Picture) -> PictureLayout:
    """Place the boxes, then route the arrows between them."""
    grid = Grid(picture)
    routes = [Route(curve, head_of(curve), label) for curve, label in route_arrows(picture, grid)]
    hulls = [hull_of(route.curve) for route in routes]
    drawn = [Box(0, 0, 0, 0), *grid.lanes, *grid.boxes, *hulls, *(route.label for route in routes)]
    left, right = min(box.left for box in drawn) - MARGIN, max(box.right for box in drawn) + MARGIN
    top, bottom = min(box.top for box in drawn), max(box.bottom for box in drawn) + MARGIN
    return PictureLayout(
        Box(left, top, right - left, bottom - top), tuple(grid.boxes), tuple(grid.lanes), tuple(routes)
    )
